//! `guestright call`: a member's own telephone.

mod contacts;

use anyhow::anyhow;
use guestright_channel::Credentials;
use guestright_cli::call::{self, LineArgs, WaitingArgs};
use guestright_cli::failure::{Failure, Outcome};
use guestright_cli::files::MemberArgs;
use guestright_cli::output::Output;
use guestright_cli::signals::Signals;
use guestright_telephone::home::{Account, AccountSettings, parse_home};
use guestright_telephone::{self as telephone, Reachability, Task};
use guestright_units::Micros;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;

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
    sip: SipArgs,
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
    sip: SipArgs,
    #[command(flatten)]
    waiting: WaitingArgs,
    /// The least protection that a call is taken with; otherwise that of --protection
    #[arg(long, value_enum)]
    accept: Option<Protection>,
    /// Be known at home for so many seconds, and say so again before they are over
    #[arg(long, value_name = "N", default_value_t = 120, value_parser = clap::value_parser!(u32).range(30..=3_600))]
    expires: u32,
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
struct SipArgs {
    #[command(flatten)]
    member: MemberArgs,
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
    /// Who may be able to hear the call
    #[arg(long, value_enum, default_value = "end-to-end")]
    protection: Protection,
    // All of them, also those that this computer lacks: which it has, `guestright doctor` says.
    #[arg(long, value_name = "NAME", value_delimiter = ',', help = codecs_help())]
    codec: Vec<String>,
    #[command(flatten)]
    line: LineArgs,
    /// Hold what arrives for so long: --playout fixed with another time than its 60 ms
    #[arg(long, value_name = "MS", conflicts_with = "playout", value_parser = clap::value_parser!(u16).range(20..=1000))]
    hold_ms: Option<u16>,
    /// Send next to nothing in pauses
    #[arg(long)]
    dtx: bool,
    /// How far the two computers' clocks may differ, in milliseconds: with it the one-way delay is an interval, without
    /// it is not known
    #[arg(long, value_name = "MS")]
    clock_error_ms: Option<f64>,
    /// Take commands from standard input even if it is no terminal: hold, resume, codec NAME, quit
    #[arg(long)]
    control: bool,
}

fn codecs_help() -> String {
    let names = guestright_codec::Kind::ALL.map(|kind| kind.format().name).join(", ");
    format!("Codecs, the best first [default: pcmu,pcma] [possible values: {names}]")
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Transport {
    /// Datagrams
    Udp,
    /// One connection
    Tcp,
}

impl Call {
    pub(crate) fn run(self, out: &mut Output) -> Outcome {
        match (self.command, self.name) {
            (Some(CallCommand::Card(card)), _) => card.run(out),
            (Some(CallCommand::Contact(command)), _) => command.run(out),
            (Some(CallCommand::Listen(listen)), _) => {
                let accept = listen.accept.unwrap_or(listen.sip.protection).into();
                let reachable = Reachability { accept, expires_s: listen.expires };
                start(&listen.sip, listen.waiting.task(), reachable, out)
            }
            (None, Some(name)) => {
                let reachable = Reachability { accept: self.sip.protection.into(), expires_s: 0 };
                start(&self.sip, Task::Dial(name), reachable, out)
            }
            (None, None) => Err(Failure::user(anyhow!("nobody was named to call"))),
        }
    }
}

fn start(sip: &SipArgs, task: Task, reachable: Reachability, out: &mut Output) -> Outcome {
    call::run(async {
        // Everything is checked before a port is opened; signals wait from now on.
        let kinds = telephone::codecs(&sip.codec)?;
        let voice = sip.voice();
        drop(telephone::ear::policy(voice.playout)?);
        let signals = Signals::register().map_err(Failure::network)?;
        let contacts = sip.line.contacts()?;
        let credentials = sip.credentials(&task, reachable.accept)?;
        let callee = match &task {
            Task::Dial(name) => Some(name.as_str()),
            Task::Listen(_) => None,
        };
        let settings = telephone::TelephoneSettings {
            line: sip.line.settings(),
            account: Account::find(&sip.account(), callee)?,
            port: sip.port,
            transport: sip.transport.into(),
            protection: sip.protection.into(),
            reachable,
            kinds,
            voice,
            credentials,
            contacts,
        };
        let controls = call::controls(signals, sip.control, &task);
        Ok(telephone::run(settings, task, controls, out).await?)
    })
}

impl SipArgs {
    fn voice(&self) -> telephone::VoiceSettings {
        telephone::VoiceSettings {
            playout: match self.hold_ms {
                Some(hold) => telephone::Playout::Fixed(Micros::from_millis(hold.into())),
                None => self.line.playout().unwrap_or(telephone::Playout::Neteq),
            },
            dtx: self.dtx,
            clock_error_ms: self.clock_error_ms,
        }
    }

    fn account(&self) -> AccountSettings {
        AccountSettings {
            key: self.member.key().to_owned(),
            user: self.user.clone(),
            home: self.home,
            tunnel: self.tunnel.clone(),
            direct: self.direct,
            address: self.address,
        }
    }

    /// The member's own. Where no call has to be protected from end to end it may do without.
    fn credentials(
        &self,
        task: &Task,
        accept: telephone::Protection,
    ) -> Result<Option<Credentials>, Failure> {
        let end_to_end = telephone::Protection::EndToEnd;
        let (is_of_use, is_needed) = match task {
            Task::Dial(_) => (telephone::Protection::from(self.protection) == end_to_end, true),
            // Whoever calls may want more than the least.
            Task::Listen(_) => (true, accept == end_to_end),
        };
        if !is_of_use || (!is_needed && !self.member.key().exists()) {
            return Ok(None);
        }
        self.member.credentials().map(Some)
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

impl From<Protection> for telephone::Protection {
    fn from(protection: Protection) -> Self {
        match protection {
            Protection::Home => Self::Home,
            Protection::Sdes => Self::Sdes,
            Protection::EndToEnd => Self::EndToEnd,
        }
    }
}
