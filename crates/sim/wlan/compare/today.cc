// Saturated stations of 802.11n, ac or ax with A-MPDUs in ns-3 3.37: how many packets arrive.
//
//     today n|n1|ac|ax STATIONS SECONDS RUN BARS
//
// 5 GHz, everybody hears everybody, no RTS (which are on beyond 65,535 bytes unless they are turned off), no TXOP
// limit, best effort. n: 20 MHz, one stream, MCS 7, guard interval 800 ns; n1 is
// the same without aggregation. ac: 80 MHz, two streams, MCS 9, 400 ns. ax: 80 MHz, two streams, MCS 11, 800 ns. Answers go at
// 24 Mb/s. Each station keeps 600 IP packets of 1500 bytes for station 0: as soon as one is acknowledged or given up, the next comes.
// With BARS 1, which is how ns-3 is, whoever misses a block ACK asks for it before sending again; with 0 all of it is sent again.
// Prints format, stations, bars, seconds, run, delivered and given up, after a second that does not count.

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "ns3/config.h"
#include "ns3/core-module.h"
#include "ns3/mobility-module.h"
#include "ns3/network-module.h"
#include "ns3/propagation-module.h"
#include "ns3/wifi-module.h"

using namespace ns3;

namespace
{

constexpr uint32_t BYTES = 1500;
constexpr uint32_t KEPT = 600;
const Time WARMUP = Seconds(1);

std::vector<Ptr<WifiNetDevice>> g_devices;
uint64_t g_delivered = 0;
uint64_t g_givenUp = 0;

void
Send(uint32_t station)
{
    g_devices[station]->Send(Create<Packet>(BYTES), g_devices[0]->GetAddress(), 0x0800);
}

bool
Receive(Ptr<NetDevice>, Ptr<const Packet>, uint16_t, const Address&)
{
    g_delivered += Simulator::Now() >= WARMUP;
    return true;
}

void
Acked(uint32_t station, Ptr<const WifiMpdu> mpdu)
{
    if (!mpdu->GetHeader().IsQosData())
    {
        return; // ADDBA.
    }
    Simulator::ScheduleNow(&Send, station);
}

void
Dropped(uint32_t station, WifiMacDropReason, Ptr<const WifiMpdu>)
{
    g_givenUp += Simulator::Now() >= WARMUP;
    Simulator::ScheduleNow(&Send, station);
}

struct Kind
{
    const char* name;
    WifiStandard standard;
    const char* channel;
    const char* mode;
    uint8_t streams;
    bool isShort;
    uint32_t ampdu;
};

const Kind KINDS[] = {
    {"n", WIFI_STANDARD_80211n, "{0, 20, BAND_5GHZ, 0}", "HtMcs7", 1, false, 65535},
    {"n1", WIFI_STANDARD_80211n, "{0, 20, BAND_5GHZ, 0}", "HtMcs7", 1, false, 0},
    {"ac", WIFI_STANDARD_80211ac, "{0, 80, BAND_5GHZ, 0}", "VhtMcs9", 2, true, 1048575},
    {"ax", WIFI_STANDARD_80211ax, "{0, 80, BAND_5GHZ, 0}", "HeMcs11", 2, false, 6500631},
};

} // namespace

int
main(int argc, char** argv)
{
    const Kind* kind = nullptr;
    for (const Kind& one : KINDS)
    {
        if (argc == 6 && std::strcmp(argv[1], one.name) == 0)
        {
            kind = &one;
        }
    }
    if (!kind)
    {
        std::fprintf(stderr, "usage: today n|n1|ac|ax STATIONS SECONDS RUN BARS\n");
        return 64;
    }
    uint32_t stations = std::atoi(argv[2]);
    double seconds = std::atof(argv[3]);
    RngSeedManager::SetSeed(1);
    RngSeedManager::SetRun(std::atoi(argv[4]));
    Config::SetDefault("ns3::WifiRemoteStationManager::RtsCtsThreshold", UintegerValue(10'000'000));
    Config::SetDefault("ns3::QosTxop::UseExplicitBarAfterMissedBlockAck", BooleanValue(std::atoi(argv[5]) != 0));
    Config::SetDefault("ns3::WifiMacQueue::MaxSize", StringValue("2000p"));
    Config::SetDefault("ns3::WifiMacQueue::MaxDelay", TimeValue(Seconds(1000)));

    NodeContainer nodes;
    nodes.Create(stations + 1);
    YansWifiChannelHelper medium;
    medium.SetPropagationDelay("ns3::ConstantSpeedPropagationDelayModel");
    medium.AddPropagationLoss("ns3::FixedRssLossModel", "Rss", DoubleValue(-40.0));
    YansWifiPhyHelper phy;
    phy.SetChannel(medium.Create());
    phy.Set("ChannelSettings", StringValue(kind->channel));
    phy.Set("Antennas", UintegerValue(kind->streams));
    phy.Set("MaxSupportedTxSpatialStreams", UintegerValue(kind->streams));
    phy.Set("MaxSupportedRxSpatialStreams", UintegerValue(kind->streams));
    WifiHelper wifi;
    wifi.SetStandard(kind->standard);
    wifi.SetRemoteStationManager("ns3::ConstantRateWifiManager",
                                 "DataMode",
                                 StringValue(kind->mode),
                                 "ControlMode",
                                 StringValue("OfdmRate24Mbps"));
    WifiMacHelper mac;
    mac.SetType("ns3::AdhocWifiMac", "BE_MaxAmpduSize", UintegerValue(kind->ampdu));
    NetDeviceContainer devices = wifi.Install(phy, mac, nodes);
    MobilityHelper mobility;
    mobility.SetMobilityModel("ns3::ConstantPositionMobilityModel");
    mobility.Install(nodes);
    for (uint32_t station = 0; station <= stations; station++)
    {
        Ptr<WifiNetDevice> device = DynamicCast<WifiNetDevice>(devices.Get(station));
        g_devices.push_back(device);
        device->GetHtConfiguration()->SetShortGuardIntervalSupported(kind->isShort);
        if (device->GetHeConfiguration())
        {
            device->GetHeConfiguration()->SetGuardInterval(NanoSeconds(800));
        }
        device->SetReceiveCallback(MakeCallback(&Receive));
        if (station == 0)
        {
            continue; // Its answers to ADDBA are acknowledged, too.
        }
        Ptr<WifiMac> one = device->GetMac();
        one->TraceConnectWithoutContext("AckedMpdu", MakeCallback(&Acked).Bind(station));
        one->TraceConnectWithoutContext("DroppedMpdu", MakeCallback(&Dropped).Bind(station));
    }
    for (uint32_t station = 1; station <= stations; station++)
    {
        for (uint32_t packet = 0; packet < KEPT; packet++)
        {
            Simulator::Schedule(MicroSeconds(station * 37), &Send, station);
        }
    }
    Simulator::Stop(WARMUP + Seconds(seconds));
    Simulator::Run();
    std::printf("%s,%u,%s,%s,%s,%lu,%lu\n",
                kind->name,
                stations,
                argv[5],
                argv[3],
                argv[4],
                static_cast<unsigned long>(g_delivered),
                static_cast<unsigned long>(g_givenUp));
    Simulator::Destroy();
    return 0;
}
