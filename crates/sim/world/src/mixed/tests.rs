use super::*;

fn run(settings: Settings, seed: u64) -> Outcome {
    let settings = settings.complete(MixedSettings::SETTINGS).unwrap();
    Mixed.check(&settings).unwrap();
    Mixed.run(&settings, Seed::from_number(seed)).unwrap()
}

fn metric(outcome: &Outcome, name: &str) -> f64 {
    outcome.metrics[name].expect(name)
}

fn alone() -> Settings {
    Settings::new().with("calls", 0).with("bulk.ack_every", 0).with("edca.be_txop_us", 0.0)
}

/// One download without acknowledgements: the sum of its times, reckoned in `sim/wlan`'s tests, 28 packets in 5,518.5 µs with n, 64 in
/// 1,118.5 with ac, 256 in 2,855.3 with ax.
#[test]
fn a_download_alone_has_what_the_sum_of_its_times_leaves() {
    let n = alone().with("radio.standard", "n");
    let ac = alone()
        .with("radio.width_mhz", "80")
        .with("radio.streams", 2)
        .with("radio.mcs", 9)
        .with("radio.guard_us", "0.4");
    let ax = alone()
        .with("radio.standard", "ax")
        .with("radio.width_mhz", "80")
        .with("radio.streams", 2)
        .with("radio.mcs", 11)
        .with("radio.block_ack_window", 256)
        .with("bulk.window", 1_000);
    for (settings, packets, micros) in [(n, 28.0, 5_518.5), (ac, 64.0, 1_118.5), (ax, 256.0, 2_855.3)] {
        let outcome = run(settings.with("duration_s", 5.0), 1);
        let want = packets * 1_500.0 * 8.0 / micros;
        assert!((metric(&outcome, "download_mbps") / want - 1.0).abs() < 0.01, "{want}: {outcome:?}");
        assert_eq!(metric(&outcome, "mpdus_per_frame").round(), packets);
    }
}

/// A window of 8 packets each 40 ms and a bit: 2.4 Mb/s, less the way over the air.
#[test]
fn a_window_bounds_what_a_download_has() {
    let settings = Settings::new().with("calls", 0).with("bulk.window", 8).with("bulk.ack_every", 2);
    let got = metric(&run(settings.with("duration_s", 5.0), 1), "download_mbps");
    let bound = 8.0 * 1_500.0 * 8.0 / 0.040 / 1e6;
    assert!(got < bound && got > bound * 0.9, "{got} of {bound}");
}

#[test]
fn calls_stand_beside_a_download_in_their_category_and_not_in_its_queue() {
    let beside = |category: &str| {
        let settings =
            Settings::new().with("calls", 5).with("radio.standard", "n").with("edca.calls", category);
        run(settings.with("duration_s", 5.0).with("bulk.window", 2_000), 1)
    };
    let (own, shared) = (beside("vo"), beside("be"));
    assert!(metric(&own, "g107_mos_worst") > 4.0, "{own:?}");
    assert!(metric(&shared, "g107_mos_worse_way") < 3.6, "{shared:?}");
    assert!(metric(&own, "call_delay_p99_ms") * 4.0 < metric(&shared, "call_delay_p99_ms"));
    assert_eq!(metric(&own, "g107_acceptable_calls"), 5.0);
    assert_eq!(metric(&own, "unfinished"), 0.0);
}

/// Stations on opposite sides do not hear each other; RTS makes that bearable.
#[test]
fn hidden_uploads_need_rts() {
    let uploads = |rts: i64| {
        let settings = alone().with("downloads", 0).with("uploads", 2).with("distance_m", 25.0);
        let settings = settings.with("air.carrier_sense_dbm", -75.0).with("radio.standard", "n");
        metric(&run(settings.with("radio.rts_threshold", rts).with("duration_s", 5.0), 1), "upload_mbps")
    };
    let (without, with) = (uploads(0), uploads(500));
    assert!(with > 40.0 && without < with / 4.0, "{without} and {with} Mb/s");
}

#[test]
fn a_run_is_what_its_settings_and_its_seed_make_it() {
    let settings =
        Settings::new().with("uploads", 1).with("duration_s", 1.0).with("radio.rate_choice", "minstrel");
    assert_eq!(run(settings.clone(), 7), run(settings.clone(), 7));
    assert_ne!(run(settings.clone(), 7), run(settings, 8));
    let got: Vec<_> = run(Settings::new().with("duration_s", 0.1), 1).metrics.into_keys().collect();
    let mut want: Vec<_> = METRICS.iter().map(|metric| metric.name).collect();
    want.sort_unstable();
    assert_eq!(got, want);
}

#[test]
fn what_cannot_be_is_refused_with_its_setting() {
    for (settings, name) in [
        (Settings::new().with("radio.standard", "n").with("radio.width_mhz", "80"), "radio.mcs"),
        (Settings::new().with("radio.mcs", 9), "radio.mcs"),
        (Settings::new().with("radio.block_ack_window", 256), "radio.block_ack_window"),
        (Settings::new().with("calls", 0).with("downloads", 0), "calls"),
        (Settings::new().with("downloads", 50), "bulk.window"),
        (Settings::new().with("bulk.window", 1), "bulk.ack_every"),
        (Settings::new().with("edca.vo_cw_max", 1), "edca.be_cw_min"),
    ] {
        let settings = settings.complete(MixedSettings::SETTINGS).unwrap();
        assert_eq!(Mixed.check(&settings).unwrap_err().setting(), name);
    }
}

/// A window as large as the queue finds it full again and again, since packets leave it only when they are acknowledged.
#[test]
fn a_sender_whose_queue_is_full_does_not_try_at_each_moment() {
    let settings = alone().with("radio.standard", "n").with("bulk.window", 4_096).with("duration_s", 1.0);
    let outcome = run(settings, 1);
    let packets = metric(&outcome, "download_mbps") * 1e6 / 12e3;
    assert!(metric(&outcome, "queue_drops") < 2.0 * packets, "{outcome:?}");
}
