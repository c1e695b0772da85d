use super::*;
use crate::{Buckets, CreditFigures, StoreFigures, TunnelBytes};
use guestright_units::{Micros, UnixSeconds};
use std::io::Write as _;
use std::process::{Command, Stdio};

/// A home that has something in each of its fields.
fn full_home() -> HomeFigures {
    let mut decided_in = Buckets::decisions();
    decided_in.observe(Micros(700));
    HomeFigures {
        version: "0.1.0",
        calls: Some([("up", 1)].into()),
        tunnelled: Some(TunnelBytes { received: 1, sent: 2 }),
        call_scores: Some(Buckets::scores()),
        decided_in: Some(decided_in),
        refused: [(RefusedBy::AllowanceUsedUp, 3)].into(),
        messages_refused: [("malformed", 2)].into(),
        store: Some(StoreFigures { receipts: 5, ..StoreFigures::default() }),
        credit: Some(CreditFigures { allowance_left: u64::MAX, ..CreditFigures::default() }),
        phone_not_after: Some(UnixSeconds(1_800_000_000)),
        member_not_after: Some(UnixSeconds(1_800_000_001)),
        ..HomeFigures::default()
    }
}

fn full_access_point() -> AccessPointFigures {
    AccessPointFigures {
        version: "0.1.0",
        setups: Some(Buckets::setups()),
        messages_refused: [("receipt", 1)].into(),
        mended: [("the nftables table", 2)].into(),
        dropped: [("household4".to_owned(), 9)].into(),
        tunnels_used: Some(7),
        ..AccessPointFigures::default()
    }
}

/// Names as they are queried, with type, label and help.
fn described(text: &str) -> BTreeMap<String, (String, String, String)> {
    let lines = || text.lines();
    let kinds: BTreeMap<_, _> =
        lines().filter_map(|line| line.strip_prefix("# TYPE ")?.split_once(' ')).collect();
    let helps: BTreeMap<_, _> =
        lines().filter_map(|line| line.strip_prefix("# HELP ")?.split_once(' ')).collect();
    let label = |name: &str| {
        let sample = lines().find(|line| line.strip_prefix(name).is_some_and(|rest| rest.starts_with('{')));
        let label = sample.and_then(|line| line.split_once('{')?.1.split_once('=')).map(|(label, _)| label);
        label.unwrap_or_default().to_owned()
    };
    let one = |(name, kind): (&&str, &&str)| {
        ((*name).to_owned(), ((*kind).to_owned(), label(name), helps[name].to_owned()))
    };
    kinds.iter().map(one).collect()
}

#[test]
fn the_documentation_lists_what_is_exported_and_nothing_else() {
    let documented =
        std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../docs/metrics.md"));
    let documented = documented.unwrap();
    let section = |title: &str| {
        let after = documented.split_once(&format!("\n## {title}\n")).unwrap().1;
        after.split("\n## ").next().unwrap().to_owned()
    };
    let programs = [
        ("Of a home", home(&full_home(), Format::Prometheus)),
        ("Of an access point", access_point(&full_access_point(), Format::Prometheus)),
    ];
    for (title, text) in programs {
        let rows: String = described(&text)
            .into_iter()
            .map(|(name, (kind, label, help))| {
                let label = if label.is_empty() { String::new() } else { format!("`{label}`") };
                format!("| `{name}` | {kind} | {label} | {help} |\n")
            })
            .collect();
        let listed: String = section(title)
            .lines()
            .filter(|line| line.starts_with("| `"))
            .fold(String::new(), |all, line| all + line + "\n");
        assert_eq!(listed, rows, "{title}: docs/metrics.md has to list this:\n{rows}");
    }
}

#[test]
fn prometheus_own_tool_finds_nothing_wrong() {
    if Command::new("promtool").arg("--version").output().is_err() {
        assert!(std::env::var_os("CI").is_none(), "promtool is not installed: sh scripts/setup.sh test");
        return;
    }
    for text in
        [home(&full_home(), Format::Prometheus), access_point(&full_access_point(), Format::Prometheus)]
    {
        let mut tool = Command::new("promtool");
        tool.args(["check", "metrics"]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut tool = tool.spawn().unwrap();
        tool.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
        let output = tool.wait_with_output().unwrap();
        let output_text = [output.stdout, output.stderr].concat();
        assert!(
            output.status.success() && output_text.is_empty(),
            "{}\n{text}",
            String::from_utf8_lossy(&output_text)
        );
    }
}

#[test]
fn a_name_has_its_unit_and_a_counter_says_that_it_is_one() {
    for text in
        [home(&full_home(), Format::Prometheus), access_point(&full_access_point(), Format::Prometheus)]
    {
        for (name, (kind, label, help)) in described(&text) {
            assert!(name.starts_with("guestright_") || name.starts_with("process_"), "{name}");
            assert_eq!(kind == "counter", name.ends_with("_total"), "{name} is a {kind}");
            assert!(help.ends_with('.') && !help.ends_with(".."), "{name}: {help}");
            let known = [
                "",
                "class",
                "direction",
                "end",
                "reason",
                "kind",
                "layer",
                "part",
                "verdict",
                "result",
                "what",
                "phase",
                "version",
                "le",
            ];
            assert!(
                known.contains(&label.as_str()),
                "{name} has the label {label}, and it may name somebody"
            );
        }
    }
}

#[test]
fn both_formats_say_the_same() {
    let figures = full_home();
    let (open, old) = (home(&figures, Format::OpenMetrics), home(&figures, Format::Prometheus));
    // A bound is written 1.0 in one and 1 in the other, and a histogram's sum stands before or after.
    let samples = |text: &str| {
        let lines =
            text.lines().filter(|line| !line.starts_with('#')).map(|line| line.replace(".0\"}", "\"}"));
        lines.collect::<std::collections::BTreeSet<_>>()
    };
    assert_eq!(samples(&open), samples(&old));
    assert!(open.ends_with("# EOF\n") && !old.contains("# EOF"));
    assert!(open.contains("# UNIT guestright_held_bytes bytes\n"), "{open}");
    assert!(old.contains(&format!("guestright_allowance_left_bytes {}\n", u64::MAX)), "{old}");
    assert!(old.contains("guestright_decision_duration_seconds_bucket{le=\"0.0005\"} 0\n"), "{old}");
    assert!(old.contains("guestright_decision_duration_seconds_bucket{le=\"0.001\"} 1\n"), "{old}");
    assert!(old.contains("guestright_decision_duration_seconds_bucket{le=\"+Inf\"} 1\n"), "{old}");
    assert!(old.contains("guestright_build_info{version=\"0.1.0\"} 1\n"), "{old}");
}

#[test]
fn every_reason_is_there_from_the_start_on() {
    let text = home(&HomeFigures::default(), Format::Prometheus);
    for by in RefusedBy::ALL {
        let sample = format!("guestright_refusals_total{{reason=\"{}\"}} 0\n", by.name());
        assert!(text.contains(&sample), "{sample} is not in:\n{text}");
    }
}

#[test]
fn open_metrics_are_for_whoever_asks_for_them() {
    #[rustfmt::skip]
    let cases = [
        ("application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1", Format::OpenMetrics),
        ("text/plain;version=0.0.4", Format::Prometheus),
        ("application/openmetrics-text;q=0, text/plain", Format::Prometheus),
        ("*/*", Format::Prometheus),
        ("", Format::Prometheus),
    ];
    for (accept, want) in cases {
        assert_eq!(Format::accepted(accept), want, "{accept}");
    }
}
