//! A testbed that is a formula: as many calls as there is time for, and a score that falls off a cliff behind them.

use guestright_experiment::{
    Evaluation, MetricInfo, Outcome, Plan, Platform, Results, Row, SettingError, SettingInfo, Settings,
    Testbed, Value, evaluate, settings,
};
use guestright_units::Seed;
use std::sync::LazyLock;

/// 20 ms between packets of a call, there and back: this many calls fit if a packet takes 1 ms.
const PACKETS_PER_CALL: f64 = 100.0;

/// Verification of a receipt, in ms.
const SUITES: [(&str, f64); 3] = [("none", 0.0), ("rsa-1024", 12.3), ("ecdsa-160", 114.7)];

settings! {
    /// The settings of the testbed.
    pub(crate) struct FormulaSettings {
        /// Calls at once.
        calls: u32 = integer("calls", "", 1, (1, 60)),
        /// How long a call lasts.
        duration_s: f64 = float("duration_s", "s", 90.0, (0.1, 100_000.0)),
        /// What receipts are signed with.
        verify_ms: f64 = choice("receipts.suite", "none", SUITES),
        cpu: CpuSettings,
        /// Says nothing.
        remark: String = text("remark", ""),
        /// Whether the score cannot be measured.
        broken: bool = bool("broken", false),
    }
}

settings! {
    /// A group.
    pub(crate) struct CpuSettings {
        /// Forwarding one packet.
        nat_us: f64 = float("cpu.nat_us", "µs", 100.0, (0.0, 100_000.0)),
        /// How far runs differ.
        spread: f64 = float("cpu.spread", "", 0.1, (0.0, 10.0)),
    }
}

pub(crate) struct Formula;

pub(crate) const TESTBEDS: &[&dyn Testbed] = &[&Formula];

/// The document's example, which is a whole plan.
pub(crate) fn example() -> &'static str {
    let document = include_str!("../../../../../docs/adding-an-experiment.md");
    document.split_once("```toml\n").unwrap().1.split_once("```").unwrap().0
}

/// The document's second one, with maps and assumptions; what it varies beside `cpu.nat_us` is called otherwise here.
pub(crate) fn where_example() -> &'static str {
    static TEXT: LazyLock<String> = LazyLock::new(|| {
        let document = include_str!("../../../../../docs/adding-an-experiment.md");
        let text = document.split("```toml\n").nth(2).unwrap().split_once("```").unwrap().0;
        let text = text.replace("cpu.speed = [0.5, 1.0, 2.0]", "cpu.spread = [0.0, 0.1, 0.5]");
        text.replace("cpu.speed = 1.0", "cpu.spread = 0.1").replace("cpu.speed", "cpu.spread")
    });
    &TEXT
}

pub(crate) fn plan(text: &str) -> Plan {
    Plan::parse(text, TESTBEDS).unwrap_or_else(|error| panic!("{error}"))
}

/// Runs a plan from its last run to its first: the order of the runs must not matter.
pub(crate) fn run(plan: &Plan) -> Results {
    let mut results = Results::new(plan);
    for run in plan.runs().iter().rev() {
        let outcome = plan.testbed().run(&run.settings, run.seed.clone()).unwrap();
        results.insert(run.index, Row::new(plan, &outcome).unwrap()).unwrap();
    }
    results
}

/// Runs a small plan whose rows are given: load for each call count and seed.
pub(crate) fn with_loads(rest: &str, load: impl Fn(usize, usize) -> Option<f64>) -> Evaluation {
    let plan = plan(&small(rest));
    let mut results = Results::new(&plan);
    for run in plan.runs() {
        let calls = run.settings.whole::<usize>("calls").unwrap();
        let outcome = Outcome::default().with("load", load(calls, run.replication as usize));
        results.record(&plan, &run, &outcome).unwrap();
    }
    evaluate(&plan, &results, Platform::Sim)
}

impl Testbed for Formula {
    fn name(&self) -> &'static str {
        "voice"
    }

    fn describe(&self) -> &'static str {
        "A processor that spends its time on packets and receipts; what is left over decides on the score."
    }

    fn settings(&self) -> &'static [SettingInfo] {
        FormulaSettings::SETTINGS
    }

    fn metrics(&self) -> &'static [MetricInfo] {
        const {
            &[
                MetricInfo::new("mos_mean", "", "Mean opinion score."),
                MetricInfo::new("delay_ms", "ms", "Mean delay."),
                MetricInfo::new("load", "", "Share of the time that is spent."),
            ]
        }
    }

    fn check(&self, settings: &Settings) -> Result<(), SettingError> {
        let settings = FormulaSettings::read(settings)?;
        if settings.calls > 8 && settings.verify_ms > 100.0 {
            return Err(SettingError::unfit("calls", "with ecdsa-160 at most 8 calls are possible"));
        }
        if settings.cpu.nat_us.to_bits() == 99_999.5_f64.to_bits() {
            return Err(SettingError::unfit("cpu.spread", "it does not spread"));
        }
        Ok(())
    }

    fn run(&self, settings: &Settings, seed: Seed) -> Result<Outcome, SettingError> {
        let FormulaSettings { calls, verify_ms, cpu, broken, .. } = FormulaSettings::read(settings)?;
        // A number from 0 to 1 that is the seed's.
        let chance = seed.0[..4].iter().rev().fold(0.0, |sum, byte| (sum + f64::from(*byte)) / 256.0);
        let noise = (chance - 0.5) * cpu.spread;
        let packet_s = (cpu.nat_us + 1_240.0) * 1e-6;
        let one = PACKETS_PER_CALL * packet_s + verify_ms * 1e-3 / 5.0;
        let load = f64::from(calls) * one + noise;
        let mos = if load < 1.0 { 4.07 - 0.2 * load } else { (3.87 - 6.0 * (load - 1.0)).max(1.0) };
        let measured = (!broken).then_some(mos);
        let outcome = Outcome {
            packets: u64::from(calls) * 9_000,
            events: u64::from(calls) * 40_000,
            ..Outcome::default()
        };
        Ok(outcome.with("mos_mean", measured).with("delay_ms", 2.0 + 40.0 * load.min(1.5)).with("load", load))
    }
}

/// A plan of few lines, for one mistake or one claim at a time.
pub(crate) fn small(rest: &str) -> String {
    format!(
        "name = \"small\"\ntitle = \"Small\"\nquestion = \"Does it?\"\ntestbed = \"voice\"\nseeds = 4\n\n\
         [sweep]\ncalls = [1, 2, 5, 6, 7, 8]\n\n{rest}\n"
    )
}

pub(crate) fn text(value: &str) -> Value {
    Value::Text(value.to_owned())
}
