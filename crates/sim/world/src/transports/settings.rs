//! What the testbed can be told.

use guestright_experiment::SettingInfo;

/// What `transport` may be.
pub const TRANSPORTS: [&str; 13] = [
    "udp",
    "reno",
    "newreno",
    "aimd",
    "vegas",
    "westwood",
    "westwood-plus",
    "real",
    "cubic",
    "bbr",
    "tfrc",
    "quic-datagram",
    "quic-stream",
];

/// What `bulk.transport` may be: what carries a stream and is no QUIC.
pub const BULK_TRANSPORTS: [&str; 9] =
    ["reno", "newreno", "aimd", "vegas", "westwood", "westwood-plus", "real", "cubic", "bbr"];

/// What `profile` may be.
pub const PROFILES: [&str; 2] = ["ns2-2006", "corrected"];

/// What `queue` may be.
pub const QUEUES: [&str; 4] = ["droptail", "red", "codel", "fq_codel"];

/// What `index` may be.
pub const INDICES: [&str; 6] = ["profile", "raw", "sent", "gap", "deadline", "network"];

const SWITCH: [&str; 3] = ["profile", "on", "off"];

const CALLS: [SettingInfo; 11] = [
    SettingInfo::choice(
        "profile",
        "corrected",
        &PROFILES,
        "What the switches are that say `profile`: ns2-2006, all on, as the paper's simulator has it; corrected, all off.",
    ),
    SettingInfo::choice("transport", "udp", &TRANSPORTS, "What carries the calls."),
    SettingInfo::integer("flows", "", 20, (1, 10_000), "Calls; 10 to 120 in the paper."),
    SettingInfo::integer(
        "packet_bytes",
        "bytes",
        160,
        (1, 1_400),
        "Speech in a packet; 160, 300 and 500 in the paper.",
    ),
    SettingInfo::float("duration_s", "s", 60.0, (0.1, 3_600.0), "How long a run lasts."),
    SettingInfo::float("start.spread_s", "s", 2.0, (0.0, 600.0), "Each flow starts at random within this."),
    SettingInfo::choice(
        "source.kind",
        "pareto",
        &["pareto", "exponential", "constant"],
        "How long speech and silence last: by Pareto's law, by the exponential one, or speech without end.",
    ),
    SettingInfo::float("source.rate_kbps", "kb/s", 64.0, (0.1, 10_000.0), "Rate of the speech."),
    SettingInfo::choice(
        "source.reading",
        "on-rate",
        &["on-rate", "average"],
        "What the rate is: that while speaking, as ns-2 has it and 160 bytes in 20 ms say, or that over speech and \
         silence, as the paper's words say.",
    ),
    SettingInfo::float("source.shape", "", 1.5, (1.01, 10.0), "Shape of Pareto's law."),
    SettingInfo::float("source.on_s", "s", 1.0, (0.001, 1_000.0), "Mean length of speech."),
];

