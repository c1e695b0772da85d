//! What the testbed can be told.

use guestright_congestion::{Algorithm, RealReadings};
use guestright_experiment::{Attached, settings};
use guestright_transport::Reading;
use std::sync::Arc;

/// What a TCP does, apart from its sizes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stream {
    Reno,
    NewReno,
    Aimd,
    Vegas,
    Westwood,
    WestwoodPlus,
    Real,
    Cubic,
    Bbr,
}

/// What carries a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transport {
    Udp,
    Tcp(Stream),
    Tfrc,
    QuicDatagram,
    QuicStream,
}

/// The words of `transport`.
pub const TRANSPORTS: [(&str, Transport); 13] = [
    ("udp", Transport::Udp),
    ("reno", Transport::Tcp(Stream::Reno)),
    ("newreno", Transport::Tcp(Stream::NewReno)),
    ("aimd", Transport::Tcp(Stream::Aimd)),
    ("vegas", Transport::Tcp(Stream::Vegas)),
    ("westwood", Transport::Tcp(Stream::Westwood)),
    ("westwood-plus", Transport::Tcp(Stream::WestwoodPlus)),
    ("real", Transport::Tcp(Stream::Real)),
    ("cubic", Transport::Tcp(Stream::Cubic)),
    ("bbr", Transport::Tcp(Stream::Bbr)),
    ("tfrc", Transport::Tfrc),
    ("quic-datagram", Transport::QuicDatagram),
    ("quic-stream", Transport::QuicStream),
];

/// The words of `bulk.transport`: those of [`TRANSPORTS`] that stand for TCP.
pub const BULK_TRANSPORTS: [(&str, Stream); TCP_COUNT] = {
    let mut words = [("", Stream::Reno); TCP_COUNT];
    let (mut index, mut count) = (0, 0);
    while index < TRANSPORTS.len() {
        if let (word, Transport::Tcp(stream)) = TRANSPORTS[index] {
            words[count] = (word, stream);
            count += 1;
        }
        index += 1;
    }
    words
};

const TCP_COUNT: usize = {
    let (mut index, mut count) = (0, 0);
    while index < TRANSPORTS.len() {
        if matches!(TRANSPORTS[index].1, Transport::Tcp(_)) {
            count += 1;
        }
        index += 1;
    }
    count
};

/// What the switches are that say nothing else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Profile {
    Ns2,
    Corrected,
}

/// The words of `profile`.
pub const PROFILES: [(&str, Profile); 2] = [("ns2-2006", Profile::Ns2), ("corrected", Profile::Corrected)];

/// What a switch says; `None`: what the profile says.
const SWITCH: [(&str, Option<bool>); 3] = [("profile", None), ("on", Some(true)), ("off", Some(false))];

/// By which law speech and silence last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Speech {
    Pareto,
    Exponential,
    Constant,
}

const SPEECH: [(&str, Speech); 3] =
    [("pareto", Speech::Pareto), ("exponential", Speech::Exponential), ("constant", Speech::Constant)];

const READINGS: [(&str, Reading); 2] = [("on-rate", Reading::OnRate), ("average", Reading::Average)];

/// What a bottleneck does with what waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueueKind {
    DropTail,
    Red,
    CoDel,
    FqCoDel,
}

/// The words of `queue`.
pub const QUEUES: [(&str, QueueKind); 4] = [
    ("droptail", QueueKind::DropTail),
    ("red", QueueKind::Red),
    ("codel", QueueKind::CoDel),
    ("fq_codel", QueueKind::FqCoDel),
];

/// How a link loses packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorModel {
    None,
    Bernoulli,
    Gilbert,
}

const ERROR_MODELS: [(&str, ErrorModel); 3] =
    [("none", ErrorModel::None), ("bernoulli", ErrorModel::Bernoulli), ("gilbert", ErrorModel::Gilbert)];

/// An index of real-time performance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Index {
    Raw,
    Sent,
    Gap,
    Deadline,
    Network,
}

