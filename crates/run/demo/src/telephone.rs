//! W1 calls W2, each on the other household's access point, through both homes.

use super::cast::{Cast, PATIENCE};
use super::error::{DemoError, missing};
use super::report::Voice;
use super::story::Story;
use super::town::{Guest, W1, W2};
use guestright_error::OrFail as _;
use serde_json::Value;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;
use tokio::io::{AsyncBufReadExt, BufReader, Lines};
use tokio::process::{Child, ChildStdout, Command};

/// How long they talk, in seconds: as long as the recording that they play to each other.
const TALK: u64 = 10;
/// A call's beginning, the talk itself and its end take no longer, on a crowded computer either.
const CALL_MAX: Duration = Duration::from_secs(TALK + 60);
/// How far both telephones' clocks are apart: it is one computer, which reads its clock this often, in milliseconds.
const CLOCK_ERROR_MS: &str = "0.1";
/// How long a telephone holds what arrives, in milliseconds: on a crowded computer some packets are long on their way, and
/// so much delay hardly disturbs anybody (ITU-T G.114). The buffer for the captures is half full then.
const HOLD_MS: &str = "150";
const BUFFER_MS: &str = "300";
/// How far the rating of a telephone and that of its capture may differ. Both see the same packets at the same times; what
/// is left is the delay, which a telephone knows from the other side's reports. Two packets lost in a hundred are twice that.
const AGREEMENT: f64 = 0.1;
/// Below that many users are dissatisfied (ITU-T G.109; paper A, section 4.2, draws its line here too).
const GOOD: f64 = 3.6;

/// A telephone that has been started, and what it says.
struct Telephone {
    program: Child,
    says: Lines<BufReader<ChildStdout>>,
    events: Vec<Value>,
}

impl Telephone {
    /// Waits for an event of this name.
    async fn until(&mut self, event: &str) -> Result<Value, DemoError> {
        while let Some(line) = self.says.next_line().await? {
            let value: Value = serde_json::from_str(&line).or_network(|| format!("understand {line}"))?;
            self.events.push(value.clone());
            if value["event"] == event {
                return Ok(value);
            }
        }
        let last = self.events.last();
        Err(DemoError::unexpected(format!("a telephone ended before it was {event}; it said {last:?}")))
    }
}

impl Cast {
    /// The card of a member, for others to call it.
    pub(crate) fn card(&self, team: &str, name: &str) -> Result<String, DemoError> {
        let certificate = self.directory().join(team).join(format!("{name}.cert"));
        let certificate = certificate.to_str().ok_or_else(missing("the demo's paths are plain"))?;
        Ok(self.guestright(&["call", "card", "--certificate", certificate])?.trim().to_owned())
    }

    /// Starts a telephone that plays the recording.
    fn telephone(&self, guest: Guest, team: &str, arguments: &[&str]) -> Result<Telephone, DemoError> {
        let directory = self.directory().join(team);
        let file = |ending: &str| directory.join(format!("{}.{ending}", guest.name));
        let mut command = Command::from(self.world.command(guest.name, self.program())?);
        command.arg("call").args(arguments).arg("--key").arg(file("key"));
        command.arg("--certificate").arg(file("cert")).arg("--tunnel").arg(file("conf"));
        command.arg("--contacts").arg(self.contacts()).arg("--play").arg(self.speech());
        command.arg("--record").arg(file("wav")).arg("--pcapng").arg(file("pcapng"));
        command.args(["--json", "--clock-error-ms", CLOCK_ERROR_MS, "--hold-ms", HOLD_MS]);
        let log = self.log(&format!("{}-call", guest.name))?;
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(log).kill_on_drop(true);
        let mut program = command.spawn()?;
        let output = program.stdout.take().ok_or_else(missing("its output is piped"))?;
        Ok(Telephone { program, says: BufReader::new(output).lines(), events: Vec::new() })
    }

    fn contacts(&self) -> PathBuf {
        self.directory().join("w1.contacts")
    }

    fn speech(&self) -> PathBuf {
        self.directory().join("speech.wav")
    }

    /// What `guestright mos` says of the stream that a telephone has heard, by both telephones' captures.
    fn rating_by_capture(&self, received: (&str, Guest), sent: (&str, Guest)) -> Result<Value, DemoError> {
        let capture = |(team, guest): (&str, Guest)| {
            self.directory().join(team).join(format!("{}.pcapng", guest.name)).display().to_string()
        };
        let (here, there) = (capture(received), capture(sent));
        let arguments = [
            "mos",
            &here,
            "--other-end",
            &there,
            "--clock-error-ms",
            CLOCK_ERROR_MS,
            "--buffer-ms",
            BUFFER_MS,
            // As the telephones decode it.
            "--codec",
            "g711u-plc",
            "--json",
        ];
        let report: Value = serde_json::from_str(&self.guestright(&arguments)?)?;
        let arrived = |stream: &&Value| stream["delay_source"]["kind"] == "two-captures";
        let stream = report["files"][0]["streams"].as_array().into_iter().flatten().find(arrived);
        let none = || DemoError::unexpected(format!("a stream that arrived, in {here}"));
        Ok(stream.ok_or_else(none)?["parts"][0].clone())
    }
}

