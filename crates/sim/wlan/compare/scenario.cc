// The scenarios of ../examples/compare.rs in ns-3 3.37: voice streams over IEEE 802.11b, without a CPU model.
//
// Packets go straight into the WifiNetDevice: no ARP, no IP, no routing, no association, no beacons. What an IP packet
// of `bytes` costs on the air is what it costs below IP: 24 (header) + 8 (LLC/SNAP) + 4 (FCS) bytes more.
// Prints the same rows as the example; README.md has the columns.

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <iostream>
#include <map>
#include <sstream>
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

constexpr uint64_t SECOND = 1'000'000'000;

/// What the command line says.
struct Plan
{
    std::string scenario = "both-ways"; // one-way, both-ways, two-cells
    uint32_t channels = 1;              // of two-cells
    uint32_t bytes = 60;                // IP packet
    uint32_t intervalUs = 20'000;
    std::string calls = "10"; // list: 5,10,15
    uint32_t firstRun = 1;
    uint32_t runs = 1;
    double seconds = 60;
    double warmup = 5;
    uint32_t queue = 100;
    uint32_t wireUs = 100;
    std::string phases = "random"; // or even
    std::string rate = "DsssRate11Mbps";
    bool clock = false;
    bool trace = false;
    std::string pcap;
};

/// One direction of one call.
struct Stream
{
    uint64_t offered = 0;
    uint64_t delivered = 0;
    uint64_t delaySum = 0;
    uint64_t variationSum = 0;
    uint64_t variations = 0;
    int64_t last = -1; // delay of the packet before, in ns
    Ptr<NetDevice> from;
    Ptr<NetDevice> to;
    Ptr<NetDevice> relayIn;  // two cells: the access point that hears it,
    Ptr<NetDevice> relayOut; // and the one that sends it on
};

/// What a packet carries: the rest of its bytes are zero.
struct Mark
{
    uint64_t created;
    uint32_t stream;
};

class Run
{
  public:
    Run(const Plan& plan, uint32_t calls, uint32_t run)
        : m_plan(plan),
          m_calls(calls),
          m_run(run),
          m_begin(static_cast<uint64_t>(plan.warmup * SECOND)),
          m_end(static_cast<uint64_t>((plan.warmup + plan.seconds) * SECOND))
    {
    }

    void Go();

  private:
    void Build();
    void AddStream(Ptr<NetDevice> from, Ptr<NetDevice> to, Ptr<NetDevice> relayIn, Ptr<NetDevice> relayOut);
    void Emit(uint32_t stream);
    bool Receive(Ptr<NetDevice> device, Ptr<const Packet> packet, uint16_t protocol, const Address& from);
    void Count(Stream& stream, uint64_t created);
    void Trace(uint32_t station, Ptr<const Packet> packet, double power);
    void Print(double seconds) const;
    uint64_t Phase(uint32_t stream, uint32_t streams) const;

    const Plan& m_plan;
    uint32_t m_calls;
    uint32_t m_run;
    uint64_t m_begin;
    uint64_t m_end;
    uint64_t m_arrived = 0; // packets that arrived within the window, whenever they were made
    NetDeviceContainer m_devices;
    std::vector<Stream> m_streams;
};

/// splitmix64: the phases are the same numbers in both simulators.
uint64_t
Mix(uint64_t state)
{
    state += 0x9e3779b97f4a7c15;
    state = (state ^ (state >> 30)) * 0xbf58476d1ce4e5b9;
    state = (state ^ (state >> 27)) * 0x94d049bb133111eb;
    return state ^ (state >> 31);
}

uint64_t
Run::Phase(uint32_t stream, uint32_t streams) const
{
    uint64_t interval = m_plan.intervalUs * 1000ULL;
    if (m_plan.phases == "even")
    {
        return interval * stream / streams;
    }
    return Mix((static_cast<uint64_t>(m_run) << 32) + stream) % interval;
}

