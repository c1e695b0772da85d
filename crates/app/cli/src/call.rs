//! What `call` has in both programs: the arguments of any call, with or without SIP, and the person who types.

use crate::failure::{Failure, Outcome};
use crate::signals::Signals;
use clap::ValueEnum;
use clap::builder::PossibleValue;
use guestright_directory::Contacts;
use guestright_telephone::{
    self as telephone, Answer, Controls, LineSettings, Playout, ReportSettings, SoundSettings, Task, Waiting,
};
use std::io::IsTerminal;
use std::path::PathBuf;
use std::time::Duration;
use tokio::sync::mpsc;

/// The arguments of any call, made or waited for.
#[derive(Clone, Debug, clap::Args)]
pub struct LineArgs {
    /// The file of your contacts; otherwise guestright/contacts among your settings
    #[arg(long, value_name = "FILE")]
    contacts: Option<PathBuf>,
    /// When what arrives is played [default: neteq]
    #[arg(long, value_enum)]
    playout: Option<PlayoutName>,
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
    /// Print events as lines of JSON, and the summary as the last one
    #[arg(long)]
    json: bool,
    /// Write a row of figures for each second
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,
    /// Write what was sent and received, as it was on the wire
    #[arg(long, value_name = "FILE")]
    pcapng: Option<PathBuf>,
}

impl LineArgs {
    /// # Errors
    /// The file is named and not there, or cannot be understood.
    pub fn contacts(&self) -> Result<Contacts, Failure> {
        Ok(telephone::contacts::load(self.contacts.as_deref())?)
    }

    /// The policy that was asked for, if one was.
    #[must_use]
    pub fn playout(&self) -> Option<Playout> {
        self.playout.map(|name| name.0)
    }

    #[must_use]
    pub fn settings(&self) -> LineSettings {
        LineSettings {
            sound: SoundSettings {
                play: self.play.clone(),
                again: self.again,
                record: self.record.clone(),
                no_card: self.no_sound,
            },
            recording: self.pcapng.clone(),
            report: ReportSettings {
                json: self.json,
                live: std::io::stdout().is_terminal(),
                csv: self.csv.clone(),
            },
            talk_max: self.seconds.map(Duration::from_secs),
            ring_max: Duration::from_secs(self.ring_seconds),
        }
    }
}

/// The arguments of waiting for calls, of any kind.
#[derive(Clone, Debug, clap::Args)]
pub struct WaitingArgs {
    /// Whether a person is asked before a call is taken
    #[arg(long, value_enum, default_value = "ask")]
    answer: AnswerName,
    /// End after so many calls
    #[arg(long, value_name = "N")]
    calls: Option<u32>,
}

impl WaitingArgs {
    #[must_use]
    pub fn task(&self) -> Task {
        let answer = match self.answer {
            AnswerName::Auto => Answer::Auto,
            AnswerName::Ask => Answer::Ask,
        };
        Task::Listen(Waiting { answer, calls: self.calls })
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum AnswerName {
    /// Take every call
    Auto,
    /// Ask on the terminal
    Ask,
}

/// A policy of playing out, as a person writes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct PlayoutName(Playout);

impl ValueEnum for PlayoutName {
    fn value_variants<'a>() -> &'a [Self] {
        const {
            &[
                Self(Playout::FIXED),
                Self(Playout::Neteq),
                Self(Playout::Ramjee),
                Self(Playout::Moon),
                Self(Playout::Paper),
                Self(Playout::Boat),
            ]
        }
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        let (name, help) = match self.0 {
            Playout::Fixed(_) => ("fixed", "The same delay from beginning to end"),
            Playout::Neteq => ("neteq", "A quantile of a histogram of delays, as NetEQ has it"),
            Playout::Ramjee => ("ramjee", "Exponential averages (Ramjee and others, 1994)"),
            Playout::Moon => ("moon", "Quantiles of the last delays (Moon and others, 1998)"),
            Playout::Paper => ("paper", "The papers' buffer: 120 ms, played from when it is half full"),
            Playout::Boat => ("boat", "Paper D's clock, which handshakes set; only with --profile boat"),
        };
        Some(PossibleValue::new(name).help(help))
    }
}

/// Runs a call to its end, on a runtime of its own.
///
/// # Errors
/// Those of the call, or the operating system gives no threads.
pub fn run(call: impl Future<Output = Outcome>) -> Outcome {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    let runtime = runtime.map_err(Failure::network)?;
    let outcome = runtime.block_on(call);
    // A goodbye that the stack still wants to repeat must not hold us.
    runtime.shutdown_timeout(Duration::from_millis(200));
    outcome
}

/// Signals, and lines of standard input if they are wanted, if somebody has to be asked, or if a person types them.
#[must_use]
pub fn controls(signals: Signals, is_controlled: bool, task: &Task) -> Controls {
    let asks = matches!(task, Task::Listen(waiting) if waiting.answer == Answer::Ask);
    let commands = if is_controlled || asks || std::io::stdin().is_terminal() {
        telephone::read_commands(std::io::stdin())
    } else {
        mpsc::channel(1).1
    };
    Controls { commands, stop: signals.into_channel() }
}