const NETWORK: [SettingInfo; 21] = [
    SettingInfo::float("source.off_s", "s", 1.35, (0.0, 1_000.0), "Mean length of silence."),
    SettingInfo::integer(
        "bulk.flows",
        "",
        0,
        (0, 1_000),
        "File transfers without end that come in at R2; 10 to 60 in the paper.",
    ),
    SettingInfo::choice("bulk.transport", "reno", &BULK_TRANSPORTS, "What carries them."),
    SettingInfo::integer("bulk.segment_bytes", "bytes", 1_000, (100, 1_460), "Their payload in a segment."),
    SettingInfo::integer(
        "bulk.window",
        "segments",
        64,
        (1, 10_000),
        "The window of their receivers, in segments.",
    ),
    SettingInfo::float(
        "first.rate_mbps",
        "Mb/s",
        2.0,
        (0.01, 100_000.0),
        "Rate of the link from R1 to R2. The paper's Figure 1 is lost.",
    ),
    SettingInfo::float("first.delay_ms", "ms", 10.0, (0.0, 10_000.0), "Propagation delay from R1 to R2."),
    SettingInfo::integer(
        "first.buffer",
        "packets",
        50,
        (2, 1_000_000),
        "Packets that R1 holds for R2, the one being sent among them; ns-2's default is 50.",
    ),
    SettingInfo::float(
        "second.ratio",
        "",
        1.0,
        (0.01, 1_000.0),
        "Rate of the link from R2 to R3, over that from R1 to R2.",
    ),
    SettingInfo::float("second.delay_ms", "ms", 10.0, (0.0, 10_000.0), "Propagation delay from R2 to R3."),
    SettingInfo::integer(
        "second.buffer",
        "packets",
        50,
        (0, 1_000_000),
        "Packets that R2 holds for R3, the one being sent among them; 0: as many as R1 for R2.",
    ),
    SettingInfo::float("access.rate_mbps", "Mb/s", 10.0, (0.01, 100_000.0), "Rate of every other link."),
    SettingInfo::float(
        "access.delay_ms",
        "ms",
        5.0,
        (0.0, 10_000.0),
        "Propagation delay of every other link.",
    ),
    SettingInfo::choice("queue", "droptail", &QUEUES, "What R1 and R2 do with what waits."),
    SettingInfo::bool(
        "ecn",
        false,
        "Whether queues mark, and ends heed marks (RFC 3168); not with `droptail`.",
    ),
    SettingInfo::choice(
        "errors.model",
        "bernoulli",
        &["none", "bernoulli", "gilbert"],
        "How the sinks' access links lose packets: each for itself, or in bursts.",
    ),
    SettingInfo::float(
        "errors.per",
        "",
        0.01,
        (0.0, 0.5),
        "Share of packets lost there; 0.01 to 0.05 in the paper.",
    ),
    SettingInfo::float(
        "errors.burst",
        "packets",
        3.0,
        (1.0, 1_000.0),
        "Mean length of a burst of `gilbert`.",
    ),
    SettingInfo::bool("errors.reverse", true, "Whether acknowledgements are lost there too."),
    SettingInfo::float(
        "threshold_ms",
        "ms",
        300.0,
        (1.0, 10_000.0),
        "The paper's threshold between two arrivals, 100 to 400 ms; and the deadline after speaking.",
    ),
    SettingInfo::choice(
        "index",
        "profile",
        &INDICES,
        "Which index of real-time performance is `index`; profile: sent with ns2-2006, deadline with corrected.",
    ),
];

