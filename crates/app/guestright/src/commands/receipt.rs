//! `guestright receipt`: receipts in files and stores.

use anyhow::anyhow;
use guestright_cli::failure::{Failure, Outcome};
use guestright_cli::output::Output;
use guestright_error::OrFail as _;
use guestright_host::export::Exported;
use guestright_host::receipts::{self, Imported, ReceiptFile, VerifiedLine};
use serde_json::json;
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
        for line in ReceiptFile::read(&self.file)?.verified() {
            let VerifiedLine { number, verified } = line?;
            for receipt in &verified.receipts {
                good += 1;
                self.show_good(number, receipt, out)?;
            }
            for error in &verified.refused {
                bad += 1;
                if self.json {
                    let (kind, reason) = (error.kind(), error.to_string());
                    let row = json!({ "line": number, "valid": false, "kind": kind, "reason": reason });
                    writeln!(out, "{row}")?;
                } else {
                    writeln!(out, "BAD   line {number}: {error}")?;
                }
            }
        }
        if !self.json {
            writeln!(out, "{good} good, {bad} bad")?;
        }
        if bad > 0 { Err(Failure::user(anyhow!("{bad} receipts do not count"))) } else { Ok(()) }
    }

    fn show_good(&self, line: usize, receipt: &guestright_receipt::Receipt, out: &mut Output) -> Outcome {
        let (consumer, provider) = (receipt.consumer(), receipt.provider());
        let (started, weight) = (receipt.started(), receipt.weight());
        if self.json {
            let row = json!({ "line": line, "valid": true, "consumer": consumer.to_string(),
                "provider": provider.to_string(), "started": started.to_string(), "weight": weight.0 });
            return Ok(writeln!(out, "{row}")?);
        }
        let (consumer, provider) = (consumer.short(), provider.short());
        Ok(writeln!(out, "good  {started}  {consumer} consumed {weight} from {provider}")?)
    }
}

impl Export {
    fn run(self, out: &mut Output) -> Outcome {
        let Exported { count, lines } = receipts::export_store(&self.store)?;
        let text: String = lines.iter().flat_map(|line| [line.as_str(), "\n"]).collect();
        match self.out {
            Some(path) => {
                std::fs::write(&path, text).or_config(|| format!("write {}", path.display()))?;
                if self.json {
                    writeln!(out, "{}", json!({ "receipts": count, "file": path }))?;
                } else {
                    writeln!(out, "wrote {count} receipts to {}", path.display())?;
                }
            }
            None if self.json => writeln!(out, "{}", json!({ "receipts": count, "bundles": lines }))?,
            None => write!(out, "{text}")?,
        }
        Ok(())
    }
}

impl Import {
    fn run(self, out: &mut Output) -> Outcome {
        let (mut left_out, mut refused) = (Vec::new(), 0);
        let file = ReceiptFile::read(&self.file)?;
        let imported = file.import(&self.store, self.receipts_max, |line, error| {
            refused += 1;
            if self.json {
                left_out.push(json!({ "line": line, "kind": error.kind(), "reason": error.to_string() }));
                return Ok(());
            }
            writeln!(out, "left out, line {line}: {error}")
        })?;
        let Imported { new, known } = imported;
        if self.json {
            writeln!(out, "{}", json!({ "taken_in": new, "known": known, "left_out": left_out }))?;
        } else {
            writeln!(out, "{new} taken in, {known} known already, {refused} left out")?;
        }
        Ok(())
    }
}
