//! Acceptance: the program beside other people's, on kernels that have what this computer's may lack.
//!
//! Two virtual machines without hardware support, at the same time. Each sees this computer's files, read-only under
//! a memory file system, so the programs of Debian that are installed here and the program just built run there.
//! The scripts are in `scripts/acceptance`; `docs/acceptance.md` says what is proved.

mod kernel;
mod machine;
mod stage;
pub(crate) mod verdicts;

use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};

use crate::steps::{cargo, execute};
use crate::workspace;
use machine::Machine;
use stage::Stage;
use verdicts::Verdicts;

/// The machines and how long each may take, booting included: several times what they need on an idle computer.
const MACHINES: [(Machine, Duration); 2] =
    [(Machine::UserMode, Duration::from_secs(600)), (Machine::Emulated, Duration::from_secs(1_800))];

/// Where the tunnel's test looks for packets of a kernel besides those in the repository.
const CAPTURES: &str = "GUESTRIGHT_KERNEL_CAPTURES";

pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let began = Instant::now();
    let wanted = Wanted::read(arguments)?;
    let target = workspace::target_directory()?;
    let cache = target.join("acceptance");
    let program = match wanted.program {
        Some(program) => program,
        None => build(&target)?,
    };
    let stage = Stage::new(&cache, &program)?;
    let tally = Mutex::new(Tally::default());
    std::thread::scope(|threads| {
        for (machine, limit) in MACHINES.into_iter().filter(|(machine, _)| wanted.machines.contains(machine))
        {
            let (stage, cache, tally) = (&stage, &cache, &tally);
            threads.spawn(move || {
                let mut verdicts = Verdicts::default();
                let ran = machine.run(stage, cache, limit, &mut verdicts);
                let mut tally = tally.lock().expect("nobody panics while counting");
                tally.add(machine.name(), verdicts, ran);
            });
        }
    });
    let mut tally = tally.into_inner().expect("nobody panics while counting");
    println!("what the machines said is in {}", cache.join("logs").display());
    if wanted.machines.contains(&Machine::UserMode) {
        tally.count("our encoder repeats the kernel's packets", compare_captures(&stage));
    }
    tally.close(began)
}

/// What the command line asks for.
struct Wanted {
    machines: Vec<Machine>,
    program: Option<PathBuf>,
}

impl Wanted {
    fn read(arguments: &[String]) -> Result<Self> {
        let mut wanted = Self { machines: Vec::new(), program: None };
        let mut arguments = arguments.iter();
        while let Some(argument) = arguments.next() {
            if argument == "--program" {
                let path = arguments.next().context("--program needs a path")?;
                wanted.program =
                    Some(Path::new(path).canonicalize().with_context(|| format!("find {path}"))?);
                continue;
            }
            let machine = MACHINES.into_iter().map(|(machine, _)| machine).find(|one| one.name() == argument);
            wanted.machines.push(machine.with_context(|| {
                format!("`{argument}` is neither a machine (uml, qemu) nor --program PATH")
            })?);
        }
        if wanted.machines.is_empty() {
            wanted.machines = MACHINES.map(|(machine, _)| machine).to_vec();
        }
        Ok(wanted)
    }
}

fn build(target: &Path) -> Result<PathBuf> {
    execute(&mut cargo(&["build", "--release", "--package", "guestright", "--package", "guestright-lab"]))?;
    Ok(target.join("release/guestright"))
}

/// Lets the tunnel's own test compare what the machine has caught with what we would have sent.
fn compare_captures(stage: &Stage) -> Result<()> {
    let captures = stage.out(Machine::UserMode);
    let caught = stage::files_that_end_in(&captures, ".capture")?;
    ensure!(!caught.is_empty(), "the machine has caught no packets");
    // As all tests are built: with the features of one package alone much would be built anew.
    let mut test = cargo(&["test", "--workspace", "--all-features", "--test", "kernel"]);
    execute(test.env(CAPTURES, &captures)).map(drop)
}

/// The count at the end.
#[derive(Debug, Default)]
struct Tally {
    passed: usize,
    failed: Vec<String>,
}

impl Tally {
    fn add(&mut self, machine: &str, verdicts: Verdicts, ran: Result<()>) {
        self.passed += verdicts.passed();
        let failures = verdicts.failures();
        self.failed.extend(failures.into_iter().map(|failure| format!("{machine}: {failure}")));
        if let Err(error) = ran {
            self.failed.push(format!("{machine}: {error:#}"));
        }
    }

    fn count(&mut self, name: &str, result: Result<()>) {
        match result {
            Ok(()) => self.passed += 1,
            Err(error) => self.failed.push(format!("{name}: {error:#}")),
        }
    }

    fn close(self, began: Instant) -> Result<()> {
        for failure in &self.failed {
            println!("failed: {failure}");
        }
        println!(
            "\nacceptance: {} passed; {} failed; {:.0} s",
            self.passed,
            self.failed.len(),
            began.elapsed().as_secs_f64()
        );
        if self.failed.is_empty() {
            return Ok(());
        }
        bail!("not everything was accepted: see above");
    }
}
