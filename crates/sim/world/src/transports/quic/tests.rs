use crate::transports::Transports;
use crate::transports::settings::{QUIC_CONGESTION, TransportsSettings};
use guestright_experiment::{Outcome, Settings, Testbed as _};
use guestright_units::Seed;

fn run(settings: Settings, seed: u64) -> Outcome {
    let settings = settings.complete(TransportsSettings::SETTINGS).unwrap();
    Transports.check(&settings).unwrap();
    Transports.run(&settings, Seed::from_number(seed)).unwrap()
}

fn metric(outcome: &Outcome, name: &str) -> f64 {
    outcome.metrics[name].unwrap_or_else(|| panic!("{name} was measured"))
}

fn quic(transport: &str) -> Settings {
    Settings::new().with("transport", transport).with("duration_s", 10)
}

#[test]
fn streams_bring_everything_and_datagrams_what_the_network_brings() {
    let none = |transport| run(quic(transport).with("errors.model", "none"), 1);
    for transport in ["quic-datagram", "quic-stream"] {
        let outcome = none(transport);
        // The last packets are on their way when the run ends.
        assert!(metric(&outcome, "goodput_share") > 0.98, "{transport}");
        assert!(metric(&outcome, "index_deadline") > 0.98, "{transport}");
    }
    let lossy = |transport| run(quic(transport).with("errors.per", 0.05), 1);
    let (datagrams, streams) = (lossy("quic-datagram"), lossy("quic-stream"));
    assert!((0.93..0.97).contains(&metric(&datagrams, "goodput_share")));
    assert!(metric(&streams, "goodput_share") > 0.98);
    // What is sent again comes late.
    assert!(metric(&streams, "delay_p95_ms") > metric(&datagrams, "delay_p95_ms") + 30.0);
    let each = run(quic("quic-stream").with("errors.per", 0.05).with("quic.stream_each", true), 1);
    assert!(metric(&each, "goodput_share") > 0.98);
    assert!(metric(&each, "delay_p50_ms") <= metric(&streams, "delay_p50_ms"));
}

#[test]
fn the_same_seed_gives_the_same_row_and_another_one_another() {
    for transport in ["quic-datagram", "quic-stream"] {
        let row = |seed| format!("{:?}", run(quic(transport).with("flows", 90).with("duration_s", 3), seed));
        assert_eq!(row(7), row(7), "{transport}");
        assert_ne!(row(7), row(8), "{transport}");
    }
}

#[test]
fn every_congestion_control_runs_in_both_profiles() {
    for (congestion, _) in QUIC_CONGESTION {
        for profile in ["ns2-2006", "corrected"] {
            let settings = quic("quic-stream").with("quic.congestion", congestion).with("profile", profile);
            let outcome = run(settings.with("duration_s", 5), 1);
            assert!(metric(&outcome, "goodput_share") > 0.9, "{congestion} {profile}");
        }
    }
}

#[test]
fn marks_are_heeded() {
    let settings = quic("quic-datagram").with("queue", "red").with("ecn", true).with("flows", 120);
    let marked = run(settings.clone(), 1);
    let dropped = run(settings.with("ecn", false), 1);
    // A mark takes the place of a drop.
    assert!(metric(&marked, "first_drops") < metric(&dropped, "first_drops"));
}