void
Run::Build()
{
    bool pair = m_plan.scenario == "two-cells";
    NodeContainer nodes;
    nodes.Create(pair ? 4 : 2);

    YansWifiChannelHelper medium;
    medium.SetPropagationDelay("ns3::ConstantSpeedPropagationDelayModel");
    medium.AddPropagationLoss("ns3::FixedRssLossModel", "Rss", DoubleValue(-50.0)); // nobody is heard better
    Ptr<YansWifiChannel> channel = medium.Create();

    WifiHelper wifi;
    wifi.SetStandard(WIFI_STANDARD_80211b);
    wifi.SetRemoteStationManager("ns3::ConstantRateWifiManager",
                                 "DataMode",
                                 StringValue(m_plan.rate),
                                 "ControlMode",
                                 StringValue(m_plan.rate));
    WifiMacHelper mac; // In ad hoc mode each DSSS rate is a basic one: acknowledgements go at the rate of the data.
    mac.SetType("ns3::AdhocWifiMac");
    for (uint32_t i = 0; i < nodes.GetN(); i++)
    {
        // Stations 0 and 1 are V1 and W1; 2 and 3 are V2 and W2.
        bool elsewhere = i >= 2 && m_plan.channels == 2;
        YansWifiPhyHelper phy;
        phy.SetChannel(channel);
        phy.Set("ChannelSettings", StringValue(elsewhere ? "{11, 22, BAND_2_4GHZ, 0}" : "{1, 22, BAND_2_4GHZ, 0}"));
        NetDeviceContainer device = wifi.Install(phy, mac, nodes.Get(i));
        m_devices.Add(device);
        Ptr<WifiNetDevice> wifiDevice = DynamicCast<WifiNetDevice>(device.Get(0));
        wifiDevice->SetReceiveCallback(MakeCallback(&Run::Receive, this));
        if (m_plan.trace)
        {
            wifiDevice->GetPhy()->TraceConnectWithoutContext("PhyTxBegin",
                                                             MakeCallback(&Run::Trace, this).Bind(i));
        }
        if (!m_plan.pcap.empty())
        {
            phy.EnablePcap(m_plan.pcap, device.Get(0), true);
        }
    }
    MobilityHelper mobility;
    mobility.SetMobilityModel("ns3::ConstantPositionMobilityModel"); // All at one point: no propagation delay.
    mobility.Install(nodes);

    Ptr<NetDevice> v1 = m_devices.Get(0);
    Ptr<NetDevice> w1 = m_devices.Get(1);
    for (uint32_t call = 0; call < m_calls; call++)
    {
        if (pair)
        {
            Ptr<NetDevice> v2 = m_devices.Get(2);
            Ptr<NetDevice> w2 = m_devices.Get(3);
            AddStream(v1, v2, w1, w2);
            AddStream(v2, v1, w2, w1);
            continue;
        }
        AddStream(v1, w1, nullptr, nullptr);
        if (m_plan.scenario == "both-ways")
        {
            AddStream(w1, v1, nullptr, nullptr);
        }
    }
}

void
Run::AddStream(Ptr<NetDevice> from, Ptr<NetDevice> to, Ptr<NetDevice> relayIn, Ptr<NetDevice> relayOut)
{
    Stream stream;
    stream.from = from;
    stream.to = to;
    stream.relayIn = relayIn;
    stream.relayOut = relayOut;
    m_streams.push_back(stream);
}

void
Run::Emit(uint32_t number)
{
    Stream& stream = m_streams[number];
    uint64_t now = Simulator::Now().GetNanoSeconds();
    if (now >= m_end)
    {
        return;
    }
    Simulator::Schedule(MicroSeconds(m_plan.intervalUs), &Run::Emit, this, number);
    stream.offered += now >= m_begin;

    std::vector<uint8_t> payload(m_plan.bytes);
    Mark mark{now, number};
    std::memcpy(payload.data(), &mark, sizeof mark);
    Ptr<NetDevice> next = stream.relayIn ? stream.relayIn : stream.to;
    stream.from->Send(Create<Packet>(payload.data(), payload.size()), next->GetAddress(), 0x0800);
}

bool
Run::Receive(Ptr<NetDevice> device, Ptr<const Packet> packet, uint16_t, const Address&)
{
    Mark mark;
    packet->CopyData(reinterpret_cast<uint8_t*>(&mark), sizeof mark);
    Stream& stream = m_streams[mark.stream];
    if (device == stream.relayIn)
    {
        // The wire: never full, always the same delay.
        Ptr<NetDevice> out = stream.relayOut;
        Ptr<Packet> copy = packet->Copy();
        Address to = stream.to->GetAddress();
        Simulator::Schedule(MicroSeconds(m_plan.wireUs), [out, copy, to]() { out->Send(copy, to, 0x0800); });
        return true;
    }
    Count(stream, mark.created);
    return true;
}

void
Run::Count(Stream& stream, uint64_t created)
{
    uint64_t now = Simulator::Now().GetNanoSeconds();
    m_arrived += now >= m_begin && now < m_end;
    if (created < m_begin)
    {
        return;
    }
    int64_t delay = static_cast<int64_t>(now - created);
    stream.delivered++;
    stream.delaySum += delay;
    if (stream.last >= 0)
    {
        stream.variationSum += std::llabs(delay - stream.last);
        stream.variations++;
    }
    stream.last = delay;
}