impl Story<'_> {
    pub(crate) async fn w1_calls_w2(&mut self) -> Result<(), DemoError> {
        std::fs::write(self.cast.speech(), guestright_audio::SPEECH)?;
        let card = self.cast.card("team1", "w2")?;
        let contacts = self.cast.contacts();
        let contacts = contacts.to_str().ok_or_else(missing("the demo's paths are plain"))?;
        self.cast.guestright(&["call", "contact", "add", &card, "--contacts", contacts])?;
        let outcome = tokio::time::timeout(CALL_MAX, self.talk()).await;
        let Ok(outcome) = outcome else {
            let logs = [W1, W2].map(|guest| self.cast.read_log(&format!("{}-call", guest.name)));
            return Err(DemoError::unexpected(format!(
                "the call did not end in time:\n{}{}",
                logs[0], logs[1]
            )));
        };
        outcome
    }

    async fn talk(&mut self) -> Result<(), DemoError> {
        let mut callee = self.cast.telephone(W2, "team1", &["listen", "--answer", "auto", "--calls", "1"])?;
        tokio::time::timeout(PATIENCE, callee.until("registered"))
            .await
            .or_network(|| "register".to_owned())??;
        let seconds = TALK.to_string();
        let mut caller = self.cast.telephone(W1, "team2", &["w2", "--seconds", &seconds])?;
        caller.until("calling").await?;
        let began = std::time::Instant::now();
        let words = |event: &Value| event["words"].clone();
        let at_w1 = words(&caller.until("protected").await?);
        let set_up = began.elapsed();
        let at_w2 = words(&callee.until("protected").await?);
        self.say(&format!(
            "W1 calls W2, through V1, both homes and V2; both read the words {}",
            spoken(&at_w1)
        ))?;
        let same = at_w1 == at_w2 && at_w1.as_array().is_some_and(|words| words.len() == 4);
        let summaries = [caller.until("summary").await?, callee.until("summary").await?];
        for telephone in [&mut caller, &mut callee] {
            let status = telephone.program.wait().await?;
            if !status.success() {
                return Err(DemoError::unexpected(format!(
                    "a telephone ended with {status}; it said {:?}",
                    telephone.events.last()
                )));
            }
        }
        let pairs = [(("team2", W1), ("team1", W2)), (("team1", W2), ("team2", W1))];
        let summaries = [(&summaries[0], &summaries[1]), (&summaries[1], &summaries[0])];
        for ((ear, mouth), (here, there)) in pairs.into_iter().zip(summaries) {
            let by_capture = self.cast.rating_by_capture(ear, mouth)?;
            let who = if ear.1.name == W1.name { "W1 hears W2" } else { "W2 hears W1" };
            self.report.voices.push(Voice::new(who, here, there, &by_capture)?);
        }
        let seen = self.report.voices.iter().map(Voice::in_short).collect::<Vec<_>>().join("; ");
        self.say(&format!("they talk for {TALK} s and hang up: {seen}"))?;
        let good = self.report.voices.iter().all(|voice| voice.mos >= GOOD);
        let detail = format!("{seen}; set up in {:.2} s", set_up.as_secs_f64());
        self.check("two members who roam on each other's Wi-Fi talk, and hear each other well", good, detail);
        let whole = self.report.voices.iter().all(Voice::is_whole);
        let played = |voice: &Voice| {
            let Voice { who, sent, packets, loss, .. } = voice;
            format!("{who}: {packets} of {sent} packets came, and all but {:.1} % were played", loss * 100.0)
        };
        let seen = self.report.voices.iter().map(played).collect::<Vec<_>>().join("; ");
        self.check("each telephone plays what the other one says, and loses nothing of it", whole, seen);
        let words = format!("both telephones show: {}", spoken(&at_w1));
        self.check("the call is protected from end to end", same, words);
        let worst = self.report.voices.iter().map(|voice| voice.difference).fold(0.0, f64::max);
        let seen = format!("the largest difference in MOS is {worst:.3}");
        self.check("each telephone's figure is that of its capture", worst <= AGREEMENT, seen);
        Ok(())
    }
}

fn spoken(words: &Value) -> String {
    let words = words.as_array().into_iter().flatten().filter_map(Value::as_str);
    words.collect::<Vec<_>>().join(" ")
}
