//! The paper's network as one machine: against sums by hand, and for what must hold in every run.

use guestright_congestion::{
    AnyController, InitialWindow, RecoveryKind, RecoverySettings, Reno, RenoSettings,
};
use guestright_engine::{Instant, Nanos, Streams};
use guestright_transport::path::{
    Access, Call, Carrier, DeliveredPackets, FlowReport, Path, PathConfig, PathReport, TcpCarrier, Transfer,
    Watch,
};
use guestright_transport::{
    Discipline, Errors, Flow, FqCoDelSettings, LinkStats, ReceiverSettings, SenderSettings, SettingsError,
    Source, SourceSettings, TfrcEnds, TfrcEndsSettings,
};
use guestright_units::Seed;
use proptest::prelude::*;

const MS: u64 = 1_000_000;
const SECOND: u64 = 1_000 * MS;

fn streams(seed: u64) -> Streams {
    Streams::new(Seed::from_number(seed))
}

/// The paper's links without errors.
fn quiet() -> PathConfig {
    PathConfig { errors: Errors::None, reverse_errors: Errors::None, ..PathConfig::paper_c() }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Over {
    Udp,
    NewReno { send_buffer: Option<u32> },
    Tfrc,
}

#[expect(clippy::unwrap_used, reason = "the settings can be")]
fn newreno(segment: u32, window: u32, send_buffer: Option<u32>) -> TcpCarrier<AnyController> {
    let reno = RenoSettings { initial_window: InitialWindow::Segments(2), ..RenoSettings::rfc5681(segment) };
    let recovery = RecoverySettings::new(RecoveryKind::NewReno, segment);
    TcpCarrier {
        sender: SenderSettings { recovery, window: window * segment, ..SenderSettings::rfc(segment) },
        receiver: ReceiverSettings {
            window: window * segment,
            acknowledge_every: 1,
            ..ReceiverSettings::rfc5681()
        },
        controller: AnyController::Reno(Reno::new(reno).unwrap()),
        send_buffer,
    }
}

#[expect(clippy::unwrap_used, reason = "the settings can be")]
fn call(flow: u32, over: Over, arrivals: Vec<Instant>) -> Call<AnyController> {
    let carrier = match over {
        Over::Udp => Carrier::Udp { header_bytes: 40 },
        Over::NewReno { send_buffer } => Carrier::Tcp(newreno(160, 20, send_buffer)),
        Over::Tfrc => {
            let ends = TfrcEnds::new(Flow(flow), TfrcEndsSettings::rfc5348(160), Instant::START).unwrap();
            Carrier::Foreign(Box::new(ends))
        }
    };
    Call { arrivals, packet_bytes: 160, carrier, errors: None }
}

#[expect(clippy::unwrap_used, reason = "the settings can be")]
fn speech(flow: u32, seed: u64, until: Instant) -> Vec<Instant> {
    let mut chance = streams(seed).stream("speech", flow.into());
    let from = Instant(u64::from(flow) * 17 * MS);
    Source::new(SourceSettings::paper_c(160), from, until, &mut chance).unwrap().collect()
}

/// Calls with the paper's speech, and file transfers of 1000 bytes a segment.
#[expect(clippy::unwrap_used, reason = "the settings can be")]
fn mixed<W: Watch>(
    config: PathConfig,
    over: Over,
    (calls, bulk): (u32, u32),
    seed: u64,
    watch: W,
) -> Path<AnyController, W> {
    let mut path = Path::watched(config, &streams(seed), watch).unwrap();
    for flow in 0..calls {
        path.add_call(call(flow, over, speech(flow, seed, Instant(60 * SECOND)))).unwrap();
    }
    for flow in 0..bulk {
        let start = Instant(u64::from(flow) * 31 * MS);
        path.add_transfer(Transfer { start, bytes: None, tcp: newreno(1_000, 64, None) }).unwrap();
    }
    path
}

/// 200 bytes over 10, 2, 2 and 10 Mbit/s take 0.16, 0.8, 0.8 and 0.16 ms, and 5, 10, 10 and 5 ms of propagation.
#[test]
fn an_empty_path_takes_the_sum_of_its_parts() {
    for over in [Over::Udp, Over::NewReno { send_buffer: None }, Over::Tfrc] {
        let mut path = Path::watched(quiet(), &streams(1), DeliveredPackets::default()).unwrap();
        let arrivals = [0, 1_000, 2_000].map(|at| Instant(at * MS));
        path.add_call(call(0, over, arrivals.to_vec())).unwrap();
        path.run(Instant(5 * SECOND));
        let times: Vec<u64> = path.watch().0.iter().map(|packet| packet.at.since(packet.made).0).collect();
        assert_eq!(times, [31_920_000; 3], "{over:?}");
        let numbers: Vec<u32> = path.watch().0.iter().map(|packet| packet.number).collect();
        assert_eq!(numbers, [0, 1, 2], "{over:?}");
    }
}

/// Each call has its own delay, both at the source and at the sink, and keeps it.
#[test]
fn hosts_may_be_at_different_distances() {
    let mut config = quiet();
    config.access.spread = Nanos::from_millis(40);
    let mut path = Path::watched(config, &streams(1), DeliveredPackets::default()).unwrap();
    for flow in 0..20 {
        // Far apart, so that no packet waits for another.
        let arrivals = [0, 1].map(|round| Instant((round * 20 + u64::from(flow)) * 100 * MS));
        path.add_call(call(flow, Over::Udp, arrivals.to_vec())).unwrap();
    }
    path.run(Instant(10 * SECOND));
    let mut more = vec![Vec::new(); 20];
    for packet in &path.watch().0 {
        more[packet.flow as usize].push(packet.at.since(packet.made).0 - 31_920_000);
    }
    assert!(more.iter().all(|more| more.len() == 2 && more[0] == more[1] && more[0] <= 80 * MS), "{more:?}");
    let (least, most) = (more.iter().min().unwrap()[0], more.iter().max().unwrap()[0]);
    assert!(least < 20 * MS && most > 60 * MS, "{more:?}");
}

/// An acknowledgement of 40 bytes takes 0.032 + 0.16 + 0.16 + 0.032 ms on its way back, and 30 ms.
#[test]
fn an_acknowledgement_takes_the_same_way_back() {
    let mut path = Path::new(quiet(), &streams(1)).unwrap();
    path.add_call(call(0, Over::NewReno { send_buffer: None }, vec![Instant::START])).unwrap();
    let there_and_back = 31_920_000 + 30_384_000;
    path.run(Instant(there_and_back - 1));
    assert_eq!((path.sender(0).unwrap().acknowledged(), path.hops()), (0, 7));
    path.run(Instant(there_and_back));
    assert_eq!((path.sender(0).unwrap().acknowledged(), path.hops()), (160, 8));
    // To the microsecond that TCP counts in.
    assert_eq!(path.report().calls[0].round_trip, Some(Nanos(62_304_000)));
}

/// A file transfer enters at R2: 1040 bytes take 0.832 + 4.16 + 0.832 ms and 20 ms.
#[test]
fn a_file_transfer_enters_at_the_second_router() {
    let mut path = Path::new(quiet(), &streams(1)).unwrap();
    let tcp = newreno(1_000, 64, None);
    path.add_transfer(Transfer { start: Instant(7 * MS), bytes: Some(1_000), tcp }).unwrap();
    path.run(Instant(7 * MS + 25_824_000 - 1));
    assert_eq!(path.report().transfers[0].delivered_bytes, 0);
    path.run(Instant(7 * MS + 25_824_000));
    let report = path.report();
    assert_eq!((report.transfers[0].delivered_bytes, report.hops), (1_000, 3));
    assert_eq!((report.routers[0].taken, report.routers[2].taken), (0, 1));
}

/// Twelve sources speak at once. R1 holds five packets, the one being sent among them: seven are dropped. With room for
/// five, the first is sent at 0.16 + 5 ms, and the last one leaves 4 ms later.
#[test]
fn a_full_queue_drops_what_comes() {
    let mut config = quiet();
    config.first.buffer = 5;
    let mut path = Path::watched(config, &streams(1), DeliveredPackets::default()).unwrap();
    for flow in 0..12 {
        path.add_call(call(flow, Over::Udp, vec![Instant(MS)])).unwrap();
    }
    path.run(Instant(SECOND));
    let report = path.report();
    let dropped: Vec<u64> = report.calls.iter().map(|call| call.dropped_first).collect();
    assert_eq!(dropped, [0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1]);
    assert_eq!((report.routers[0].dropped, report.routers[0].queue_max), (7, 5));
    assert_eq!(report.routers[0].busy, Nanos(5 * 800_000));
    let times: Vec<u64> = path.watch().0.iter().map(|packet| packet.at.since(packet.made).0).collect();
    assert_eq!(times, [31_920_000, 32_720_000, 33_520_000, 34_320_000, 35_120_000]);
}

/// A packet whose last bit leaves when another comes has left.
#[test]
fn a_packet_that_leaves_now_takes_no_room() {
    let mut config = quiet();
    config.first.buffer = 2;
    let mut path = Path::new(config, &streams(1)).unwrap();
    // The first leaves after 0.8 ms, when the third comes.
    for (flow, at) in [(0, 0), (1, 0), (2, 800_000), (3, 800_000)] {
        path.add_call(call(flow, Over::Udp, vec![Instant(at)])).unwrap();
    }
    path.run(Instant(SECOND));
    let delivered: Vec<u64> = path.report().calls.iter().map(|call| call.delivered).collect();
    assert_eq!(delivered, [1, 1, 1, 0]);
}

#[test]
fn scripted_losses_are_lost_and_nothing_else() {
    let mut path = Path::watched(quiet(), &streams(1), DeliveredPackets::default()).unwrap();
    let arrivals = (0..10).map(|number| Instant(number * 20 * MS)).collect();
    let errors = Some([Errors::Scripted(vec![0, 3, 9]), Errors::None]);
    path.add_call(Call { errors, ..call(0, Over::Udp, arrivals) }).unwrap();
    path.run(Instant(SECOND));
    let numbers: Vec<u32> = path.watch().0.iter().map(|packet| packet.number).collect();
    assert_eq!(numbers, [1, 2, 4, 5, 6, 7, 8]);
    assert_eq!(path.report().calls[0].errors, 3);
}

/// One in a hundred by chance is what the model of the same link says, packet by packet.
#[test]
fn losses_by_chance_are_those_of_the_links_model() {
    let config = PathConfig { errors: Errors::Bernoulli { per_million: 100_000 }, ..quiet() };
    let count = 5_000;
    let mut path = Path::watched(config.clone(), &streams(5), DeliveredPackets::default()).unwrap();
    let arrivals: Vec<Instant> = (0..count).map(|number| Instant(number * 20 * MS)).collect();
    for flow in 0..2 {
        path.add_call(call(flow, Over::Udp, arrivals.clone())).unwrap();
    }
    path.run(Instant(200 * SECOND));
    for flow in 0..2_u32 {
        // The numbers of links are those of the documentation: 16 and 18 for the first two calls, there.
        let number = 16 + 2 * flow;
        let chance = streams(5).stream("link errors", number.into());
        let mut model = config.errors.model(guestright_transport::LinkNumber(number), chance).unwrap();
        let want: Vec<u32> = (0..u32::try_from(count).unwrap()).filter(|_| !model.loses()).collect();
        let got: Vec<u32> =
            path.watch().0.iter().filter(|packet| packet.flow == flow).map(|packet| packet.number).collect();
        assert_eq!(got, want, "{flow}");
    }
}

/// Speaking needs no event where the host's link takes everything; with a limit that is never met, it has one.
#[test]
fn folding_the_sources_link_changes_nothing() {
    let outcome = |buffer: Option<u32>| {
        let mut config = PathConfig::paper_c();
        config.access = Access { buffer, ..config.access };
        let mut path = mixed(config, Over::Udp, (90, 5), 3, DeliveredPackets::default());
        path.run(Instant(20 * SECOND));
        let mut report = path.report();
        report.events = 0;
        (report, path.into_watch())
    };
    assert_eq!(outcome(None), outcome(Some(1_000_000)));
}

#[test]
fn the_hosts_queue_can_have_a_limit() {
    let mut config = quiet();
    config.access.buffer = Some(3);
    let mut path = Path::new(config, &streams(1)).unwrap();
    path.add_call(call(0, Over::Udp, vec![Instant(MS); 5])).unwrap();
    path.run(Instant(SECOND));
    let call = path.report().calls[0];
    assert_eq!((call.made, call.delivered, call.dropped_access), (5, 3, 2));
}

/// Every packet that was made was heard, or thrown away, or is still to be heard; every packet that was sent has arrived,
/// or was lost, or is on its way.
fn nothing_is_made_or_lost_unseen<W: Watch>(path: &Path<AnyController, W>) {
    let report = path.report();
    let mut on_the_way = 0;
    for flow in report.calls.iter().chain(&report.transfers) {
        on_the_way += flow.on_the_way() + flow.back_sent - flow.back_arrived - flow.back_lost;
        assert!(flow.delivered + flow.thrown <= flow.made, "{flow:?}");
        assert!(flow.again <= flow.sent, "{flow:?}");
    }
    assert_eq!(path.packets_on_the_way(), on_the_way);
    let [first, _, second, _] = report.routers;
    let sum = |of: fn(&FlowReport) -> u64| report.calls.iter().chain(&report.transfers).map(of).sum::<u64>();
    assert_eq!(first.dropped, sum(|flow| flow.dropped_first));
    assert_eq!(second.dropped, sum(|flow| flow.dropped_second));
    let carried = |line: &LinkStats| line.delivered <= line.taken && line.taken - line.delivered <= 20_000;
    assert!(report.routers.iter().all(carried));
}

#[test]
fn nothing_is_lost_unseen() {
    let queues = [Discipline::DropTail, Discipline::FqCoDel(FqCoDelSettings::rfc8290())];
    for over in
        [Over::Udp, Over::NewReno { send_buffer: None }, Over::NewReno { send_buffer: Some(15) }, Over::Tfrc]
    {
        for discipline in queues {
            let mut config = PathConfig::paper_c();
            config.first.discipline = discipline;
            config.second.discipline = discipline;
            let mut path = mixed(config, over, (100, 3), 2, ());
            for at in [1, 777, 5_000, 12_345] {
                path.run(Instant(at * MS));
                nothing_is_made_or_lost_unseen(&path);
            }
            let report = path.report();
            assert!(report.routers[0].dropped > 0, "{over:?}");
            let thrown: u64 = report.calls.iter().map(|call| call.thrown).sum();
            assert_eq!(thrown > 0, over == Over::NewReno { send_buffer: Some(15) }, "{over:?}");
        }
    }
}

/// Once all is quiet, what a TCP was given was heard, thrown away, or neither sent nor heard yet; nothing is out of order.
#[test]
fn a_stream_is_in_order_and_whole() {
    for send_buffer in [None, Some(4)] {
        let mut path = mixed(
            PathConfig::paper_c(),
            Over::NewReno { send_buffer },
            (110, 0),
            4,
            DeliveredPackets::default(),
        );
        path.run(Instant(600 * SECOND));
        let report = path.report();
        for (flow, call) in (0..).zip(&report.calls) {
            assert_eq!(call.delivered + call.thrown, call.made, "{call:?}");
            let numbers =
                path.watch().0.iter().filter(|packet| packet.flow == flow).map(|packet| packet.number);
            assert!(numbers.is_sorted_by(|one, other| one < other));
        }
        assert_eq!(report.calls.iter().any(|call| call.thrown > 0), send_buffer.is_some());
    }
}

#[test]
fn the_same_seed_gives_the_same_run_however_it_is_cut() {
    let report = |seed: u64, cuts: &[u64]| -> Result<(PathReport, DeliveredPackets), SettingsError> {
        let over = Over::NewReno { send_buffer: Some(15) };
        let mut path = mixed(PathConfig::paper_c(), over, (90, 2), seed, DeliveredPackets::default());
        for cut in cuts {
            path.run(Instant(cut * MS));
        }
        Ok((path.report(), path.into_watch()))
    };
    let whole = report(1, &[9_000]);
    assert_eq!(report(1, &[3, 1_000, 1_001, 8_999, 9_000]), whole);
    assert_ne!(report(2, &[9_000]), whole);
}

#[test]
fn what_cannot_be_is_refused() {
    let new = |config: PathConfig| Path::<AnyController>::new(config, &streams(1)).map(drop);
    let mut config = quiet();
    config.access.rate = 0;
    assert_eq!(new(config), Err(SettingsError::Rate { link: 16 }));
    let mut config = quiet();
    config.second.rate = 0;
    assert_eq!(new(config), Err(SettingsError::Rate { link: 2 }));
    let mut config = quiet();
    config.first.buffer = 0;
    assert!(matches!(new(config), Err(SettingsError::Queue { link: 0, got: 0, .. })));
    let errors = Errors::Bernoulli { per_million: 1_000_001 };
    assert!(matches!(new(PathConfig { errors, ..quiet() }), Err(SettingsError::Loss { .. })));
}

/// After a minute to warm up, a minute of calls and file transfers allocates nothing.
#[test]
fn memory_is_steady() {
    for over in [Over::Udp, Over::NewReno { send_buffer: Some(15) }] {
        let mut path = mixed(PathConfig::paper_c(), over, (100, 10), 6, ());
        path.run(Instant(20 * SECOND));
        let info = allocation_counter::measure(|| path.run(Instant(55 * SECOND)));
        // A queue may still grow once to twice its size; 200,000 packets must not show.
        assert!(info.count_total <= 8, "{over:?}: {info:?}");
        assert!(path.hops() > 300_000, "{}", path.hops());
    }
}

/// A timer that is put off and brought forward again and again keeps one event, not one for each change.
#[test]
fn timers_of_other_ends_do_not_multiply() {
    let events = |seconds: u64| {
        let mut path = mixed(PathConfig::paper_c(), Over::Tfrc, (20, 0), 1, ());
        path.run(Instant(seconds * SECOND));
        (path.report().events, path.hops())
    };
    let (events, hops) = events(40);
    assert!(hops > 40_000 && events < 2 * hops, "{events} events, {hops} hops");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Whatever the links are, packets are conserved, and UDP's come in order.
    #[test]
    fn packets_are_conserved_on_any_path(
        rates in prop::array::uniform3(50_000_u64..20_000_000),
        delays in prop::array::uniform3(0_u64..60),
        buffers in prop::array::uniform2(1_u32..100),
        per_million in 0_u32..200_000,
        over in prop::sample::select(vec![
            Over::Udp, Over::NewReno { send_buffer: None }, Over::NewReno { send_buffer: Some(3) }, Over::Tfrc,
        ]),
        calls in 1_u32..40,
        bulk in 0_u32..3,
        seed in 0_u64..1_000,
    ) {
        let mut config = PathConfig::paper_c();
        (config.first.rate, config.second.rate, config.access.rate) = (rates[0], rates[1], rates[2]);
        config.first.delay = Nanos::from_millis(delays[0]);
        config.second.delay = Nanos::from_millis(delays[1]);
        config.access.delay = Nanos::from_millis(delays[2]);
        (config.first.buffer, config.second.buffer) = (buffers[0], buffers[1]);
        config.errors = Errors::Bernoulli { per_million };
        let mut path = mixed(config, over, (calls, bulk), seed, DeliveredPackets::default());
        path.run(Instant(4 * SECOND));
        nothing_is_made_or_lost_unseen(&path);
        let least = 2 * delays[2] + delays[0] + delays[1];
        for packet in &path.watch().0 {
            prop_assert!(packet.at.since(packet.made) >= Nanos::from_millis(least));
        }
        for flow in 0..calls {
            let numbers = path.watch().0.iter().filter(|packet| packet.flow == flow).map(|packet| packet.number);
            prop_assert!(numbers.is_sorted_by(|one, other| one < other));
        }
    }
}
