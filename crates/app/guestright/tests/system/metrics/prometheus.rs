//! Debian's Prometheus, on the household's router.

use super::{packaging, read};
use crate::page::ask;
use crate::town::{Program, Town, until};
use serde_json::Value;
use std::collections::BTreeSet;
use std::fmt::Write as _;

const ADDRESS: &str = "127.0.0.1:9090";

/// A Prometheus that fetches once a second, with our alerts, which wait no longer than that.
#[derive(Debug)]
pub(super) struct Prometheus<'a> {
    town: &'a Town,
    program: Program,
}

/// All that a board asks for.
pub(super) fn queries(board: &str) -> Vec<String> {
    let board: Value = serde_json::from_str(board).unwrap();
    let targets = board["panels"].as_array().unwrap().iter().filter_map(|panel| panel["targets"].as_array());
    let queries: Vec<_> =
        targets.flatten().map(|target| target["expr"].as_str().unwrap().to_owned()).collect();
    assert!(queries.len() > 40, "{} queries", queries.len());
    queries
}

impl<'a> Prometheus<'a> {
    pub(super) fn start(town: &'a Town, jobs: &[(&str, &str)]) -> Self {
        let folder = town.path("prometheus");
        std::fs::create_dir(&folder).unwrap();
        let mut config = "global: { scrape_interval: 1s, scrape_timeout: 1s, evaluation_interval: 1s }\n\
                          rule_files: [alerts.yml]\nscrape_configs:\n"
            .to_owned();
        for (job, address) in jobs {
            write!(config, "  - job_name: {job}\n    static_configs: [targets: [\"{address}\"]]\n").unwrap();
        }
        std::fs::write(folder.join("prometheus.yml"), config).unwrap();
        std::fs::write(folder.join("alerts.yml"), without_patience(&read("alerts.yml"))).unwrap();
        let mut command = town.world.command("router", "prometheus").unwrap();
        command.current_dir(&folder).args([
            "--config.file=prometheus.yml",
            "--storage.tsdb.path=data",
            &format!("--web.listen-address={ADDRESS}"),
        ]);
        let program = Program::start(&mut command, &folder.join("log"));
        let this = Self { town, program };
        until("Prometheus to be ready", || {
            this.program.log().contains("Server is ready to receive web requests")
        });
        assert!(packaging("alerts.yml").exists());
        this
    }

    /// The series that a query has now.
    pub(super) fn query(&self, query: &str) -> Vec<(Value, f64)> {
        let encoded: String = query.bytes().map(|byte| format!("%{byte:02X}")).collect();
        // Not chunked: an older protocol.
        let request = format!("GET /api/v1/query?query={encoded} HTTP/1.0\r\nHost: {ADDRESS}\r\n\r\n");
        let answer = ask(self.town, "router", ADDRESS, &request);
        let body: Value = serde_json::from_str(&answer.body).unwrap();
        assert_eq!(body["status"], "success", "{query}: {body}");
        let series = body["data"]["result"].as_array().unwrap().iter();
        series
            .map(|one| (one["metric"].clone(), one["value"][1].as_str().unwrap().parse().unwrap()))
            .collect()
    }

    /// The one value of a query, which is whole.
    pub(super) fn value(&self, query: &str) -> u64 {
        let [(_, value)] = self.query(query)[..] else { panic!("{query} has more than one value") };
        format!("{value:.0}").parse().unwrap()
    }

    /// Waits until a query has data, and that is a number.
    pub(super) fn until(&self, what: &str, query: &str) {
        until(&format!("{what}: {query}"), || self.query(query).iter().any(|(_, value)| value.is_finite()));
    }

    fn firing(&self) -> BTreeSet<String> {
        let alerts = self.query("ALERTS{alertstate=\"firing\"}");
        alerts.into_iter().map(|(labels, _)| labels["alertname"].as_str().unwrap().to_owned()).collect()
    }

    /// Waits until these alerts fire, and no others.
    pub(super) fn until_firing(&self, names: &[&str]) {
        let names = names.iter().map(|name| (*name).to_owned()).collect();
        until(&format!("{names:?} to fire alone"), || self.firing() == names);
    }

    /// Waits until this alert fires as well.
    pub(super) fn until_also(&self, name: &str) {
        until(&format!("{name} to fire"), || self.firing().contains(name));
        println!("{name} fires");
    }
}

/// The alerts, without waiting: minutes become a second.
fn without_patience(alerts: &str) -> String {
    let lines = alerts.lines().map(|line| match line.trim().strip_prefix("for: ") {
        Some(_) => "        for: 1s\n".to_owned(),
        None => format!("{line}\n"),
    });
    lines.collect()
}
