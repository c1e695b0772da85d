use super::settings::{INDICES, PROFILES, QUEUES, TRANSPORTS};
use super::*;
use guestright_congestion::RealReadings;
use guestright_experiment::{Plan, Value};

fn run(settings: Settings, seed: u64) -> Outcome {
    let settings = settings.complete(Transports.settings()).unwrap();
    Transports.check(&settings).unwrap();
    Transports.run(&settings, Seed::from_number(seed)).unwrap()
}

fn metric(outcome: &Outcome, name: &str) -> f64 {
    let value = outcome.metrics.get(name).unwrap_or_else(|| panic!("{name} is a metric"));
    value.unwrap_or_else(|| panic!("{name} was measured"))
}

/// What this simulator carries.
fn carried() -> impl Iterator<Item = &'static str> {
    TRANSPORTS.into_iter().map(|(word, _)| word).filter(|transport| !transport.starts_with("quic"))
}

#[test]
fn every_transport_runs_in_every_profile() {
    for (profile, _) in PROFILES {
        for transport in carried() {
            let settings = Settings::new()
                .with("profile", profile)
                .with("transport", transport)
                .with("duration_s", 10)
                .with("second.ratio", 2)
                .with("bulk.flows", 2)
                .with("bulk.window", 8);
            let outcome = run(settings, 1);
            let names: Vec<&str> = outcome.metrics.keys().copied().collect();
            let mut want: Vec<&str> = METRICS.iter().map(|metric| metric.name).collect();
            want.sort_unstable();
            assert_eq!(names, want, "{profile} {transport}");
            // There is room for everybody.
            let share = metric(&outcome, "goodput_share");
            assert!((0.95..=1.0).contains(&share), "{profile} {transport}: {share}");
            assert!(metric(&outcome, "bulk_goodput_kbps") > 100.0, "{profile} {transport}");
            for name in ["index_raw", "index_gap", "index_deadline", "index_sent", "jain", "jain_share"] {
                assert!((0.5..=1.0).contains(&metric(&outcome, name)), "{profile} {transport} {name}");
            }
        }
    }
}

#[test]
fn the_same_seed_gives_the_same_row_and_another_one_another() {
    for transport in ["udp", "vegas", "real", "tfrc"] {
        let row = |seed| {
            let settings =
                Settings::new().with("transport", transport).with("flows", 90).with("duration_s", 5);
            format!("{:?}", run(settings, seed))
        };
        assert_eq!(row(7), row(7), "{transport}");
        assert_ne!(row(7), row(8), "{transport}");
    }
}

/// Common random numbers.
#[test]
fn what_is_spoken_is_the_same_for_every_transport() {
    let offered = |transport: &str| {
        metric(&run(Settings::new().with("transport", transport).with("duration_s", 5), 3), "offered_kbps")
    };
    let udp = offered("udp");
    assert!(udp > 100.0);
    for transport in carried() {
        assert_eq!(offered(transport).to_bits(), udp.to_bits(), "{transport}");
    }
}

/// One call without silence and without errors: 50 packets a second, all of them heard 31.92 ms after they are made.
#[test]
fn a_call_alone_has_the_figures_of_the_path() {
    let settings = Settings::new()
        .with("flows", 1)
        .with("source.kind", "constant")
        .with("start.spread_s", 0)
        .with("errors.model", "none")
        .with("duration_s", 10);
    let outcome = run(settings, 1);
    // 200 bytes: 0.16 ms twice at 10 Mbit/s, 0.8 ms twice at 2 Mbit/s; 5 + 10 + 10 + 5 ms of propagation.
    let delay = metric(&outcome, "delay_p50_ms");
    assert!((delay - 31.92).abs() < 31.92 * 0.008, "{delay}");
    assert_eq!(metric(&outcome, "offered_kbps"), 64.0);
    // Packets are made at 0, 20, ... 9980 ms; the last but one is there at 9991.92, the last never before 10 s.
    assert_eq!(metric(&outcome, "goodput_kbps"), 64.0 * 499.0 / 500.0);
    for name in ["index", "index_raw", "index_sent", "index_gap", "index_deadline", "index_network"] {
        assert_eq!(metric(&outcome, name), 0.998, "{name}");
    }
    for name in ["loss_rate", "delayed_rate", "first_drops", "second_drops", "retransmitted_rate"] {
        assert_eq!(metric(&outcome, name), 0.0, "{name}");
    }
    // 0.8 ms of 20.
    let utilisation = metric(&outcome, "first_utilisation");
    assert!((utilisation - 0.04).abs() < 1e-4, "{utilisation}");
    // R 93.2 less what 55 ms from mouth to ear and two packets in a thousand cost.
    let r = metric(&outcome, "r_mean");
    assert!((90.0..93.2).contains(&r), "{r}");
    assert_eq!(outcome.metrics["model_kbps"], None);
}

