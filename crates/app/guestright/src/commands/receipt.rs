use anyhow::anyhow;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use guestright_cli::failure::{Failure, Outcome};
use guestright_cli::output::Output;
use guestright_clock::Clock;
use guestright_error::OrFail as _;
use guestright_receipt::{Bundle, Rules};
use guestright_store::{Limits, Outcome as PutOutcome, Store};
use serde_json::json;
use std::ops::ControlFlow;
use std::path::PathBuf;

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
    /// The store of a home or an access point that is not running
    store: PathBuf,
    /// The file to write; otherwise standard output
    #[arg(long)]
    out: Option<PathBuf>,
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
        each_bundle(&self.file, |line, bundle| {
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
        if !self.store.exists() {
            return Err(Failure::user(anyhow!("there is no store {}", self.store.display())));
        }
        let store = Store::open(&self.store, Limits { receipts_max: u64::MAX, own_team: None })
            .map_err(Failure::user)?;
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
        read.map_err(Failure::user)?;
        if !bundle.receipts.is_empty() {
            lines.push(STANDARD.encode(bundle.emit()));
        }
        let text: String = lines.into_iter().map(|line| line + "\n").collect();
        match self.out {
            Some(path) => {
                std::fs::write(&path, text).or_user(|| format!("write {}", path.display()))?;
                writeln!(out, "wrote {count} receipts to {}", path.display())?;
            }
            None => write!(out, "{text}")?,
        }
        Ok(())
    }
}

impl Import {
    fn run(self, out: &mut Output) -> Outcome {
        let mut store = Store::open(&self.store, Limits { receipts_max: self.receipts_max, own_team: None })
            .map_err(Failure::user)?;
        let (mut new, mut known, mut refused) = (0, 0, 0);
        each_bundle(&self.file, |line, bundle| {
            let now = Clock::start().now().unix_seconds();
            let verified = bundle.verify(|_| None, &Rules::default(), now, &mut guestright_clock::rng());
            for error in &verified.refused {
                refused += 1;
                writeln!(out, "left out, line {line}: {error}")?;
            }
            let with_certificate = |receipt: &guestright_receipt::Receipt| {
                Some((receipt.clone(), verified.certificates.get(&receipt.certificate())?.clone()))
            };
            let items: Vec<_> = verified.receipts.iter().filter_map(with_certificate).collect();
            for outcome in store.put(&items, now).map_err(Failure::user)?.outcomes {
                match outcome {
                    PutOutcome::New | PutOutcome::Raised(_) => new += 1,
                    PutOutcome::Known | PutOutcome::Lower { .. } => known += 1,
                }
            }
            Ok(())
        })?;
        writeln!(out, "{new} taken in, {known} known already, {refused} left out")?;
        Ok(())
    }
}

fn each_bundle(
    path: &std::path::Path,
    mut each: impl FnMut(usize, Bundle) -> Outcome,
) -> Result<(), Failure> {
    let text = std::fs::read_to_string(path).or_user(|| format!("read {}", path.display()))?;
    for (number, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let location = || format!("{}, line {}", path.display(), number + 1);
        let bytes = STANDARD
            .decode(line.trim())
            .map_err(|error| Failure::user(anyhow!("{} is not of `receipt export`: {error}", location())))?;
        let bundle = Bundle::parse(&bytes).or_user(location)?;
        each(number + 1, bundle)?;
    }
    Ok(())
}