/// The words of `index`; `None`: the profile's.
pub const INDICES: [(&str, Option<Index>); 6] = [
    ("profile", None),
    ("raw", Some(Index::Raw)),
    ("sent", Some(Index::Sent)),
    ("gap", Some(Index::Gap)),
    ("deadline", Some(Index::Deadline)),
    ("network", Some(Index::Network)),
];

/// The words of `quic.congestion`: quinn's own, and ours in quinn.
pub const QUIC_CONGESTION: [(&str, Algorithm); Algorithm::ALL.len()] = {
    let mut words = [("", Algorithm::None); Algorithm::ALL.len()];
    let mut index = 0;
    while index < words.len() {
        words[index] = (Algorithm::ALL[index].name(), Algorithm::ALL[index]);
        index += 1;
    }
    words
};

settings! {
    /// Every setting of the testbed.
    pub struct TransportsSettings {
        /// What the switches are that say `profile`: ns2-2006, all on, as the paper's simulator has it; corrected,
        /// all off.
        profile: Profile = choice("profile", "corrected", PROFILES),
        /// What carries the calls.
        transport: Transport = choice("transport", "udp", TRANSPORTS),
        /// Calls; 10 to 120 in the paper.
        flows: u32 = integer("flows", "", 20, (1, 10_000)),
        /// Speech in a packet; 160, 300 and 500 in the paper.
        packet_bytes: u32 = integer("packet_bytes", "bytes", 160, (1, 1_400)),
        /// How long a run lasts.
        duration_s: f64 = float("duration_s", "s", 60.0, (0.1, 3_600.0)),
        /// What is made, sent and dropped in the first part of the run is not measured.
        warmup_s: f64 = float("warmup_s", "s", 0.0, (0.0, 3_600.0)),
        /// Each flow starts at random within this.
        start_spread_s: f64 = float("start.spread_s", "s", 2.0, (0.0, 600.0)),
        /// How long speech and silence last: by Pareto's law, by the exponential one, or speech without end.
        source_kind: Speech = choice("source.kind", "pareto", SPEECH),
        /// Rate of the speech.
        source_rate_kbps: f64 = float("source.rate_kbps", "kb/s", 64.0, (0.1, 10_000.0)),
        /// What the rate is: that while speaking, as ns-2 has it and 160 bytes in 20 ms say, or that over speech
        /// and silence, as the paper's words say.
        source_reading: Reading = choice("source.reading", "on-rate", READINGS),
        /// Shape of Pareto's law.
        source_shape: f64 = float("source.shape", "", 1.5, (1.01, 10.0)),
        /// Mean length of speech.
        source_on_s: f64 = float("source.on_s", "s", 1.0, (0.001, 1_000.0)),
        /// Mean length of silence.
        source_off_s: f64 = float("source.off_s", "s", 1.35, (0.0, 1_000.0)),
        /// A file with the time of each packet of each call, in place of the speech above. Lines have the number of the
        /// call, from 0, and seconds: `0 0.02`. What is later than the run does not count.
        source_file: Option<Arc<Attached>> = file("source.file"),
        /// File transfers without end that come in at R2; 10 to 60 in the paper.
        bulk_flows: u32 = integer("bulk.flows", "", 0, (0, 1_000)),
        /// What carries them.
        bulk_transport: Stream = choice("bulk.transport", "reno", BULK_TRANSPORTS),
        /// Their payload in a segment.
        bulk_segment_bytes: u32 = integer("bulk.segment_bytes", "bytes", 1_000, (100, 1_460)),
        /// The window of their receivers, in segments.
        bulk_window: u32 = integer("bulk.window", "segments", 64, (1, 10_000)),
        /// Rate of the link from R1 to R2. The paper's Figure 1 is lost.
        first_rate_mbps: f64 = float("first.rate_mbps", "Mb/s", 2.0, (0.01, 100_000.0)),
        /// Propagation delay from R1 to R2.
        first_delay_ms: f64 = float("first.delay_ms", "ms", 10.0, (0.0, 10_000.0)),
        /// Packets that R1 holds for R2, the one being sent among them; ns-2's default is 50.
        first_buffer: u32 = integer("first.buffer", "packets", 50, (2, 1_000_000)),
        /// Rate of the link from R2 to R3, over that from R1 to R2.
        second_ratio: f64 = float("second.ratio", "", 1.0, (0.01, 1_000.0)),
        /// Propagation delay from R2 to R3.
        second_delay_ms: f64 = float("second.delay_ms", "ms", 10.0, (0.0, 10_000.0)),
        /// Packets that R2 holds for R3, the one being sent among them; 0: as many as R1 for R2.
        second_buffer: u32 = integer("second.buffer", "packets", 50, (0, 1_000_000)),
        /// Rate of every other link.
        access_rate_mbps: f64 = float("access.rate_mbps", "Mb/s", 10.0, (0.01, 100_000.0)),
        /// Propagation delay of every other link.
        access_delay_ms: f64 = float("access.delay_ms", "ms", 5.0, (0.0, 10_000.0)),
        /// By up to how much the links of each flow have more delay, another one for each flow.
        access_delay_spread_ms: f64 = float("access.delay_spread_ms", "ms", 0.0, (0.0, 10_000.0)),
        /// What R1 and R2 do with what waits.
        queue: QueueKind = choice("queue", "droptail", QUEUES),
        /// Whether queues mark, and ends heed marks (RFC 3168); not with `droptail`.
        ecn: bool = bool("ecn", false),
        /// How the sinks' access links lose packets: each for itself, or in bursts.
        errors_model: ErrorModel = choice("errors.model", "bernoulli", ERROR_MODELS),
        /// Share of packets lost there; 0.01 to 0.05 in the paper.
        errors_per: f64 = float("errors.per", "", 0.01, (0.0, 0.5)),
        /// Mean length of a burst of `gilbert`.
        errors_burst: f64 = float("errors.burst", "packets", 3.0, (1.0, 1_000.0)),
        /// Whether acknowledgements are lost there too.
        errors_reverse: bool = bool("errors.reverse", true),
        /// By up to how much each packet is late at its first queue, so that chance breaks ties; 0 favours somebody.
        tie_jitter_ns: u32 = integer("tie_jitter_ns", "ns", 8, (0, 1_000_000)),
        /// The paper's threshold between two arrivals, 100 to 400 ms; and the deadline after speaking.
        threshold_ms: f64 = float("threshold_ms", "ms", 300.0, (1.0, 10_000.0)),
        /// Which index of real-time performance is `index`; profile: sent with ns2-2006, deadline with corrected.
        index: Option<Index> = choice("index", "profile", INDICES),
        /// Whether receivers tell what has arrived behind a gap (RFC 2018).
        tcp_sack: bool = bool("tcp.sack", false),
        /// Every how many segments are acknowledged.
        tcp_ack_every: u32 = integer("tcp.ack_every", "", 1, (1, 255)),
        /// The window of the calls' receivers, in segments; ns-2's default is 20.
        tcp_window: u32 = integer("tcp.window", "segments", 20, (1, 10_000)),
        /// The least retransmission timeout; ns-2 has 200 since 2004, RFC 6298 asks for 1000.
        tcp_min_rto_ms: f64 = float("tcp.min_rto_ms", "ms", 200.0, (1.0, 10_000.0)),
        /// The window of a new flow.
        tcp_initial_window: u32 = integer("tcp.initial_window", "segments", 2, (1, 100)),
        /// Whether small segments wait while anything is on its way (RFC 896).
        tcp_nagle: bool = bool("tcp.nagle", false),
        /// Segments that AIMD adds in a round trip.
        aimd_alpha: f64 = float("aimd.alpha", "segments", 1.0, (0.01, 100.0)),
        /// What AIMD leaves of the window after a loss.
        aimd_beta: f64 = float("aimd.beta", "", 0.5, (0.01, 0.99)),
        /// Vegas keeps at least this in queues.
        vegas_alpha: f64 = float("vegas.alpha", "segments", 1.0, (0.0, 1_000.0)),
        /// Vegas keeps at most this in queues.
        vegas_beta: f64 = float("vegas.beta", "segments", 3.0, (0.0, 1_000.0)),
        /// Where Vegas leaves slow start.
        vegas_gamma: f64 = float("vegas.gamma", "segments", 1.0, (0.0, 1_000.0)),
        /// By how much Real shrinks the window when the receiver's rate falls.
        real_gamma: f64 = float("real.gamma", "", 0.125, (0.0, 0.99)),
        /// What Real leaves of the window after congestion.
        real_beta: f64 = float("real.beta", "", 0.5, (0.01, 0.99)),
        /// By how much the receiver's rate may fall before Real shrinks the window. Our reading.
        real_delta: f64 = float("real.delta", "", 0.125, (0.0, 0.99)),
        /// Whether Real tells random losses from congestion. Our reading; off for the ablation.
        real_classifier: bool = bool("real.classifier", true),
        /// Whether Real heeds the receiver's rate. Our reading; off for the ablation.
        real_waves: bool = bool("real.waves", true),
        /// Whether Real treats a timeout without congestion as a random loss. Our reading; off for the ablation.
        real_timeout: bool = bool("real.timeout", true),
        /// Where the text on Real allows two readings: ours, or one or all of those of a second implementation.
        real_reading: RealReadings = choice("real.reading", "ours", RealReadings::NAMED),
        /// On: as ns-2, 40 bytes of header for the Reno family, none for Vegas and UDP; off: every transport's own.
        switch_headers: Option<bool> = choice("switch.headers", "profile", SWITCH),
        /// On: as ns-2, packet 0 of the Reno family is a SYN without speech, and Vegas has none; off: no SYN.
        switch_syn: Option<bool> = choice("switch.syn", "profile", SWITCH),
        /// On: as ns-2, the retransmission timer runs on when all is acknowledged.
        switch_idle_timer: Option<bool> = choice("switch.idle_timer", "profile", SWITCH),
        /// On: recovery, timeouts, growth of windows, AIMD's slow start and Westwood's module as in ns-2; off: as
        /// in the RFCs and papers. Vegas has ns-2's recovery in both.
        switch_senders: Option<bool> = choice("switch.senders", "profile", SWITCH),
        /// On: after a timeout Westwood's threshold is divided by 1 to 4, as in the ns-2 module of 2002; off: not, as in
        /// the paper's Algorithm 1. Profile: as `switch.senders`. Which of them the paper had is a reading.
        switch_westwood_divisor: Option<bool> = choice("switch.westwood_divisor", "profile", SWITCH),
        /// On: as ns-2, round-trip times are counted in ticks of 10 ms.
        switch_tick: Option<bool> = choice("switch.tick", "profile", SWITCH),
        /// On: as ns-2's Vegas, segments that were never sent count as expired.
        switch_vegas_unsent: Option<bool> = choice("switch.vegas_unsent", "profile", SWITCH),
        /// On: as ns-2, what waits to be sent has no limit; off: `send_buffer` packets, the oldest unsent is thrown
        /// away.
        switch_send_buffer: Option<bool> = choice("switch.send_buffer", "profile", SWITCH),
        /// Packets that may wait to be sent for the first time; 15 are 300 ms of speech.
        send_buffer: u32 = integer("send_buffer", "packets", 15, (1, 100_000)),
        /// Congestion control of QUIC: quinn's own, or ours in quinn, with an initial window of ten packets of 1200
        /// bytes.
        quic_congestion: Algorithm = choice("quic.congestion", "quinn-newreno", QUIC_CONGESTION),
        /// Every how many packets QUIC acknowledges, or after 25 ms; quinn's default is 2.
        quic_ack_every: u32 = integer("quic.ack_every", "", 2, (1, 255)),
        /// With `quic-stream`: whether each packet has a stream of its own, and waits for no other.
        quic_stream_each: bool = bool("quic.stream_each", false),
        /// Whether QUIC tries packets larger than 1200 bytes.
        quic_mtu_discovery: bool = bool("quic.mtu_discovery", false),
    }
}

impl TransportsSettings {
    /// The index that is `index`: what the setting says, or what the profile has.
    pub(super) fn real_time_index(&self) -> Index {
        self.index.unwrap_or(match self.profile {
            Profile::Ns2 => Index::Sent,
            Profile::Corrected => Index::Deadline,
        })
    }
}