/// With silences of two seconds every burst's first packet is late by the paper's words, and by no others.
#[test]
fn silences_count_by_the_papers_words_only() {
    let settings = Settings::new()
        .with("flows", 40)
        .with("source.kind", "pareto")
        .with("source.off_s", 2)
        .with("source.shape", 10)
        .with("errors.model", "none")
        .with("first.rate_mbps", 10);
    let outcome = run(settings, 1);
    // With shape 10, bursts are some 50 packets long and no silence is shorter than 1.8 s.
    let raw = metric(&outcome, "index_raw");
    assert!((0.975..0.985).contains(&raw), "{raw}");
    assert!(metric(&outcome, "index_gap") > 0.999);
    assert!(metric(&outcome, "index_deadline") > 0.999);
    assert!((metric(&outcome, "delayed_rate") - (1.0 - raw)).abs() < 0.002);
}

#[test]
fn the_profile_chooses_the_index_unless_it_is_named() {
    let chosen = |profile: &str, index: &str| {
        let settings = Settings::new()
            .with("profile", profile)
            .with("index", index)
            .with("flows", 100)
            .with("transport", "newreno")
            .with("duration_s", 10);
        let outcome = run(settings, 1);
        let equal = |name: &str| metric(&outcome, "index").to_bits() == metric(&outcome, name).to_bits();
        INDICES
            .into_iter()
            .skip(1)
            .map(|(word, _)| word)
            .filter(|name| equal(&format!("index_{name}")))
            .collect::<Vec<_>>()
    };
    assert_eq!(chosen("ns2-2006", "profile"), ["sent"]);
    assert_eq!(chosen("corrected", "profile"), ["deadline"]);
    for (index, _) in INDICES.into_iter().skip(1) {
        assert_eq!(chosen("corrected", index), [index]);
    }
}

/// Each switch by itself changes what is sent, where it has something to change.
#[test]
fn every_switch_does_something() {
    for (switch, transport) in [
        ("switch.headers", "udp"),
        ("switch.headers", "vegas"),
        ("switch.syn", "newreno"),
        ("switch.idle_timer", "newreno"),
        ("switch.senders", "newreno"),
        ("switch.senders", "westwood"),
        ("switch.westwood_divisor", "westwood"),
        ("switch.tick", "newreno"),
        ("switch.vegas_unsent", "vegas"),
        ("switch.send_buffer", "newreno"),
    ] {
        let outcome = |value: &str| {
            let settings = Settings::new()
                .with("profile", "ns2-2006")
                .with("transport", transport)
                .with("flows", 100)
                .with("duration_s", 20)
                .with(switch, value);
            run(settings, 1)
        };
        assert_eq!(outcome("on"), outcome("profile"), "{switch}");
        assert_ne!(outcome("on"), outcome("off"), "{switch}");
    }
}

/// Each reading of Real by itself changes what is sent, and so do all.
#[test]
fn every_reading_of_real_does_something() {
    let outcome = |reading: &str| {
        let settings = Settings::new()
            .with("profile", "ns2-2006")
            .with("transport", "real")
            .with("real.reading", reading)
            .with("flows", 100)
            .with("duration_s", 20);
        run(settings, 1)
    };
    let ours = outcome("ours");
    for (reading, _) in RealReadings::NAMED.into_iter().skip(1) {
        assert_ne!(ours, outcome(reading), "{reading}");
    }
}