void
Run::Trace(uint32_t station, Ptr<const Packet> packet, double)
{
    WifiMacHeader header;
    packet->PeekHeader(header);
    std::printf("%lu,%u,%s,%u\n",
                static_cast<unsigned long>(Simulator::Now().GetNanoSeconds()),
                station,
                header.IsAck() ? "ack" : "data",
                packet->GetSize());
}

void
Run::Print(double seconds) const
{
    uint64_t offered = 0;
    uint64_t delivered = 0;
    uint64_t delay = 0;
    uint64_t variation = 0;
    uint64_t variations = 0;
    for (const Stream& stream : m_streams)
    {
        offered += stream.offered;
        delivered += stream.delivered;
        delay += stream.delaySum;
        variation += stream.variationSum;
        variations += stream.variations;
    }
    std::printf("%s,%u,%u,%u,%u,%lu,%lu,%lu,%lu,%lu",
                m_plan.scenario.c_str(),
                m_plan.scenario == "two-cells" ? m_plan.channels : 1,
                m_plan.bytes,
                m_calls,
                m_run,
                static_cast<unsigned long>(offered),
                static_cast<unsigned long>(delivered),
                static_cast<unsigned long>(m_arrived),
                static_cast<unsigned long>(delivered ? delay / delivered : 0),
                static_cast<unsigned long>(variations ? variation / variations : 0));
    if (m_plan.clock)
    {
        std::printf(",%.6f", seconds);
    }
    std::printf("\n");
    std::fflush(stdout);
}

void
Run::Go()
{
    RngSeedManager::SetSeed(1);
    RngSeedManager::SetRun(m_run);
    Build();
    for (uint32_t stream = 0; stream < m_streams.size(); stream++)
    {
        Simulator::Schedule(NanoSeconds(Phase(stream, m_streams.size())), &Run::Emit, this, stream);
    }
    std::clock_t start = std::clock(); // Of the processor, so that a busy computer does not count.
    Simulator::Run();                  // Until the last packet is out of the queues.
    double seconds = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
    if (!m_plan.trace)
    {
        Print(seconds);
    }
    Simulator::Destroy();
}

} // namespace

int
main(int argc, char* argv[])
{
    Plan plan;
    CommandLine command(__FILE__);
    command.AddValue("scenario", "one-way, both-ways or two-cells", plan.scenario);
    command.AddValue("channels", "1 or 2, of two-cells", plan.channels);
    command.AddValue("bytes", "length of an IP packet", plan.bytes);
    command.AddValue("interval-us", "time between packets of a stream", plan.intervalUs);
    command.AddValue("calls", "how many calls or streams; a list", plan.calls);
    command.AddValue("first-run", "the first seed", plan.firstRun);
    command.AddValue("runs", "how many seeds", plan.runs);
    command.AddValue("seconds", "simulated time that is measured", plan.seconds);
    command.AddValue("warmup", "simulated seconds before that", plan.warmup);
    command.AddValue("queue", "packets that a station keeps", plan.queue);
    command.AddValue("wire-us", "delay of the wire of two-cells", plan.wireUs);
    command.AddValue("phases", "random or even", plan.phases);
    command.AddValue("rate", "of data and acknowledgements", plan.rate);
    command.AddValue("clock", "print how many seconds of the processor each run took", plan.clock);
    command.AddValue("trace", "print every frame instead: ns, station, kind, bytes without FCS", plan.trace);
    command.AddValue("pcap", "write captures with this prefix", plan.pcap);
    command.Parse(argc, argv);

    if (plan.scenario != "one-way" && plan.scenario != "both-ways" && plan.scenario != "two-cells")
    {
        std::cerr << "no such scenario: " << plan.scenario << "; there are one-way, both-ways, two-cells\n";
        return 2;
    }
    if (plan.bytes < sizeof(Mark))
    {
        std::cerr << "packets have at least " << sizeof(Mark) << " bytes\n";
        return 2;
    }
    // By default packets leave the queue after 500 ms, and 500 may wait.
    Config::SetDefault("ns3::WifiMacQueue::MaxSize", QueueSizeValue(QueueSize(PACKETS, plan.queue)));
    Config::SetDefault("ns3::WifiMacQueue::MaxDelay", TimeValue(Seconds(1000)));

    std::stringstream list(plan.calls);
    std::string item;
    while (std::getline(list, item, ','))
    {
        uint32_t calls = std::strtoul(item.c_str(), nullptr, 10);
        for (uint32_t run = plan.firstRun; run < plan.firstRun + plan.runs; run++)
        {
            Run(plan, calls, run).Go();
        }
    }
    return 0;
}
