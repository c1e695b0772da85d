//! What makes and counts the traffic: this program again, on one of the hosts, one JSON object on each line.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, ExitCode, Stdio};

use anyhow::{Context as _, Result, bail, ensure};
use rustix::time::{ClockId, clock_gettime};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::lab::Lab;
use crate::{own_program, tcp, voice};

/// The first argument of a generator.
pub(crate) const FLAG: &str = "--generator";

/// What a generator says.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Message {
    /// The socket is open.
    Ready,
    /// What is counted begins now.
    Begun,
    Done(Value),
    Failed(String),
}

pub(crate) fn main(arguments: &[String]) -> ExitCode {
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let outcome = match words.as_slice() {
        ["tcp-receive", job] => parse(job).and_then(|job| tcp::receive(&job)),
        ["tcp-send", job] => parse(job).and_then(|job| tcp::send(&job)),
        ["voice-receive", job] => parse(job).and_then(|job| voice::receive(&job)),
        ["voice-send", job] => parse(job).and_then(|job| voice::send(&job)),
        _ => Err(anyhow::anyhow!("no generator is called {words:?}")),
    };
    match outcome {
        Ok(result) => send_message(&Message::Done(result)),
        Err(error) => send_message(&Message::Failed(format!("{error:#}"))),
    }
    ExitCode::SUCCESS
}

fn parse<T: for<'a> Deserialize<'a>>(job: &str) -> Result<T> {
    serde_json::from_str(job).with_context(|| format!("parse {job}"))
}

/// Tells the measuring process; if that is gone there is nobody to tell.
pub(crate) fn send_message(message: &Message) {
    let text = serde_json::to_string(message).expect("a message is JSON");
    let mut out = std::io::stdout().lock();
    let _ = writeln!(out, "{text}").and_then(|()| out.flush());
}

/// Says that the socket is open and waits for the word to begin.
pub(crate) fn wait_for_go() -> Result<()> {
    send_message(&Message::Ready);
    let mut line = String::new();
    std::io::stdin().read_line(&mut line).context("wait for the word to begin")?;
    Ok(())
}

/// Nanoseconds since some moment that is the same for all hosts of this computer.
pub(crate) fn now() -> u64 {
    nanoseconds(ClockId::Monotonic)
}

/// Nanoseconds that this process ran on a processor.
pub(crate) fn own_processor_time() -> u64 {
    nanoseconds(ClockId::ProcessCPUTime)
}

fn nanoseconds(clock: ClockId) -> u64 {
    let time = clock_gettime(clock);
    (time.tv_sec * 1_000_000_000 + time.tv_nsec) as u64
}

/// A generator on a host. Killed and waited for when dropped.
pub(crate) struct Generator {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    role: &'static str,
}

impl Generator {
    /// Starts it and waits until its socket is open.
    pub(crate) fn start(lab: &Lab, host: &str, role: &'static str, job: &impl Serialize) -> Result<Self> {
        let mut command = lab.world.command(host, own_program()?)?;
        command.args([FLAG, role, &serde_json::to_string(job)?]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().with_context(|| format!("start {role}"))?;
        let (input, output) = (child.stdin.take(), child.stdout.take());
        let mut generator = Self {
            child,
            input: input.context("a pipe to the generator")?,
            output: BufReader::new(output.context("a pipe from the generator")?),
            role,
        };
        let first = generator.hear()?;
        ensure!(matches!(first, Message::Ready), "{role} began with {first:?}");
        Ok(generator)
    }

    /// Lets it begin.
    pub(crate) fn go(&mut self) -> Result<()> {
        writeln!(self.input, "go").with_context(|| format!("tell {} to begin", self.role))
    }

    /// Waits until what is counted begins.
    pub(crate) fn begun(&mut self) -> Result<()> {
        let next = self.hear()?;
        ensure!(matches!(next, Message::Begun), "{} said {next:?}", self.role);
        Ok(())
    }

    /// Waits for the result.
    pub(crate) fn done<T: for<'a> Deserialize<'a>>(&mut self) -> Result<T> {
        loop {
            match self.hear()? {
                Message::Done(value) => return serde_json::from_value(value).context("parse a result"),
                Message::Ready | Message::Begun | Message::Failed(_) => {}
            }
        }
    }

    /// The next message. Generators have time limits of their own, so one comes or the pipe closes.
    fn hear(&mut self) -> Result<Message> {
        let mut line = String::new();
        let length = self.output.read_line(&mut line).with_context(|| format!("listen to {}", self.role))?;
        if length == 0 {
            bail!("{} ended without a word", self.role);
        }
        let message = serde_json::from_str(&line).with_context(|| format!("{} said {line:?}", self.role))?;
        if let Message::Failed(why) = message {
            bail!("{}: {why}", self.role);
        }
        Ok(message)
    }
}

impl Drop for Generator {
    fn drop(&mut self) {
        // It may have ended by itself; either way it is waited for.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
