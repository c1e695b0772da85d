use super::*;
use guestright_wlan::bound::{Exchange, PAPER_B};

fn complete(settings: Settings) -> Settings {
    let settings = settings.complete(StreamsSettings::SETTINGS).unwrap();
    Streams.check(&settings).unwrap();
    settings
}

fn run(settings: Settings, seed: u64) -> Outcome {
    Streams.run(&complete(settings), Seed::from_number(seed)).unwrap()
}

fn metric(outcome: &Outcome, name: &str) -> f64 {
    outcome.metrics[name].expect(name)
}

/// As the plans of paper B have it.
fn paper_b() -> Settings {
    Settings::new()
        .with("phases", "even")
        .with("radio.overhead_bytes", 36)
        .with("radio.ack_rate_mbps", 1.0)
        .with("radio.gap_us", 85.0)
        .with("radio.queue_max", 132)
}

fn tunnel() -> Settings {
    paper_b().with("tunnel", "esp")
}

/// One stream never waits: each packet takes the sum of the parts.
#[test]
fn a_packet_takes_what_its_parts_take() {
    #[rustfmt::skip]
    let cases = [
        // 86 bytes at 100 Mb/s 6.88, host 388, DIFS 50, 192 + ⌈96 · 8 / 11⌉ = 262, 86 bytes at 10 Mb/s 68.8, gateway 388,
        // back 6.88; µs.
        (paper_b(), 60, 6.88 + 388.0 + 50.0 + 262.0 + 68.8 + 388.0 + 6.88),
        // 226 bytes twice, 192 + ⌈236 · 8 / 11⌉ = 364.
        (paper_b(), 200, 18.08 + 388.0 + 50.0 + 364.0 + 180.8 + 388.0 + 18.08),
        // 112 in the tunnel: 192 + ⌈148 · 8 / 11⌉ = 300, 138 bytes; 8 + 7.84 for encryption, 4 + 3.92 for decryption.
        (tunnel(), 60, 6.88 + 388.0 + 15.84 + 50.0 + 300.0 + 110.4 + 388.0 + 7.92 + 6.88),
        // 104 as paper B computed it.
        (tunnel().with("esp.sizes", "as-computed"), 60,
            6.88 + 388.0 + 15.28 + 50.0 + 294.0 + 104.0 + 388.0 + 7.64 + 6.88),
    ];
    for (settings, packet, want_us) in cases {
        let outcome = run(settings.with("streams", 1).with("packet_bytes", packet), 1);
        let got = metric(&outcome, "latency_ms") * 1e3;
        assert!((got - want_us).abs() < 1e-3, "{packet}: {got}, not {want_us}");
        assert!((metric(&outcome, "latency_max_ms") * 1e3 - want_us).abs() < 1e-3);
        // All are late by the same, so nothing varies; a microsecond is what RTP's clock of the meter sees.
        assert!(metric(&outcome, "delay_variation_ms") < 1e-3);
        assert_eq!(metric(&outcome, "loss"), 0.0);
        assert_eq!(metric(&outcome, "queue_max"), 1.0);
    }
}

/// With the same constants, what a saturated station carries is what the formula says.
#[test]
fn the_simulated_capacity_is_that_of_the_formula() {
    #[rustfmt::skip]
    let cases = [
        // overhead, ACK rate, gap, what whole microseconds add on the air to data and ACK
        (28, 11.0, 0.0,  60, 9.0 / 11.0),
        (36, 1.0,  85.0, 60, 2.0 / 11.0),
        (36, 1.0,  0.0,  200, 4.0 / 11.0),
    ];
    for (overhead, ack_rate, gap, packet, rounding_us) in cases {
        let formula = Exchange { overhead_bytes: overhead, ack_rate_mbps: ack_rate, ..PAPER_B };
        let want = 1e6 / (formula.time_us(packet) + gap + rounding_us);
        let settings = Settings::new()
            .with("streams", 30)
            .with("packet_bytes", i64::from(packet))
            .with("length_s", 400.0)
            .with("radio.overhead_bytes", i64::from(overhead))
            .with("radio.ack_rate_mbps", ack_rate)
            .with("radio.gap_us", gap)
            .with("radio.queue_max", 132);
        let outcome = run(settings, 5);
        // What was in the queue at the end came after it.
        let got = metric(&outcome, "delivered_pps") - 132.0 / 400.0;
        assert!((got / want - 1.0).abs() < 1e-3, "{got}, not {want} packets/s");
    }
}

