//! `guestright call`: a member's own telephone.

mod contacts;

use anyhow::anyhow;
use guestright_channel::Credentials;
use guestright_cli::failure::{Failure, Outcome};
use guestright_cli::files::PassphraseArgs;
use guestright_cli::signals::Signals;
use guestright_telephone::home::{Account, AccountSettings, parse_home};
use guestright_telephone::{self as telephone, Task, TelephoneError, Waiting};
use std::io::{IsTerminal, Write};
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;
use tokio::sync::mpsc;

/// Call another member, through both homes
///
/// NAME is one of your contacts, a name that your home knows, the name of a key (48 hexadecimal digits), or an address
/// (sip:name@address). The call is protected from end to end, and four words are shown: who reads the same words to
/// you hears what you say, and nobody between you does.
///
/// A stock softphone cannot do that. --protection home lets your homes protect the call instead; they can hear it then.
/// What you ask for is what you get: a call is never less protected than it was asked for, it ends instead.
///
/// With --profile a call goes straight to a computer, without homes and SIP, by a tool with a wire format of its own:
/// boat, or one of four old ones whose protection is broken. The program guestright-lab does that, if it is installed:
/// see `guestright-lab call --help`.
#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
#[command(after_help = "Example:
  guestright call contact add 'guestright:contact?name=Bea&id=…'
  guestright call bea --key alice.key --certificate alice.cert
  guestright call bea --play question.wav --record answer.wav --seconds 10 --json
  guestright call listen --key alice.key --certificate alice.cert --answer auto
  guestright call 192.0.2.7 --profile boat --expect bea --key alice.key --certificate alice.cert")]
pub(crate) struct Call {
    /// Whom
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
    Card(contacts::Card),
    #[command(subcommand)]
    Contact(contacts::ContactCommand),
}

/// Be reachable: register at home, and answer
///
/// Ctrl-C, or --calls calls, end it.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:
  guestright call listen --key bob.key --certificate bob.cert --answer auto --record heard.wav
  guestright call listen --profile boat --key bob.key --certificate bob.cert")]