/// Without a limit packets wait for seconds and are all sent; with 15 none waits for long.
#[test]
fn a_bounded_send_buffer_trades_delay_for_loss() {
    let outcome = |switch: &str| {
        let settings = Settings::new()
            .with("transport", "newreno")
            .with("flows", 120)
            .with("switch.send_buffer", switch);
        run(settings, 1)
    };
    let (unbounded, bounded) = (outcome("on"), outcome("off"));
    let late = |outcome: &Outcome| metric(outcome, "delay_p95_ms");
    assert!(late(&unbounded) > 3_000.0, "{}", late(&unbounded));
    assert!(late(&bounded) < 2_500.0, "{}", late(&bounded));
    assert!(metric(&bounded, "index_deadline") > metric(&unbounded, "index_deadline"));
}

#[test]
fn what_does_not_fit_is_refused_by_name() {
    let refused = |settings: Settings| {
        let settings = settings.complete(Transports.settings()).unwrap();
        Transports.check(&settings).unwrap_err().setting().to_owned()
    };
    assert_eq!(refused(Settings::new().with("ecn", true)), "ecn");
    assert_eq!(refused(Settings::new().with("vegas.alpha", 4)), "vegas.alpha");
    let gilbert =
        Settings::new().with("errors.model", "gilbert").with("errors.per", 0.5).with("errors.burst", 1.0);
    assert!(Transports.check(&gilbert.complete(Transports.settings()).unwrap()).is_ok());
    let long = Settings::new().with("flows", 10_000).with("duration_s", 3_600);
    assert_eq!(refused(long.with("source.rate_kbps", 10_000)), "duration_s");
}

#[test]
fn every_queue_runs_with_and_without_marks() {
    for (queue, _) in QUEUES {
        for ecn in [false, true] {
            if ecn && queue == "droptail" {
                continue;
            }
            let settings = Settings::new()
                .with("queue", queue)
                .with("ecn", ecn)
                .with("transport", "newreno")
                .with("flows", 100)
                .with("duration_s", 10);
            let share = metric(&run(settings, 1), "goodput_share");
            assert!((0.4..=1.0).contains(&share), "{queue} {ecn}: {share}");
        }
    }
}

#[test]
fn settings_have_a_unit_and_a_sentence_each_and_no_name_twice() {
    let mut names = std::collections::BTreeSet::new();
    for info in Transports.settings() {
        assert!(names.insert(info.name), "{} is there twice", info.name);
        assert!(info.about.ends_with('.'), "{}", info.name);
        info.accept(&info.default()).unwrap();
    }
    names.clear();
    for info in Transports.metrics() {
        assert!(names.insert(info.name), "{} is there twice", info.name);
        assert!(info.about.ends_with('.'), "{}", info.name);
    }
    assert_eq!(
        Settings::new().complete(Transports.settings()).unwrap().get("flows"),
        Some(&Value::Integer(20))
    );
}

/// Settings of a plan with a file.
fn with_file(settings: &str, workload: &str) -> Result<Settings, String> {
    let head = "name = \"x\"\ntitle = \"x\"\nquestion = \"x?\"\ntestbed = \"transports\"\nseeds = 1\n";
    let text = format!("{head}[settings]\nsource.file = \"speech.txt\"\n{settings}");
    let text = guestright_experiment::with_files(&text, &[("speech.txt".to_owned(), workload.to_owned())]);
    let plan = Plan::parse(&text, &[&Transports]).map_err(|error| error.to_string())?;
    Ok(Settings::clone(&plan.runs()[0].settings))
}

