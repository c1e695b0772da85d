//! `guestright-lab call`: calls straight from computer to computer, with a tool that has a wire format of its own.

mod arguments;

use anyhow::anyhow;
use arguments::StraightArgs;
use guestright_cli::address;
use guestright_cli::call::{self, WaitingArgs};
use guestright_cli::failure::{Failure, Outcome};
use guestright_cli::output::Output;
use guestright_cli::signals::Signals;
use guestright_study::{Choice, StudySettings, Terminal};
use guestright_telephone::Task;

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
    straight: StraightArgs,
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
    straight: StraightArgs,
    #[command(flatten)]
    waiting: WaitingArgs,
}

impl Call {
    pub(crate) fn run(self, out: &mut Output) -> Outcome {
        match (self.command, self.name) {
            (Some(CallCommand::Listen(listen)), _) => start(&listen.straight, listen.waiting.task(), out),
            (None, Some(name)) => start(&self.straight, Task::Dial(name), out),
            (None, None) => Err(Failure::user(anyhow!("nobody was named to call"))),
        }
    }
}

fn start(straight: &StraightArgs, task: Task, out: &mut Output) -> Outcome {
    let profile = straight.profile().ok_or_else(|| Failure::user(anyhow!("no profile was named")))?;
    call::run(async {
        // Everything is checked before a port is opened; signals wait from now on.
        let signals = Signals::register().map_err(Failure::network)?;
        let settings = straight.settings(profile, straight.contacts()?);
        let choice = choose(straight, &settings, &task)?;
        let controls = call::controls(signals, straight.is_controlled(), &task);
        let terminal = Terminal { controls, out, warnings: &mut std::io::stderr() };
        Ok(guestright_study::run(settings, choice, task, terminal).await?)
    })
}

/// What is possible of what was asked for; then where the other side is, and our own key.
fn choose(straight: &StraightArgs, settings: &StudySettings, task: &Task) -> Result<Choice, Failure> {
    let whom = match task {
        Task::Dial(whom) => Some(whom.as_str()),
        Task::Listen(_) => None,
    };
    let mut choice = Choice::make(settings, whom)?;
    choice.peer = choice
        .destination()
        .map(|destination| address::resolve(destination, settings.profile.port()))
        .transpose()?;
    if choice.needs_credentials() {
        choice.credentials = Some(straight.credentials()?);
    }
    Ok(choice)
}