struct Listen {
    #[command(flatten)]
    line: LineArgs,
    /// Whether a person is asked before a call is taken
    #[arg(long, value_enum, default_value = "ask")]
    answer: Answer,
    /// The least protection that a call is taken with; otherwise that of --protection
    #[arg(long, value_enum)]
    accept: Option<Protection>,
    /// End after so many calls
    #[arg(long, value_name = "N")]
    calls: Option<u32>,
    /// Be known at home for so many seconds, and say so again before they are over
    #[arg(long, value_name = "N", default_value_t = 120, value_parser = clap::value_parser!(u32).range(30..=3_600))]
    expires: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Answer {
    /// Take every call
    Auto,
    /// Ask on the terminal
    Ask,
}

/// Who could hear a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, clap::ValueEnum)]
enum Protection {
    /// Both homes; between them and on the air it is protected
    Home,
    /// Whoever sees the signalling, which is both homes; SRTP with keys in it (SDES)
    Sdes,
    /// Nobody but the two members
    EndToEnd,
}

/// What `call` and `call listen` have in common.
#[derive(Clone, Debug, clap::Args)]
struct LineArgs {
    /// Your secret key
    #[arg(long, default_value = "member.key")]
    key: PathBuf,
    /// Your certificate
    #[arg(long, default_value = "member.cert")]
    certificate: PathBuf,
    #[command(flatten)]
    passphrase: PassphraseArgs,
    /// Your home's address inside the tunnel; otherwise the resolver that --tunnel names
    #[arg(long, value_name = "ADDRESS[:PORT]", value_parser = parse_home)]
    home: Option<SocketAddr>,
    /// WireGuard's configuration of the way home; otherwise the file of your key's name that ends in .conf
    #[arg(long, value_name = "FILE", conflicts_with = "home")]
    tunnel: Option<PathBuf>,
    /// Do without a home: calls go straight to the address dialled, and come from anywhere
    #[arg(long, conflicts_with_all = ["home", "tunnel"])]
    direct: bool,
    /// This computer's own address; otherwise the one that the way home begins with
    #[arg(long, value_name = "ADDRESS")]
    address: Option<IpAddr>,
    /// The port for SIP; 0 takes any
    #[arg(long, default_value_t = 0)]
    port: u16,
    /// What SIP goes over
    #[arg(long, value_enum, default_value = "udp")]
    transport: Transport,
    /// Your name at home; otherwise that of your key's file
    #[arg(long, value_name = "NAME")]
    user: Option<String>,
    /// The file of your contacts; otherwise guestright/contacts among your settings
    #[arg(long, value_name = "FILE")]
    contacts: Option<PathBuf>,
    /// Who may be able to hear the call
    #[arg(long, value_enum, default_value = "end-to-end")]
    protection: Protection,
    /// Codecs, the best first [default: pcmu,pcma]
    #[arg(long, value_delimiter = ',')]
    codec: Vec<String>,
    /// When what arrives is played [default: neteq]
    #[arg(long, value_enum)]
    playout: Option<Playout>,
    /// Say this sound file instead of what the microphone hears
    #[arg(long, value_name = "FILE.wav")]
    play: Option<PathBuf>,
    /// Begin the sound file again when it is over
    #[arg(long = "loop", requires = "play")]
    again: bool,
    /// Keep what is heard in a sound file instead of playing it
    #[arg(long, value_name = "FILE.wav")]
    record: Option<PathBuf>,
    /// Use no sound card: say silence where --play is absent, play nothing
    #[arg(long)]
    no_sound: bool,
    /// Hang up after so many seconds of talking
    #[arg(long, value_name = "N")]
    seconds: Option<u64>,
    /// Give up when nobody has answered after so many seconds
    #[arg(long, value_name = "N", default_value_t = 60)]
    ring_seconds: u64,
    /// Send next to nothing in pauses
    #[arg(long)]
    dtx: bool,
    /// How far the two computers' clocks may differ, in milliseconds: with it the one-way delay is an interval, without
    /// it is not known
    #[arg(long, value_name = "MS")]
    clock_error_ms: Option<f64>,
    /// Print events as lines of JSON, and the summary as the last one
    #[arg(long)]
    json: bool,
    /// Write a row of figures for each second
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,
    /// Write what was sent and received, as it was on the wire
    #[arg(long, value_name = "FILE")]
    pcapng: Option<PathBuf>,
    /// Take commands from standard input even if it is no terminal: hold, resume, codec NAME, quit
    #[arg(long)]
    control: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Transport {
    /// Datagrams
    Udp,
    /// One connection
    Tcp,
}

/// A policy of playing out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Playout {
    /// The same delay from beginning to end
    Fixed,
    /// A quantile of a histogram of delays, as NetEQ has it
    Neteq,
    /// Exponential averages (Ramjee and others, 1994)
    Ramjee,
    /// Quantiles of the last delays (Moon and others, 1998)
    Moon,
    /// The papers' buffer: 120 ms, played from when it is half full
    Paper,
    /// Paper D's clock, which handshakes set; only with --profile boat
    Boat,
}

impl Call {
    pub(crate) fn run(self, out: &mut impl Write) -> Outcome {
        match (self.command, self.name) {
            (Some(CallCommand::Card(card)), _) => card.run(out),
            (Some(CallCommand::Contact(command)), _) => command.run(out),
            (Some(CallCommand::Listen(listen)), _) => {
                let waiting = Waiting {
                    answer: listen.answer.into(),
                    accept: listen.accept.unwrap_or(listen.line.protection).into(),
                    calls: listen.calls,
                    expires_s: listen.expires,
                };
                start(&listen.line, Task::Listen(waiting), out)
            }
            (None, Some(name)) => start(&self.line, Task::Dial(name), out),
            (None, None) => Err(Failure::user(anyhow!("nobody was named to call"))),
        }
    }
}

fn start(line: &LineArgs, task: Task, out: &mut impl Write) -> Outcome {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let outcome = runtime.block_on(async {
        // Everything is checked before a port is opened; signals wait from now on.
        let kinds = telephone::codecs(&line.codec).map_err(failure)?;
        let voice = line.voice();
        drop(telephone::ear::policy(voice.playout).map_err(failure)?);
        let stop = Signals::register()?.into_channel();
        let contacts = telephone::contacts::load(line.contacts.as_deref()).map_err(failure)?;
        let credentials = line.credentials(&task)?;
        let callee = match &task {
            Task::Dial(name) => Some(name.as_str()),
            Task::Listen(_) => None,
        };
        let settings = telephone::TelephoneSettings {
            line: line.settings(),
            account: Account::find(&line.account(), callee).map_err(failure)?,
            port: line.port,
            transport: line.transport.into(),
            protection: line.protection.into(),
            kinds,
            voice,
            credentials,
            contacts,
        };
        let asks = matches!(&task, Task::Listen(waiting) if waiting.answer == telephone::Answer::Ask);
        let controls = telephone::Controls { commands: commands(line.control || asks), stop };
        telephone::run(settings, task, controls, out).await.map_err(failure)
    });
    // A goodbye that the stack still wants to repeat must not hold us.
    runtime.shutdown_timeout(Duration::from_millis(200));
    outcome
}

/// Lines of standard input, if they are wanted or a person types them; else none ever come.
fn commands(wanted: bool) -> mpsc::Receiver<String> {
    if wanted || std::io::stdin().is_terminal() {
        telephone::read_commands(std::io::stdin())
    } else {
        mpsc::channel(1).1
    }
}

fn failure(error: TelephoneError) -> Failure {
    use telephone::ErrorKind;
    let hint = error.hint();
    let failure = match (error.kind(), error) {
        // As it is: whether the reader of our output has gone is asked of it.
        (_, TelephoneError::Io(error)) => Failure::user(error),
        (ErrorKind::User | ErrorKind::Bug, error) => Failure::user(error),
        (ErrorKind::Config, error) => Failure::config(error),
        (ErrorKind::Network, error) => Failure::network(error),
    };
    match hint {
        Some(hint) => failure.hint(hint),
        None => failure,
    }
}

impl LineArgs {
    fn settings(&self) -> telephone::LineSettings {
        telephone::LineSettings {
            sound: telephone::SoundSettings {
                play: self.play.clone(),
                again: self.again,
                record: self.record.clone(),
                no_card: self.no_sound,
            },
            recording: self.pcapng.clone(),
            report: telephone::ReportSettings {
                json: self.json,
                live: std::io::stdout().is_terminal(),
                csv: self.csv.clone(),
            },
            talk_max: self.seconds.map(Duration::from_secs),
            ring_max: Duration::from_secs(self.ring_seconds),
        }
    }