#[test]
fn arrivals_from_a_file_are_those_that_were_drawn() {
    for transport in ["udp", "newreno", "vegas"] {
        let words = Settings::new().with("transport", transport).with("flows", 30).with("duration_s", 8);
        let drawn = words.complete(Transports.settings()).unwrap();
        let seed = Seed::from_number(5);
        let times = Setup::new(&drawn).unwrap().arrivals(&Streams::new(seed.clone())).unwrap();
        let file = guestright_transport::Workload::of_flows(&times).unwrap().emit();
        let words = format!("transport = \"{transport}\"\nflows = 30\nduration_s = 8\n");
        let named = with_file(&words, &file).unwrap();
        assert_eq!(Transports.run(&named, seed.clone()), Transports.run(&drawn, seed), "{transport}");
    }
}

#[test]
fn a_file_that_does_not_fit_is_refused_with_its_name_and_line() {
    for (settings, file, want) in [
        ("", "0 0.5\n1 x\n", "speech.txt: line 2: the time is \"x\""),
        ("", "# nothing\n", "speech.txt has no packet"),
        ("flows = 2\n", "0 1\n7 1\n", "speech.txt has a call 7, and `flows` is 2; make that 8 or more"),
        ("", "0 2\n0 1\n", "speech.txt: line 2: flow 0 speaks before its line above"),
    ] {
        let error = with_file(settings, file).unwrap_err();
        assert!(error.contains(want), "{error}");
    }
    let alone = Settings::new().with("source.file", "gone.txt").complete(Transports.settings()).unwrap();
    let error = Transports.check(&alone).unwrap_err();
    assert!(error.setting() == "source.file" && error.to_string().contains("gone.txt"), "{error}");
}

/// A packet every 20 ms of one call from one second to another.
fn periodic(call: u32, from_s: u64, to_s: u64) -> String {
    let times = (from_s * 50..to_s * 50).map(|number| number * 20);
    times.map(|ms| format!("{call} {}.{:03}\n", ms / 1_000, ms % 1_000)).collect()
}

/// 60 calls in the first four seconds are more than 2 Mb/s; afterwards one is alone.
#[test]
fn what_happens_in_the_warm_up_is_not_measured() {
    let mut crowd = String::new();
    for call in 1..60 {
        crowd.push_str(&periodic(call, 0, 4));
    }
    crowd.push_str(&periodic(0, 6, 11)); // All of it arrives by the end.
    let row = |warmup: u32, transport: &str| {
        let words = format!(
            "flows = 60\nduration_s = 12\nwarmup_s = {warmup}\nerrors.per = 0\ntransport = \"{transport}\"\n"
        );
        let settings = with_file(&words, &crowd).unwrap();
        Transports.run(&settings, Seed::from_number(1)).unwrap()
    };
    for transport in ["udp", "newreno"] {
        let (all, late) = (row(0, transport), row(6, transport));
        assert!(metric(&all, "first_drops") > 100.0, "{all:?}");
        // TCP goes on sending what the crowd had spoken.
        let quiet: &[&str] = if transport == "udp" { &["loss_rate", "retransmitted_rate"] } else { &[] };
        for name in ["first_drops", "undelivered_rate"].iter().chain(quiet) {
            assert_eq!(metric(&late, name), 0.0, "{transport} {name}");
        }
        // 160 bytes every 20 ms, for five of six seconds.
        for name in ["offered_kbps", "goodput_kbps"] {
            assert!((metric(&late, name) - 64.0 * 5.0 / 6.0).abs() < 1e-9, "{late:?}");
        }
    }
    let too_long = with_file("duration_s = 2\nwarmup_s = 2\n", "0 1\n").unwrap_err();
    assert!(too_long.contains("`warmup_s` does not fit"), "{too_long}");
}

#[test]
fn real_sockets_have_neither_a_warm_up_nor_a_file() {
    let warm = Settings::new().with("warmup_s", 1).complete(Transports.settings()).unwrap();
    assert_eq!(Setup::new(&warm).unwrap_err().setting(), "warmup_s");
    assert_eq!(Setup::new(&with_file("", "0 1\n").unwrap()).unwrap_err().setting(), "source.file");
}
