// Saturated stations behind RTS and CTS in ns-3 3.37: how many packets arrive, how many are given up, and how long they take.
//
//     rts STATIONS SECONDS RUN [RTS_THRESHOLD]
//
// IEEE 802.11b, data, RTS, CTS and acknowledgements at 11 Mb/s, long preamble. Each station keeps two IP packets of 1500
// bytes for station 0: as soon as one is acknowledged or given up, the next comes. Delays are from there to the receiver.
// Prints stations, run, delivered, given up, and the mean, median and 95th percentile of the delay in microseconds.

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
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
constexpr int64_t WARMUP_NS = 1'000'000'000;

std::vector<Ptr<WifiNetDevice>> g_devices;
std::vector<int64_t> g_delays;
uint64_t g_givenUp = 0;

void
Send(uint32_t station)
{
    std::vector<uint8_t> payload(BYTES);
    int64_t now = Simulator::Now().GetNanoSeconds();
    std::memcpy(payload.data(), &now, sizeof now);
    g_devices[station]->Send(Create<Packet>(payload.data(), payload.size()), g_devices[0]->GetAddress(), 0x0800);
}

bool
Receive(Ptr<NetDevice>, Ptr<const Packet> packet, uint16_t, const Address&)
{
    int64_t sent = 0;
    packet->CopyData(reinterpret_cast<uint8_t*>(&sent), sizeof sent);
    if (sent >= WARMUP_NS)
    {
        g_delays.push_back(Simulator::Now().GetNanoSeconds() - sent);
    }
    return true;
}

void
Acked(uint32_t station, Ptr<const WifiMpdu>)
{
    Simulator::ScheduleNow(&Send, station);
}

void
Dropped(uint32_t station, WifiMacDropReason, Ptr<const WifiMpdu>)
{
    g_givenUp += Simulator::Now().GetNanoSeconds() >= WARMUP_NS;
    Simulator::ScheduleNow(&Send, station);
}

double
Quantile(double share)
{
    return g_delays.empty() ? 0 : g_delays[static_cast<size_t>(share * (g_delays.size() - 1))] / 1e3;
}

} // namespace

int
main(int argc, char** argv)
{
    if (argc < 4)
    {
        std::fprintf(stderr, "usage: rts STATIONS SECONDS RUN [RTS_THRESHOLD]\n");
        return 64;
    }
    uint32_t stations = std::atoi(argv[1]);
    double seconds = std::atof(argv[2]);
    RngSeedManager::SetSeed(1);
    RngSeedManager::SetRun(std::atoi(argv[3]));
    Config::SetDefault("ns3::WifiRemoteStationManager::RtsCtsThreshold", UintegerValue(argc > 4 ? std::atoi(argv[4]) : 0));
    Config::SetDefault("ns3::WifiMacQueue::MaxDelay", TimeValue(Seconds(1000)));

    NodeContainer nodes;
    nodes.Create(stations + 1);
    YansWifiChannelHelper medium;
    medium.SetPropagationDelay("ns3::ConstantSpeedPropagationDelayModel");
    medium.AddPropagationLoss("ns3::FixedRssLossModel", "Rss", DoubleValue(-50.0));
    YansWifiPhyHelper phy;
    phy.SetChannel(medium.Create());
    phy.Set("ChannelSettings", StringValue("{1, 22, BAND_2_4GHZ, 0}"));
    WifiHelper wifi;
    wifi.SetStandard(WIFI_STANDARD_80211b);
    wifi.SetRemoteStationManager("ns3::ConstantRateWifiManager",
                                 "DataMode",
                                 StringValue("DsssRate11Mbps"),
                                 "ControlMode",
                                 StringValue("DsssRate11Mbps"));
    WifiMacHelper mac;
    mac.SetType("ns3::AdhocWifiMac");
    NetDeviceContainer devices = wifi.Install(phy, mac, nodes);
    MobilityHelper mobility;
    mobility.SetMobilityModel("ns3::ConstantPositionMobilityModel");
    mobility.Install(nodes);
    for (uint32_t station = 0; station <= stations; station++)
    {
        g_devices.push_back(DynamicCast<WifiNetDevice>(devices.Get(station)));
        g_devices[station]->SetReceiveCallback(MakeCallback(&Receive));
        Ptr<WifiMac> one = g_devices[station]->GetMac();
        one->TraceConnectWithoutContext("AckedMpdu", MakeCallback(&Acked).Bind(station));
        one->TraceConnectWithoutContext("DroppedMpdu", MakeCallback(&Dropped).Bind(station));
    }
    for (uint32_t station = 1; station <= stations; station++)
    {
        Simulator::Schedule(MicroSeconds(station * 37), &Send, station);
        Simulator::Schedule(MicroSeconds(station * 37), &Send, station);
    }
    Simulator::Stop(NanoSeconds(WARMUP_NS) + Seconds(seconds));
    Simulator::Run();
    std::sort(g_delays.begin(), g_delays.end());
    double sum = 0;
    for (int64_t delay : g_delays)
    {
        sum += delay;
    }
    std::printf("%u,%s,%zu,%lu,%.0f,%.0f,%.0f\n",
                stations,
                argv[3],
                g_delays.size(),
                static_cast<unsigned long>(g_givenUp),
                g_delays.empty() ? 0 : sum / g_delays.size() / 1e3,
                Quantile(0.5),
                Quantile(0.95));
    Simulator::Destroy();
    return 0;
}