    fn voice(&self) -> telephone::VoiceSettings {
        telephone::VoiceSettings {
            playout: self.playout.unwrap_or(Playout::Neteq).into(),
            dtx: self.dtx,
            clock_error_ms: self.clock_error_ms,
        }
    }

    fn account(&self) -> AccountSettings {
        AccountSettings {
            key: self.key.clone(),
            user: self.user.clone(),
            home: self.home,
            tunnel: self.tunnel.clone(),
            direct: self.direct,
            address: self.address,
        }
    }

    /// The member's own. Where no call has to be protected from end to end it may do without.
    fn credentials(&self, task: &Task) -> Result<Option<Credentials>, Failure> {
        let end_to_end = telephone::Protection::EndToEnd;
        let (is_of_use, is_needed) = match task {
            Task::Dial(_) => (telephone::Protection::from(self.protection) == end_to_end, true),
            // Whoever calls may want more than the least.
            Task::Listen(waiting) => (true, waiting.accept == end_to_end),
        };
        if !is_of_use || (!is_needed && !self.key.exists()) {
            return Ok(None);
        }
        self.passphrase.credentials(&self.key, &self.certificate).map(Some).map_err(|failure| {
            failure
                .hint("name your files with --key and --certificate; `guestright team member add` makes them")
        })
    }
}

impl From<Transport> for telephone::Transport {
    fn from(transport: Transport) -> Self {
        match transport {
            Transport::Udp => Self::Udp,
            Transport::Tcp => Self::Tcp,
        }
    }
}

impl From<Answer> for telephone::Answer {
    fn from(answer: Answer) -> Self {
        match answer {
            Answer::Auto => Self::Auto,
            Answer::Ask => Self::Ask,
        }
    }
}

impl From<Protection> for telephone::Protection {
    fn from(protection: Protection) -> Self {
        match protection {
            Protection::Home => Self::Home,
            Protection::Sdes => Self::Sdes,
            Protection::EndToEnd => Self::EndToEnd,
        }
    }
}

impl From<Playout> for telephone::Playout {
    fn from(playout: Playout) -> Self {
        match playout {
            Playout::Fixed => Self::Fixed,
            Playout::Neteq => Self::Neteq,
            Playout::Ramjee => Self::Ramjee,
            Playout::Moon => Self::Moon,
            Playout::Paper => Self::Paper,
            Playout::Boat => Self::Boat,
        }
    }
}
