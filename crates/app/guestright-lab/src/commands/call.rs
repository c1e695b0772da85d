//! `guestright-lab call`: calls straight from computer to computer, with a tool that has a wire format of its own.

mod arguments;

use anyhow::anyhow;
use arguments::{Answer, LineArgs};
use guestright_cli::address;
use guestright_cli::failure::{Failure, Outcome};
use guestright_cli::signals::Signals;
use guestright_study::{Choice, StudyError, StudySettings, Task, Terminal, Waiting};
use guestright_telephone::{self as telephone, Controls, ErrorKind, TelephoneError};
use std::io::{IsTerminal, Write};
use std::time::Duration;
use tokio::sync::mpsc;

/// Call a computer straight, by BoAT or one of four old tools whose protection is broken
///
/// There are no homes and no SIP: NAME is where the other side listens, HOST or HOST:PORT; or a contact, and --at says
/// where it is. `guestright call … --profile …` comes here too.
#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
#[command(after_help = "Example:
  guestright-lab call 192.0.2.7 --profile boat --expect bea --key alice.key --certificate alice.cert
  guestright-lab call 192.0.2.7 --profile pgpfone --insecure-for-study
  guestright-lab call listen --profile boat --key bob.key --certificate bob.cert")]
pub(crate) struct Call {
    /// Whom; without --at, where: HOST or HOST:PORT
    #[arg(required = true)]
    name: Option<String>,
    #[command(flatten)]
    line: LineArgs,
    #[command(subcommand)]
    command: Option<CallCommand>,
}

#[derive(Debug, clap::Subcommand)]
enum CallCommand {
    Listen(Box<Listen>),
}

/// Wait for calls, and answer
///
/// Ctrl-C, or --calls calls, end it.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:
  guestright-lab call listen --profile boat --key bob.key --certificate bob.cert
  guestright-lab call listen --profile speak-freely --pass-phrase-file phrase --insecure-for-study --answer auto")]
struct Listen {
    #[command(flatten)]
    line: LineArgs,
    /// Whether a person is asked before a call is taken
    #[arg(long, value_enum, default_value = "ask")]
    answer: Answer,
    /// End after so many calls
    #[arg(long, value_name = "N")]
    calls: Option<u32>,
}

impl Call {
    pub(crate) fn run(self, out: &mut impl Write) -> Outcome {
        match (self.command, self.name) {
            (Some(CallCommand::Listen(listen)), _) => {
                let waiting = Waiting { answer: listen.answer.into(), calls: listen.calls };
                start(&listen.line, Task::Listen(waiting), out)
            }
            (None, Some(name)) => start(&self.line, Task::Dial(name), out),
            (None, None) => Err(nobody()),
        }
    }
}

fn nobody() -> Failure {
    Failure::user(anyhow!("nobody was named to call"))
}

fn start(line: &LineArgs, task: Task, out: &mut impl Write) -> Outcome {
    let profile = line.profile().ok_or_else(|| Failure::user(anyhow!("no profile was named")))?;
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let outcome = runtime.block_on(async {
        // Everything is checked before a port is opened; signals wait from now on.
        let stop = Signals::register()?.into_channel();
        let contacts = telephone::contacts::load(line.contacts()).map_err(|error| failure(error.into()))?;
        let settings = line.settings(profile, contacts);
        let choice = choose(line, &settings, &task)?;
        let asks = matches!(&task, Task::Listen(waiting) if waiting.answer == telephone::Answer::Ask);
        let controls = Controls { commands: commands(line.is_controlled() || asks), stop };
        let terminal = Terminal { controls, out, warnings: &mut std::io::stderr() };
        guestright_study::run(settings, choice, task, terminal).await.map_err(failure)
    });
    runtime.shutdown_timeout(Duration::from_millis(200));
    outcome
}

/// What is possible of what was asked for; then where the other side is, and our own key.
fn choose(line: &LineArgs, settings: &StudySettings, task: &Task) -> Result<Choice, Failure> {
    let whom = match task {
        Task::Dial(whom) => Some(whom.as_str()),
        Task::Listen(_) => None,
    };
    let mut choice = Choice::make(settings, whom).map_err(failure)?;
    choice.peer = choice
        .destination()
        .map(|destination| address::resolve(destination, settings.profile.port()))
        .transpose()?;
    if choice.needs_credentials() {
        choice.credentials = Some(line.credentials()?);
    }
    Ok(choice)
}

/// Lines of standard input, if they are wanted or a person types them; else none ever come.
fn commands(wanted: bool) -> mpsc::Receiver<String> {
    if wanted || std::io::stdin().is_terminal() {
        telephone::read_commands(std::io::stdin())
    } else {
        mpsc::channel(1).1
    }
}

fn failure(error: StudyError) -> Failure {
    let hint = error.hint();
    let failure = match (error.kind(), error) {
        // As it is: whether the reader of our output has gone is asked of it.
        (_, StudyError::Telephone(TelephoneError::Io(error))) => Failure::user(error),
        (ErrorKind::User | ErrorKind::Bug, error) => Failure::user(error),
        (ErrorKind::Config, error) => Failure::config(error),
        (ErrorKind::Network, error) => Failure::network(error),
    };
    match hint {
        Some(hint) => failure.hint(hint),
        None => failure,
    }
}
