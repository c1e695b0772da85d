use anyhow::anyhow;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use guestright_cli::failure::{Failure, Outcome};
use guestright_cli::output::Output;
use guestright_clock::Clock;
use guestright_error::OrFail as _;
use guestright_host::export::{self, Exported};
use guestright_host::{access_point, home};
use guestright_receipt::{Bundle, Rules};
use guestright_store::{Limits, Outcome as PutOutcome, Store, StoreError};
use serde_json::json;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

/// Look at receipts: verify, export, import
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:
  guestright receipt export state/receipts.sqlite --out receipts.txt
  guestright receipt verify receipts.txt")]
pub(crate) struct Receipt {
    #[command(subcommand)]
    command: ReceiptCommand,
}

#[derive(Debug, clap::Subcommand)]
enum ReceiptCommand {
    Verify(Verify),
    Export(Export),
    Import(Import),
}

/// Check the receipts of an exported file, each on its own merits
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:
  guestright receipt verify receipts.txt --json")]
struct Verify {
    /// A file of `receipt export`
    file: PathBuf,
    /// Print JSON, a line for each receipt
    #[arg(long)]
    json: bool,
}

/// Write the receipts of a store to a file: one bundle in base64 on each line
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:
  guestright receipt export state/receipts.sqlite --out receipts.txt")]
struct Export {
    /// The store of a home or an access point, which may be running
    store: PathBuf,
    /// The file to write; otherwise standard output
    #[arg(long)]
    out: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Take the receipts of an exported file into a store; those that do not count are left out and named
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:
  guestright receipt import receipts.txt --store state/receipts.sqlite")]
struct Import {
    /// A file of `receipt export`
    file: PathBuf,
    /// The store of a home or an access point that is not running; made if it is not there
    #[arg(long)]
    store: PathBuf,
    /// How many receipts the store may hold
    #[arg(long, default_value_t = 1_000_000)]
    receipts_max: u64,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Receipt {
    pub(crate) fn run(self, out: &mut Output) -> Outcome {
        match self.command {
            ReceiptCommand::Verify(command) => command.run(out),
            ReceiptCommand::Export(command) => command.run(out),
            ReceiptCommand::Import(command) => command.run(out),
        }
    }
}

impl Verify {
    fn run(self, out: &mut Output) -> Outcome {
        let (mut good, mut bad) = (0, 0);
        each_bundle(&self.file, &read(&self.file)?, |line, bundle| {
            let now = Clock::start().now().unix_seconds();
            let verified = bundle.verify(|_| None, &Rules::default(), now, &mut guestright_clock::rng());
            for receipt in &verified.receipts {
                good += 1;
                let (consumer, provider) = (receipt.consumer(), receipt.provider());
                if self.json {
                    let row = json!({ "line": line, "valid": true, "consumer": consumer.to_string(),
                        "provider": provider.to_string(), "started": receipt.started().to_string(),
                        "weight": receipt.weight().0 });
                    writeln!(out, "{row}")?;
                } else {
                    let (started, weight) = (receipt.started(), receipt.weight());
                    let (consumer, provider) = (consumer.short(), provider.short());
                    writeln!(out, "good  {started}  {consumer} consumed {weight} from {provider}")?;
                }
            }
            for error in &verified.refused {
                bad += 1;
                if self.json {
                    writeln!(
                        out,
                        "{}",
                        json!({ "line": line, "valid": false, "kind": error.kind(), "reason": error.to_string() })
                    )?;
                } else {
                    writeln!(out, "BAD   line {line}: {error}")?;
                }
            }
            Ok(())
        })?;
        if !self.json {
            writeln!(out, "{good} good, {bad} bad")?;
        }
        if bad > 0 { Err(Failure::user(anyhow!("{bad} receipts do not count"))) } else { Ok(()) }
    }
}

impl Export {
    fn run(self, out: &mut Output) -> Outcome {
        let Exported { count, lines } = self.read()?;
        let text: String = lines.into_iter().map(|line| line + "\n").collect();
        match self.out {
            Some(path) => {
                std::fs::write(&path, text).or_config(|| format!("write {}", path.display()))?;
                if self.json {
                    writeln!(out, "{}", json!({ "receipts": count, "file": path }))?;
                } else {
                    writeln!(out, "wrote {count} receipts to {}", path.display())?;
                }
            }
            None if self.json => {
                let bundles: Vec<_> = text.lines().collect();
                writeln!(out, "{}", json!({ "receipts": count, "bundles": bundles }))?;
            }
            None => write!(out, "{text}")?,
        }
        Ok(())
    }

