use super::measured::METRICS;
use super::*;
use guestright_experiment::Value;

fn settings(list: &[(&str, Value)]) -> Settings {
    let mut settings = Settings::new();
    for (name, value) in list {
        settings.set(name, value.clone());
    }
    settings.complete(Voice.settings()).unwrap()
}

fn run(list: &[(&str, Value)], seed: u64) -> Outcome {
    let settings = settings(list);
    Voice.check(&settings).unwrap();
    Voice.run(&settings, Seed::from_number(seed)).unwrap()
}

fn metric(outcome: &Outcome, name: &str) -> f64 {
    outcome.metrics[name].unwrap_or_else(|| panic!("{name} was not measured"))
}

type List = Vec<(&'static str, Value)>;

/// Every packet is accounted for.
fn lost(outcome: &Outcome) -> f64 {
    let reasons = [
        "lost_station_queue",
        "lost_ap_queue",
        "lost_retries",
        "lost_backlog",
        "lost_wire",
        "lost_closed",
        "unfinished",
    ];
    reasons.iter().map(|reason| metric(outcome, reason)).sum()
}

const L2TP: [(&str, &str); 3] =
    [("tunnel", "esp"), ("esp.suite", "aes-128-cbc+hmac-md5-96"), ("esp.mode", "l2tp")];

fn vpn() -> List {
    L2TP.iter().map(|(name, value)| (*name, Value::from(*value))).collect()
}

#[test]
fn every_metric_is_in_the_row_and_no_other() {
    let outcome = run(&[("calls", 2.into()), ("duration_s", 1.0.into())], 1);
    let mut names: Vec<_> = METRICS.iter().map(|metric| metric.name).collect();
    names.sort_unstable();
    assert_eq!(outcome.metrics.keys().copied().collect::<Vec<_>>(), names);
    let only_of_the_protocol = ["receipts_signed", "sessions_opened"];
    for name in names {
        let measured = outcome.metrics[name].is_some();
        let wanted = !name.starts_with("sessions_")
            && !only_of_the_protocol.contains(&name)
            && !["receipts_kept", "messages_lost", "verify_ms"].contains(&name);
        assert_eq!(measured, wanted, "{name}");
    }
}

#[test]
fn the_same_seed_gives_the_same_row_and_another_seed_another() {
    let list = [("calls", 6.into()), ("duration_s", 5.0.into()), ("receipts.suite", "ecdsa-160".into())];
    assert_eq!(run(&list, 3), run(&list, 3));
    assert_ne!(run(&list, 3), run(&list, 4));
}

/// One call whose two streams never meet: what a packet takes is a sum.
#[test]
fn the_delay_of_a_call_alone_is_the_sum_of_its_parts() {
    // On the radio: DIFS 50 µs, preamble and header 192, (60 + 28) · 8 / 11 = 64 µs: 306 µs. In each access point 100 µs.
    // On the wire (60 + 38) · 8 / 100 = 7.84 µs and 0 delay. Counters have run down by then, and on channels of their own
    // the second access point does not hear the first one's acknowledgement.
    let list: [(&str, Value); 4] = [
        ("calls", 1.into()),
        ("duration_s", 2.0.into()),
        ("phases", "even".into()),
        ("cells", "two-channels".into()),
    ];
    let outcome = run(&list, 1);
    let want = 2.0 * 0.306 + 2.0 * 0.1 + 0.007_84;
    for name in ["delay_ms", "delay_max_ms"] {
        assert!((metric(&outcome, name) - want).abs() < 1e-9, "{name} {} {want}", metric(&outcome, name));
    }
    assert_eq!((metric(&outcome, "sent"), metric(&outcome, "delivered")), (200.0, 200.0));
    // With the tunnel of paper A: (152 + 28) · 8 / 11 = 131 µs, 1.8 ms in each access point.
    let outcome = run(&[&list[..], &vpn()].concat(), 1);
    let want = 2.0 * (0.05 + 0.192 + 0.131) + 2.0 * 1.8 + 0.007_84;
    assert!((metric(&outcome, "delay_max_ms") - want).abs() < 1e-9, "{}", metric(&outcome, "delay_max_ms"));
    // Behind the access point it costs longer packets on the wire, and only forwarding.
    let behind = [&list[..], &vpn(), &[("tunnel.end", "home".into())]].concat();
    let nat = 0.091 + 152.0 * 0.000_15;
    let want = 2.0 * (0.05 + 0.192 + 0.131) + 2.0 * nat + (152.0 + 38.0) * 8e-5;
    assert!((metric(&run(&behind, 1), "delay_max_ms") - want).abs() < 1e-9);
    // Without a processor and with a wired host at one end.
    let bare = [&list[..3], &[("cpu.profile", "none".into()), ("cells", "wired".into())]].concat();
    assert!((metric(&run(&bare, 1), "delay_max_ms") - (0.306 + 0.007_84)).abs() < 1e-9);
}

#[test]
fn a_good_call_has_the_score_of_the_formula() {
    let outcome = run(&[("calls", 1.into()), ("duration_s", 5.0.into()), ("phases", "even".into())], 1);
    let inputs = guestright_quality::ReducedInputs {
        network_delay_ms: metric(&outcome, "delay_ms"),
        network_loss: 0.0,
        dejitter_loss: 0.0,
    };
    let want = guestright_quality::rate_reduced(inputs).unwrap();
    assert!((metric(&outcome, "mos_mean") - want.mos).abs() < 1e-9);
    assert!((metric(&outcome, "r_mean") - want.r).abs() < 1e-9);
    assert_eq!(metric(&outcome, "g107_acceptable_calls"), 1.0);
}

#[test]
fn what_is_sent_arrives_or_is_lost_for_a_reason() {
    let vpn = vpn();
    #[rustfmt::skip]
    let cases: [(&str, List, &str); 6] = [
        ("plain, too many calls", vec![("calls", 12.into())], "lost_ap_queue"),
        ("the laptop's queue is short", vec![("calls", 12.into()), ("radio.queue_max", 2.into())], "lost_station_queue"),
        ("the processor is too slow", [&[("calls", 8.into())][..], &vpn].concat(), "lost_backlog"),
        ("frames are lost", vec![("calls", 2.into()), ("radio.frame_loss", 0.3.into()), ("radio.attempts_max", 2.into())], "lost_retries"),
        ("bits are wrong", vec![("calls", 2.into()), ("radio.bit_error_rate", 1e-3.into()), ("radio.attempts_max", 2.into())], "lost_retries"),
        ("the wire is thin", vec![("calls", 4.into()), ("wire.rate_mbps", 0.05.into()), ("wire.queue_max", 5.into())], "lost_wire"),
    ];
    for (name, mut list, reason) in cases {
        list.push(("duration_s", 10.0.into()));
        let outcome = run(&list, 1);
        assert!(metric(&outcome, reason) > 0.0, "{name}: {reason} {outcome:?}");
        assert_eq!(metric(&outcome, "sent"), metric(&outcome, "delivered") + lost(&outcome), "{name}");
        assert!((metric(&outcome, "network_loss") - lost(&outcome) / metric(&outcome, "sent")).abs() < 1e-12);
    }
}

#[test]
fn one_call_more_than_the_channel_carries_ends_them_all() {
    let at =
        |calls: i64| metric(&run(&[("calls", calls.into()), ("duration_s", 30.0.into())], 5), "mos_mean");
    assert!(at(7) > 4.0);
    assert!(at(8) < 2.5);
}

#[test]
fn verifications_keep_packets_waiting_unless_they_cannot() {
    let at = |policy: &str| {
        let list = [
            ("calls", 5.into()),
            ("duration_s", 30.0.into()),
            ("receipts.suite", "ecdsa-160".into()),
            ("cpu.policy", policy.into()),
        ];
        let outcome = run(&list, 2);
        assert!((metric(&outcome, "verify_ms") - 114.7).abs() < 1e-6, "{policy}");
        // Five sessions at two access points, a receipt every 5 s for 30 s.
        assert_eq!(metric(&outcome, "receipts_verified"), 60.0);
        // At each access point thirty of them in 30 s, less what is left of the last at the end; 500 packets a second.
        let (here, elsewhere) = (metric(&outcome, "cpu_verifying"), metric(&outcome, "cpu_elsewhere"));
        let (mine, other) = if policy == "other-core" { (elsewhere, here) } else { (here, elsewhere) };
        assert!((0.1147 - 0.03..=0.1147 + 1e-9).contains(&mine), "{policy} {mine}");
        assert_eq!(other, 0.0);
        assert!((metric(&outcome, "cpu_load") - here - 0.05).abs() < 1e-3, "{policy} {outcome:?}");
        metric(&outcome, "delay_max_ms")
    };
    assert!(at("other-core") < 20.0 && at("preemptible") < 20.0);
    assert!(at("run-to-completion") > 100.0);
    assert!((50.0..140.0).contains(&at("quantum")));
}

fn protocol(calls: i64, interval_s: f64) -> List {
    vec![
        ("calls", calls.into()),
        ("duration_s", 20.0.into()),
        ("warmup_s", 6.0.into()),
        ("receipts.mode", "protocol".into()),
        ("receipts.suite", "ed25519".into()),
        ("receipts.interval_s", interval_s.into()),
    ]
}

#[test]
fn who_pays_is_served_by_both_access_points() {
    let outcome = run(&protocol(3, 5.0), 1);
    assert_eq!((metric(&outcome, "sessions_opened"), metric(&outcome, "sessions_closed")), (6.0, 0.0));
    assert_eq!((metric(&outcome, "sessions_broken"), metric(&outcome, "lost_closed")), (0.0, 0.0));
    assert!(metric(&outcome, "mos_mean") > 4.0);
    // One over nothing and one every 5 s after, in six sessions.
    assert!((24.0..=48.0).contains(&metric(&outcome, "receipts_signed")), "{outcome:?}");
    // Those over nothing are not kept, nor those that ask for no more than was signed: the last ones, after the calls.
    let not_kept = metric(&outcome, "receipts_signed") - metric(&outcome, "receipts_kept");
    assert!((6.0..=12.0).contains(&not_kept), "{outcome:?}");
}

/// However much there is to verify, before the calls and after them too: nothing works for longer than it can, and the
/// terms, whose signing takes 300 ms, do not make a verification longer.
#[test]
fn loads_are_shares_of_the_time_of_the_calls() {
    for policy in ["quantum", "preemptible", "run-to-completion", "other-core"] {
        let more = [("cpu.policy", policy.into()), ("duration_s", 5.0.into())];
        for (suite, verify_ms) in [("rsa-1024", 12.3), ("p256", 12.3 * 151.0 / 8.1)] {
            let list = [&protocol(8, 0.5)[..], &more, &[("receipts.suite", suite.into())]].concat();
            let outcome = run(&list, 1);
            for name in ["cpu_load", "cpu_verifying", "cpu_elsewhere", "radio_load"] {
                let load = metric(&outcome, name);
                assert!((0.0..=1.0).contains(&load), "{policy} {suite} {name} {load}");
            }
            assert!((metric(&outcome, "verify_ms") - verify_ms).abs() < 1e-3, "{policy} {suite} {outcome:?}");
        }
    }
}

/// Six receipts every 0.6 s, 115 ms each, are more than the processor does: they are verified too late, sessions close.
#[test]
fn who_cannot_be_verified_in_time_is_closed_and_its_packets_are_dropped() {
    let list = [&protocol(6, 0.6)[..], &[("receipts.suite", "ecdsa-160".into())]].concat();
    let outcome = run(&list, 1);
    assert!(metric(&outcome, "sessions_unpaid") > 0.0, "{outcome:?}");
    assert!(metric(&outcome, "sessions_broken") >= metric(&outcome, "sessions_unpaid"));
    assert!(metric(&outcome, "lost_closed") > 100.0);
    assert_eq!(metric(&outcome, "sent"), metric(&outcome, "delivered") + lost(&outcome));
    assert!(metric(&outcome, "mos_worst") < 2.0);
    assert_eq!(run(&list, 1), outcome);
}

#[test]
fn settings_that_do_not_fit_are_named() {
    #[rustfmt::skip]
    let cases: [(&[(&str, Value)], &str); 13] = [
        (&[("codec.interval_ms", 15.0.into())], "codec.interval_ms"),
        (&[("codec", "g711u".into()), ("codec.interval_ms", 180.0.into())], "codec.interval_ms"),
        (&[("receipts.mode", "protocol".into())], "receipts.suite"),
        (&[("radio.rate_mbps", 7.0.into())], "radio.rate_mbps"),
        (&[("radio.rate_mbps", 54.0.into())], "radio.rate_mbps"),
        // Acknowledgements at 11 Mb/s and with a long preamble would take half of the capacity.
        (&[("radio.standard", "g".into()), ("radio.rate_mbps", 54.0.into())], "radio.ack_rate_mbps"),
        (&[("radio.fragmentation_threshold", 100.into())], "radio.fragmentation_threshold"),
        (&[("radio.beacon_ms", 0.5.into())], "radio.beacon_ms"),
        (&[("radio.sense_us", 20.0.into())], "radio.sense_us"),
        (&[("radio.cw_min", 63.into()), ("radio.cw_max", 31.into())], "radio.cw_min"),
        (&[("radio.slot_us", 1_000.0.into()), ("radio.sense_us", 1_000.0.into())], "radio.sense_us"),
        (&[("radio.protection_mbps", 2.0.into())], "radio.protection_mbps"),
        (&[("radio.standard", "g-beside-b".into()), ("radio.rate_mbps", 54.0.into()), ("radio.ack_rate_mbps", 0.into()), ("radio.protection_mbps", 6.0.into())], "radio.protection_mbps"),
    ];
    for (list, want) in cases {
        assert_eq!(Voice.check(&settings(list)).unwrap_err().setting(), want);
    }
    let known = |name: &str| Voice.settings().iter().filter(|info| info.name == name).count();
    for info in Voice.settings() {
        assert_eq!(known(info.name), 1, "{} is there twice", info.name);
    }
}
