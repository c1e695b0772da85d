//! What to measure and for how long.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Result, ensure};
use clap::Parser as _;
use serde::Serialize;

use crate::path::Way;

/// Another way to say `--json`, for who does not write the command line.
const JSON: &str = "GUESTRIGHT_BENCH_JSON";

/// What the two hosts' network cards may do. Segmentation offload is off in both.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Condition {
    /// Nothing: each packet alone, as on a household's router. The one that counts.
    Seg,
    /// Packets that arrive are put together at the two hosts (GRO), as today's network cards have it.
    Seggro,
}

impl Condition {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Seg => "seg",
            Self::Seggro => "seggro",
        }
    }
}

/// Ways home, measured between the same three hosts in one run
#[derive(Debug, clap::Parser)]
#[command(name = "tunnels")]
struct Arguments {
    /// One repetition with short measurements: two to three minutes
    #[arg(long)]
    quick: bool,
    /// Only bulk transfer, or only voice
    #[arg(long, value_enum)]
    only: Option<Part>,
    /// How often every path is measured
    #[arg(long)]
    repetitions: Option<u32>,
    /// What the network cards may do
    #[arg(long, value_enum, value_delimiter = ',')]
    conditions: Option<Vec<Condition>>,
    /// How many seconds to wait before each path for others to leave the processors alone
    #[arg(long)]
    patience: Option<u64>,
    /// Where all samples go, instead of `tunnels.json` in the target directory
    #[arg(long)]
    json: Option<PathBuf>,
    /// Print the names of the paths
    #[arg(long)]
    list: bool,
    /// Cargo says this to every benchmark
    #[arg(long, hide = true)]
    bench: bool,
    /// Measure only paths whose name contains one of these, and bare NAT
    names: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Part {
    Tcp,
    Voice,
}

/// Everything decided before the first packet.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Plan {
    pub(crate) repetitions: u32,
    pub(crate) ways: Vec<Way>,
    /// Conditions of the bulk transfer; voice is measured under the first alone, offload does nothing for it.
    pub(crate) conditions: Vec<Condition>,
    /// Time for a connection to reach its speed; not counted.
    pub(crate) tcp_warmup: Duration,
    pub(crate) tcp_duration: Duration,
    /// Packets a second with the time measured for each; none if voice is left out.
    pub(crate) rates: Vec<(u32, Duration)>,
    /// Packets a second, ascending, until one is lost in a hundred.
    pub(crate) ladder: Vec<u32>,
    pub(crate) ladder_duration: Duration,
    pub(crate) limit_seconds: u32,
    /// How long to wait before each path for others to leave the processors alone.
    pub(crate) patience: Duration,
    #[serde(skip)]
    pub(crate) json: Option<PathBuf>,
}

impl Plan {
    /// The plan of this command line; `None` if it asked for something else, which is done.
    pub(crate) fn parse() -> Result<Option<Self>> {
        let arguments = Arguments::parse();
        if arguments.list {
            for way in Way::ALL {
                println!("{:<18} {}", way.name(), way.describe());
            }
            return Ok(None);
        }
        let wanted = |way: Way| {
            let named = |name: &String| way.name().contains(name.as_str());
            way == Way::Nat || arguments.names.is_empty() || arguments.names.iter().any(named)
        };
        let ways: Vec<Way> = Way::ALL.into_iter().filter(|&way| wanted(way)).collect();
        ensure!(
            ways.len() > 1 || arguments.names.is_empty() || arguments.names.iter().any(|name| name == "nat"),
            "no path is called {}; --list names them",
            arguments.names.join(" or ")
        );
        let mut plan = if arguments.quick { Self::quick(ways) } else { Self::full(ways) };
        if let Some(conditions) = arguments.conditions {
            plan.conditions = conditions;
            plan.conditions.sort_unstable();
            plan.conditions.dedup();
        }
        match arguments.only {
            Some(Part::Tcp) => (plan.rates, plan.ladder) = (Vec::new(), Vec::new()),
            Some(Part::Voice) => plan.conditions = Vec::new(),
            None => {}
        }
        plan.repetitions = arguments.repetitions.unwrap_or(plan.repetitions);
        plan.patience = arguments.patience.map_or(plan.patience, Duration::from_secs);
        plan.json = arguments.json.or_else(|| std::env::var_os(JSON).map(PathBuf::from));
        Ok(Some(plan))
    }

    fn full(ways: Vec<Way>) -> Self {
        let seconds = Duration::from_secs;
        Self {
            repetitions: 3,
            ways,
            conditions: vec![Condition::Seg, Condition::Seggro],
            tcp_warmup: Duration::from_millis(500),
            tcp_duration: seconds(3),
            rates: vec![(2_500, seconds(4)), (10_000, seconds(2)), (20_000, seconds(2))],
            ladder: vec![10_000, 20_000, 30_000, 40_000, 60_000, 80_000, 110_000, 150_000, 200_000],
            ladder_duration: seconds(1),
            limit_seconds: 3,
            patience: seconds(20),
            json: None,
        }
    }

    fn quick(ways: Vec<Way>) -> Self {
        let milliseconds = Duration::from_millis;
        Self {
            repetitions: 1,
            conditions: vec![Condition::Seg],
            tcp_duration: milliseconds(1_500),
            rates: vec![(2_500, milliseconds(1_500)), (10_000, milliseconds(1_000))],
            ladder: vec![20_000, 40_000, 60_000, 80_000, 110_000, 150_000],
            ladder_duration: milliseconds(500),
            limit_seconds: 1,
            patience: Duration::ZERO,
            ..Self::full(ways)
        }
    }
}