    /// From the program that has the store open, or from the store itself.
    fn read(&self) -> Result<Exported, Failure> {
        if !self.store.exists() {
            return Err(Failure::config(anyhow!("there is no store {}", self.store.display()))
                .hint("it is receipts.sqlite in the `state` directory of a home or an access point"));
        }
        let state = self.store.parent().unwrap_or(Path::new("."));
        for door in [home::socket(state), access_point::socket(state)] {
            if let Some(exported) = export::fetch(&door)? {
                return Ok(exported);
            }
        }
        let store = Store::open(&self.store, Limits { receipts_max: u64::MAX, own_team: None });
        let store = store.map_err(unusable)?;
        let mut lines = Vec::new();
        let mut bundle = Bundle::default();
        let mut count = 0;
        let read = store.for_each_receipt(|receipt, certificate| {
            count += 1;
            let certificate = certificate.to_vec();
            if !bundle.certificates.contains(&certificate) {
                bundle.certificates.push(certificate);
            }
            bundle.receipts.push(receipt.to_vec());
            if bundle.receipts.len() == Bundle::RECEIPTS_MAX {
                lines.push(STANDARD.encode(std::mem::take(&mut bundle).emit()));
            }
            ControlFlow::Continue(())
        });
        read.map_err(unusable)?;
        if !bundle.receipts.is_empty() {
            lines.push(STANDARD.encode(bundle.emit()));
        }
        Ok(Exported { count, lines })
    }
}

impl Import {
    fn run(self, out: &mut Output) -> Outcome {
        // A file that is not there, or is none of ours, makes no store.
        let text = read(&self.file)?;
        each_bundle(&self.file, &text, |_, _| Ok(()))?;
        let mut store = Store::open(&self.store, Limits { receipts_max: self.receipts_max, own_team: None })
            .map_err(unusable)?;
        let mut left_out = Vec::new();
        let (mut new, mut known, mut refused) = (0, 0, 0);
        each_bundle(&self.file, &text, |line, bundle| {
            let now = Clock::start().now().unix_seconds();
            let verified = bundle.verify(|_| None, &Rules::default(), now, &mut guestright_clock::rng());
            for error in &verified.refused {
                refused += 1;
                if self.json {
                    left_out.push(json!({ "line": line, "kind": error.kind(), "reason": error.to_string() }));
                } else {
                    writeln!(out, "left out, line {line}: {error}")?;
                }
            }
            let with_certificate = |receipt: &guestright_receipt::Receipt| {
                Some((receipt.clone(), verified.certificates.get(&receipt.certificate())?.clone()))
            };
            let items: Vec<_> = verified.receipts.iter().filter_map(with_certificate).collect();
            for outcome in store.put(&items, now).map_err(unusable)?.outcomes {
                match outcome {
                    PutOutcome::New | PutOutcome::Raised(_) => new += 1,
                    PutOutcome::Known | PutOutcome::Lower { .. } => known += 1,
                }
            }
            Ok(())
        })?;
        if self.json {
            writeln!(out, "{}", json!({ "taken_in": new, "known": known, "left_out": left_out }))?;
        } else {
            writeln!(out, "{new} taken in, {known} known already, {refused} left out")?;
        }
        Ok(())
    }
}

fn read(path: &Path) -> Result<String, Failure> {
    Ok(std::fs::read_to_string(path).or_config(|| format!("read {}", path.display()))?)
}

/// A store that another program has open is the system's to give; any other one is a file that is wrong.
fn unusable(error: StoreError) -> Failure {
    if matches!(error, StoreError::InUse { .. }) {
        return Failure::network(error).hint(
            "stop the program that has it open; `receipt export` reads from one that runs, by its state directory",
        );
    }
    Failure::config(error)
}

fn each_bundle(
    path: &Path,
    text: &str,
    mut each: impl FnMut(usize, Bundle) -> Outcome,
) -> Result<(), Failure> {
    for (number, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let location = || format!("{}, line {}", path.display(), number + 1);
        let bytes = STANDARD.decode(line.trim()).map_err(|error| {
            Failure::config(anyhow!("{} is not of `receipt export`: {error}", location()))
        })?;
        let bundle = Bundle::parse(&bytes).or_config(location)?;
        each(number + 1, bundle)?;
    }
    Ok(())
}