const TCP: [SettingInfo; 25] = [
    SettingInfo::bool("tcp.sack", false, "Whether receivers tell what has arrived behind a gap (RFC 2018)."),
    SettingInfo::integer("tcp.ack_every", "", 1, (1, 255), "Every how many segments are acknowledged."),
    SettingInfo::integer(
        "tcp.window",
        "segments",
        20,
        (1, 10_000),
        "The window of the calls' receivers, in segments; ns-2's default is 20.",
    ),
    SettingInfo::float(
        "tcp.min_rto_ms",
        "ms",
        200.0,
        (1.0, 10_000.0),
        "The least retransmission timeout; ns-2 has 200 since 2004, RFC 6298 asks for 1000.",
    ),
    SettingInfo::integer("tcp.initial_window", "segments", 2, (1, 100), "The window of a new flow."),
    SettingInfo::bool(
        "tcp.nagle",
        false,
        "Whether small segments wait while anything is on its way (RFC 896).",
    ),
    SettingInfo::float(
        "aimd.alpha",
        "segments",
        1.0,
        (0.01, 100.0),
        "Segments that AIMD adds in a round trip.",
    ),
    SettingInfo::float("aimd.beta", "", 0.5, (0.01, 0.99), "What AIMD leaves of the window after a loss."),
    SettingInfo::float(
        "vegas.alpha",
        "segments",
        1.0,
        (0.0, 1_000.0),
        "Vegas keeps at least this in queues.",
    ),
    SettingInfo::float("vegas.beta", "segments", 3.0, (0.0, 1_000.0), "Vegas keeps at most this in queues."),
    SettingInfo::float("vegas.gamma", "segments", 1.0, (0.0, 1_000.0), "Where Vegas leaves slow start."),
    SettingInfo::float(
        "real.gamma",
        "",
        0.125,
        (0.0, 0.99),
        "By how much Real shrinks the window when the receiver's rate falls.",
    ),
    SettingInfo::float(
        "real.beta",
        "",
        0.5,
        (0.01, 0.99),
        "What Real leaves of the window after congestion.",
    ),
    SettingInfo::float(
        "real.delta",
        "",
        0.125,
        (0.0, 0.99),
        "By how much the receiver's rate may fall before Real shrinks the window. Our reading.",
    ),
    SettingInfo::bool(
        "real.classifier",
        true,
        "Whether Real tells random losses from congestion. Our reading; off for the ablation.",
    ),
    SettingInfo::bool(
        "real.waves",
        true,
        "Whether Real heeds the receiver's rate. Our reading; off for the ablation.",
    ),
    SettingInfo::bool(
        "real.timeout",
        true,
        "Whether Real treats a timeout without congestion as a random loss. Our reading; off for the ablation.",
    ),
    SettingInfo::choice(
        "switch.headers",
        "profile",
        &SWITCH,
        "On: as ns-2, 40 bytes of header for the Reno family, none for Vegas and UDP; off: every transport's own.",
    ),
    SettingInfo::choice(
        "switch.syn",
        "profile",
        &SWITCH,
        "On: as ns-2, packet 0 of the Reno family is a SYN without speech, and Vegas has none; off: no SYN.",
    ),
    SettingInfo::choice(
        "switch.idle_timer",
        "profile",
        &SWITCH,
        "On: as ns-2, the retransmission timer runs on when all is acknowledged.",
    ),
    SettingInfo::choice(
        "switch.senders",
        "profile",
        &SWITCH,
        "On: recovery, timeouts, growth of windows, AIMD's slow start and Westwood's module as in ns-2; off: as in the \
         RFCs and papers. Vegas has ns-2's recovery in both.",
    ),
    SettingInfo::choice(
        "switch.tick",
        "profile",
        &SWITCH,
        "On: as ns-2, round-trip times are counted in ticks of 10 ms.",
    ),
    SettingInfo::choice(
        "switch.vegas_unsent",
        "profile",
        &SWITCH,
        "On: as ns-2's Vegas, segments that were never sent count as expired.",
    ),
    SettingInfo::choice(
        "switch.send_buffer",
        "profile",
        &SWITCH,
        "On: as ns-2, what waits to be sent has no limit; off: `send_buffer` packets, the oldest unsent is thrown away.",
    ),
    SettingInfo::integer(
        "send_buffer",
        "packets",
        15,
        (1, 100_000),
        "Packets that may wait to be sent for the first time; 15 are 300 ms of speech.",
    ),
];

/// What `quic.congestion` may be: quinn's own, and ours in quinn.
pub const QUIC_CONGESTION: [&str; 12] = [
    "quinn-newreno",
    "quinn-cubic",
    "quinn-bbr",
    "none",
    "reno",
    "aimd",
    "vegas",
    "westwood",
    "westwood-plus",
    "real",
    "cubic",
    "bbr",
];

const QUIC: [SettingInfo; 4] = [
    SettingInfo::choice(
        "quic.congestion",
        "quinn-newreno",
        &QUIC_CONGESTION,
        "Congestion control of QUIC: quinn's own, or ours in quinn, with an initial window of ten packets of 1200 bytes.",
    ),
    SettingInfo::integer(
        "quic.ack_every",
        "",
        2,
        (1, 255),
        "Every how many packets QUIC acknowledges, or after 25 ms; quinn's default is 2.",
    ),
    SettingInfo::bool(
        "quic.stream_each",
        false,
        "With `quic-stream`: whether each packet has a stream of its own, and waits for no other.",
    ),
    SettingInfo::bool("quic.mtu_discovery", false, "Whether QUIC tries packets larger than 1200 bytes."),
];

/// Every setting of the testbed.
pub const SETTINGS: [SettingInfo; CALLS.len() + NETWORK.len() + TCP.len() + QUIC.len()] =
    crate::joined::joined(&[&CALLS, &NETWORK, &TCP, &QUIC]);