#[test]
fn every_packet_arrives_or_is_counted_as_lost() {
    let settings =
        paper_b().with("streams", 25).with("radio.bit_error_rate", 2e-4).with("radio.attempts_max", 3);
    let outcome = run(settings, 3);
    let (queue, retries) = (metric(&outcome, "queue_drops"), metric(&outcome, "retry_drops"));
    assert!(queue > 0.0 && retries > 0.0, "{outcome:?}");
    let sent = metric(&outcome, "sent_pps") * 10.0;
    let delivered = metric(&outcome, "delivered_pps") * 10.0;
    assert_eq!(outcome.packets, 25 * 500);
    assert!((sent - delivered - queue - retries).abs() < 1e-6, "{outcome:?}");
    assert!((metric(&outcome, "loss") - (queue + retries) / sent).abs() < 1e-12);
    assert!(metric(&outcome, "worst_loss") >= metric(&outcome, "loss"));
}

#[test]
fn a_full_queue_keeps_as_many_as_it_is_set_to() {
    let outcome = run(paper_b().with("streams", 30).with("radio.queue_max", 40), 1);
    assert_eq!(metric(&outcome, "queue_max"), 40.0);
    // Forty packets of 1,021 µs each, of which the first is already under way; and 1.17 ms on the way.
    let latency = metric(&outcome, "saturated_latency_ms");
    assert!((40.0..42.0).contains(&latency), "{latency}");
}

#[test]
fn even_streams_do_not_meet_and_random_ones_do() {
    let even = run(paper_b().with("streams", 10), 1);
    assert!(metric(&even, "latency_max_ms") - metric(&even, "latency_p50_ms") < 1e-3);
    let random = run(paper_b().with("streams", 10).with("phases", "random"), 1);
    assert!(metric(&random, "latency_ms") > metric(&even, "latency_ms") + 0.05);
    assert_eq!((metric(&even, "lossless"), metric(&random, "lossless")), (1.0, 1.0));
}

#[test]
fn a_run_is_what_its_settings_and_its_seed_make_it() {
    let settings = complete(paper_b().with("phases", "random").with("streams", 19));
    let run = |seed| Streams.run(&settings, Seed::from_number(seed)).unwrap();
    assert_eq!(run(4), run(4));
    assert_ne!(run(4).metrics["latency_ms"], run(5).metrics["latency_ms"]);
    let names: std::collections::BTreeSet<_> = measured::METRICS.iter().map(|metric| metric.name).collect();
    assert_eq!(run(4).metrics.into_keys().collect::<std::collections::BTreeSet<_>>(), names);
}

#[test]
fn beacons_take_their_part_of_the_air_and_do_not_keep_a_run_going() {
    let settings = paper_b().with("streams", 1).with("radio.beacon_ms", 102.4);
    let without = run(paper_b().with("streams", 1), 1);
    let with = run(settings, 1);
    assert!(metric(&with, "air_share") > metric(&without, "air_share"));
    assert_eq!(metric(&with, "loss"), 0.0);
}

#[test]
fn what_does_not_fit_is_refused_by_name() {
    #[rustfmt::skip]
    let cases = [
        (tunnel().with("packet_bytes", 1_500), "packet_bytes"),
        (paper_b().with("length_s", 3_600.0).with("streams", 200), "length_s"),
        (tunnel().with("esp.sizes", "as-computed").with("esp.mode", "l2tp"), "esp.sizes"),
        (paper_b().with("radio.rate_mbps", 12.0), "radio.rate_mbps"),
        (paper_b().with("warmup_s", 10.0), "warmup_s"),
        (paper_b().with("radio.rate_mbps", 10.0), "radio.rate_mbps"),
    ];
    for (settings, want) in cases {
        let settings = settings.complete(StreamsSettings::SETTINGS).unwrap();
        assert_eq!(Streams.check(&settings).unwrap_err().setting(), want, "{settings:?}");
    }
}
