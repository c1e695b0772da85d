//! The programs of the town, started for real, and what they say.

use super::error::{DemoError, missing};
use super::town::{self, GUESTS, Guest, Household, UPLINK};
use guestright_error::{OrFail as _, RunError};
use guestright_host::control;
use guestright_netns::World;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};
use tokio::sync::mpsc;

/// How long any single thing may take before the demo says that it failed.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// How many lines of each log go into a failure.
const LAST_LINES: usize = 12;

/// The town and its programs. Dropping it ends them.
#[derive(Debug)]
pub struct Cast {
    pub(crate) world: World,
    directory: PathBuf,
    program: PathBuf,
    pub(crate) programs: Vec<Child>,
    visits: BTreeMap<&'static str, Child>,
    sender: mpsc::UnboundedSender<(&'static str, Value)>,
    hears: mpsc::UnboundedReceiver<(&'static str, Value)>,
    pending: Vec<(&'static str, Value)>,
}

/// What a download brought.
#[derive(Clone, Debug)]
pub(crate) struct Download {
    pub(crate) bytes: u64,
    pub(crate) seconds: f64,
    /// The address that the server saw.
    pub(crate) seen_as: String,
}

impl Cast {
    /// Builds the town. `program` is `guestright`; everything is kept in `directory`.
    pub(crate) fn new(directory: PathBuf, program: PathBuf) -> Result<Self, DemoError> {
        std::fs::create_dir_all(&directory).or_network(|| format!("make {}", directory.display()))?;
        let (sender, hears) = mpsc::unbounded_channel();
        Ok(Self {
            world: town::build()?,
            directory,
            program,
            programs: Vec::new(),
            visits: BTreeMap::new(),
            sender,
            hears,
            pending: Vec::new(),
        })
    }

    pub(crate) fn program(&self) -> &Path {
        &self.program
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.join(name)
    }

    /// Runs `guestright` as a person would, outside the town.
    pub(crate) fn guestright<S: AsRef<OsStr>>(&self, arguments: &[S]) -> Result<String, DemoError> {
        let output =
            std::process::Command::new(&self.program).args(arguments).stdin(Stdio::null()).output()?;
        if !output.status.success() {
            return Err(DemoError::unexpected(format!(
                "guestright said: {}",
                String::from_utf8_lossy(&output.stderr).trim()
            )));
        }
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }

    /// Makes a team, its gateway if it has a household, and its members' keys with the program's own commands.
    /// Members of a team with a gateway have a way home.
    pub(crate) fn found(
        &self,
        team: &str,
        household: Option<Household>,
        members: &[(&str, &str)],
    ) -> Result<(), DemoError> {
        let directory = self.path(team);
        let run = |arguments: &[&str]| {
            let arguments: Vec<_> = arguments.iter().map(OsStr::new).collect();
            self.guestright(&[arguments.as_slice(), &["--dir".as_ref(), directory.as_os_str()]].concat())
                .map(drop)
        };
        run(&["team", "init"])?;
        if let Some(household) = household {
            let (endpoint, network) = (household.gateway().to_string(), household.members());
            run(&["team", "gateway", "init", "--endpoint", &endpoint, "--network", &network])?;
        }
        for (name, role) in members {
            let way: &[_] = if household.is_some() && *role == "member" { &["--qr"] } else { &[] };
            run(&[&["team", "member", "add", *name, "--role", *role], way].concat())?;
        }
        Ok(())
    }

    /// Starts a program in `host` and waits for its first line, which says that it is ready.
    pub(crate) async fn start(
        &mut self,
        host: &str,
        name: &str,
        arguments: &[&str],
    ) -> Result<(), DemoError> {
        let mut command = Command::from(self.world.command(host, &self.program)?);
        let log = self.log(name)?;
        command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(log).kill_on_drop(true);
        let mut child = command.spawn()?;
        let output = child.stdout.take().ok_or_else(missing("its output is piped"))?;
        let mut lines = BufReader::new(output).lines();
        let first = tokio::time::timeout(PATIENCE, lines.next_line()).await;
        if !matches!(&first, Ok(Ok(Some(_)))) {
            return Err(DemoError::unexpected(format!("{name} did not start:\n{}", self.read_log(name))));
        }
        tokio::spawn(async move { while let Ok(Some(_)) = lines.next_line().await {} });
        self.programs.push(child);
        Ok(())
    }

    pub(crate) fn log(&self, name: &str) -> Result<std::fs::File, DemoError> {
        let path = self.path(&format!("{name}.log"));
        Ok(std::fs::File::create(&path).or_network(|| format!("make {}", path.display()))?)
    }

    pub(crate) fn read_log(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(&format!("{name}.log"))).unwrap_or_default()
    }

    /// The ends of all logs, and what the access points say of themselves: for a failure that nobody has seen before.
    fn last_words(&self) -> String {
        let teams = ["team1", "team2", "team3"].map(|team| match self.status(team) {
            Ok(status) => format!("{team}: {status}\n"),
            Err(error) => format!("{team}: {}\n", RunError::network(error).sentence()),
        });
        let files = std::fs::read_dir(&self.directory).into_iter().flatten().flatten();
        let logs = files.filter(|file| file.path().extension().is_some_and(|end| end == "log")).map(|file| {
            let text = std::fs::read_to_string(file.path()).unwrap_or_default();
            let lines: Vec<_> = text.lines().rev().take(LAST_LINES).collect();
            let lines: String = lines.into_iter().rev().map(|line| format!("  {line}\n")).collect();
            format!("{}:\n{lines}", file.file_name().to_string_lossy())
        });
        teams.into_iter().chain(logs).collect()
    }

    /// Starts a household's home and access point.
    pub(crate) async fn open(&mut self, household: Household, interval_ms: u64) -> Result<(), DemoError> {
        let team = household.team;
        let directory = self.path(team);
        let allowance = household.allowance.map_or_else(String::new, |bytes| {
            format!("[credit]\nallowance_bytes_per_day = {bytes}\nfounding_bytes = 0\n")
        });
        let home = format!(
            "key = \"home.key\"\ncertificate = \"home.cert\"\nstate = \"home-state\"\n{allowance}[links]\n\
             announce = \"{}:7275\"\n[gateway]\ndirectory = \"gateway\"\nuplink_interface = \"{UPLINK}\"\n[voice]\n",
            household.address
        );
        let ap = format!(
            "key = \"router.key\"\ncertificate = \"router.cert\"\nstate = \"ap-state\"\nhome = \"127.0.0.1:7274\"\n\
             visitor_interface = \"{GUESTS}\"\nuplink_interface = \"{UPLINK}\"\ninterval_ms = {interval_ms}\n\
             volume_bytes = 25000000\nflush_ms = 500\n[shaping]\ndown_bits_per_second = 200000000\n\
             up_bits_per_second = 50000000\n"
        );
        for (name, text) in [("home.toml", home), ("ap.toml", ap)] {
            std::fs::write(directory.join(name), text)?;
        }
        for command in ["home", "ap"] {
            let settings = directory.join(format!("{command}.toml"));
            let settings = settings.to_str().ok_or_else(missing("the demo's paths are plain"))?;
            let name = format!("{}-{command}", household.name);
            self.start(household.name, &name, &["--log", "info", command, "--config", settings]).await?;
        }
        self.until(&format!("{}'s access point to reach its home", household.name), |cast| {
            Ok(cast.status(team)?["home_up"] == true)
        })
        .await
    }

    /// What a household's home answers to a question.
    pub(crate) fn ask_home(&self, household: Household, question: &str) -> Result<Value, DemoError> {
        let state = self.path(household.team).join("home-state");
        let answer = control::ask(&guestright_host::home::socket(&state), question)?;
        answer.ok_or_else(|| DemoError::unexpected(format!("ask the home of {}", household.team)))
    }

    /// What `guestright home …` prints about a household.
    pub(crate) fn home_command(&self, household: Household, arguments: &[&str]) -> Result<String, DemoError> {
        let settings = self.path(household.team).join("home.toml");
        let arguments = ["home"].iter().chain(arguments).chain(&["--config"]).map(OsStr::new);
        self.guestright(&arguments.chain([settings.as_os_str()]).collect::<Vec<_>>())
    }

    /// What an access point says of itself.
    pub(crate) fn status(&self, team: &str) -> Result<Value, DemoError> {
        let socket = self.path(team).join("ap-state/ap.sock");
        let answer = control::ask(&socket, "status")?;
        answer.ok_or_else(|| DemoError::unexpected(format!("ask the access point of {team}")))
    }

    /// Lets a guest visit; what it says comes out of [`Cast::hear`].
    pub(crate) fn visit(
        &mut self,
        guest: Guest,
        team: &str,
        home: Option<Household>,
    ) -> Result<(), DemoError> {
        let directory = self.path(team);
        let mut command = Command::from(self.world.command(guest.name, &self.program)?);
        command.args(["visit", "--json", "--update-seconds", "1", "--key"]);
        command.arg(directory.join(format!("{}.key", guest.name)));
        command.arg("--certificate").arg(directory.join(format!("{}.cert", guest.name)));
        command.arg("--state").arg(directory.join(format!("{}-state", guest.name)));
        // Both transports are in daily use, so both are in the demo.
        if home.is_none() {
            command.args(["--transport", "udp"]);
        }
        if let Some(home) = home {
            command.arg("--home").arg(format!("{}:7274", home.address));
        }
        let log = self.log(&format!("{}-visit", guest.name))?;
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(log).kill_on_drop(true);
        let mut child = command.spawn()?;
        let output = child.stdout.take().ok_or_else(missing("its output is piped"))?;
        let sender = self.sender.clone();
        tokio::spawn(async move {
            let mut lines = BufReader::new(output).lines();
            while let Ok(Some(line)) = lines.next_line().await {
                let _ = sender.send((guest.name, serde_json::from_str(&line).unwrap_or(Value::String(line))));
            }
        });
        self.visits.insert(guest.name, child);
        Ok(())
    }

    /// Sends a signal to a guest's program.
    pub(crate) fn signal(&self, guest: Guest, signal: Signal) -> Result<(), DemoError> {
        let visit = self.visits.get(guest.name).and_then(Child::id).and_then(|id| i32::try_from(id).ok());
        let visit = visit.and_then(Pid::from_raw).ok_or_else(missing("the guest is visiting"))?;
        Ok(kill_process(visit, signal).or_network(|| format!("send {signal:?} to {}", guest.name))?)
    }

    /// Waits until a guest's program says something that `wanted` accepts.
    pub(crate) async fn hear(
        &mut self,
        guest: Guest,
        what: &str,
        wanted: impl Fn(&Value) -> bool,
    ) -> Result<Value, DemoError> {
        let fits = |(name, event): &(&str, Value)| *name == guest.name && wanted(event);
        let deadline = tokio::time::Instant::now() + PATIENCE;
        loop {
            if let Some(index) = self.pending.iter().position(fits) {
                return Ok(self.pending.remove(index).1);
            }
            match tokio::time::timeout_at(deadline, self.hears.recv()).await {
                Ok(Some(event)) => self.pending.push(event),
                Ok(None) | Err(_) => {
                    let last: Vec<_> = self.pending.iter().filter(|(name, _)| *name == guest.name).collect();
                    let log = self.read_log(&format!("{}-visit", guest.name));
                    return Err(DemoError::unexpected(format!(
                        "waited in vain for {} {what}; it said {last:?}\n{log}",
                        guest.name
                    )));
                }
            }
        }
    }

    /// Forgets what a guest has said so far.
    pub(crate) fn forget(&mut self, guest: Guest) {
        while let Ok(event) = self.hears.try_recv() {
            self.pending.push(event);
        }
        self.pending.retain(|(name, _)| *name != guest.name);
    }

    /// Waits until `done` says yes.
    pub(crate) async fn until(
        &self,
        what: &str,
        done: impl Fn(&Self) -> Result<bool, DemoError>,
    ) -> Result<(), DemoError> {
        let deadline = Instant::now() + PATIENCE;
        while !done(self)? {
            if Instant::now() >= deadline {
                return Err(DemoError::unexpected(format!(
                    "waited in vain for {what}\n{}",
                    self.last_words()
                )));
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        Ok(())
    }

    /// Lets a guest download with curl.
    pub(crate) async fn download(&self, guest: Guest, bytes: u64) -> Result<Download, DemoError> {
        let mut command = self.curl(guest, bytes)?;
        let format = "%{http_code} %{size_download} %{time_total} %header{x-client}";
        // A busy computer may be slow. What has stopped for a minute is over.
        let patience = ["--connect-timeout", "60", "--speed-limit", "1", "--speed-time", "60"];
        let output = command.args(["--write-out", format]).args(patience).output().await?;
        let text = String::from_utf8_lossy(&output.stdout);
        let fields: Vec<_> = text.split_whitespace().collect();
        match fields.as_slice() {
            ["200", size, seconds, seen_as] if output.status.success() => Ok(Download {
                bytes: size.parse()?,
                seconds: seconds.parse()?,
                seen_as: (*seen_as).to_owned(),
            }),
            _ => Err(DemoError::unexpected(format!(
                "curl failed: {text} {}",
                String::from_utf8_lossy(&output.stderr)
            ))),
        }
    }

    /// A download that nobody waits for.
    pub(crate) fn begin_download(&self, guest: Guest, bytes: u64) -> Result<Child, DemoError> {
        Ok(self.curl(guest, bytes)?.stdout(Stdio::null()).spawn()?)
    }

    fn curl(&self, guest: Guest, bytes: u64) -> Result<Command, DemoError> {
        let mut command = Command::from(self.world.command(guest.name, "curl")?);
        let url = format!("http://{}/bytes/{bytes}", town::SERVER);
        command.args(["--silent", "--show-error", "--output", "/dev/null", &url]);
        command.stdin(Stdio::null()).stderr(Stdio::piped()).kill_on_drop(true);
        Ok(command)
    }

    /// Whether a guest can open a connection, within a second.
    pub(crate) async fn can_reach(&self, guest: Guest, address: &str, port: u16) -> Result<bool, DemoError> {
        let mut command = Command::from(self.world.command(guest.name, "curl")?);
        let url = format!("http://{address}:{port}/");
        command.args([
            "--silent",
            "--output",
            "/dev/null",
            "--connect-timeout",
            "1",
            "--max-time",
            "1",
            &url,
        ]);
        let status = command.stdin(Stdio::null()).status().await?;
        // 7: no connection; 28: no answer in time.
        Ok(!matches!(status.code(), Some(7 | 28)))
    }

    /// Whom a guest has sent packets to through its access point, and to which UDP port: what its household can see.
    /// As the kernel's connection table has it (`/proc/net/nf_conntrack`).
    pub(crate) fn seen_of(&self, guest: Guest) -> Result<BTreeSet<String>, DemoError> {
        let table = self.world.run(guest.at.name, "cat", &["/proc/net/nf_conntrack"])?;
        let source = format!("src={}", guest.address());
        let flows = table.lines().filter_map(|line| {
            let mut fields = line.split_whitespace();
            let protocol = fields.nth(2)?;
            fields.find(|field| *field == source)?;
            let to = fields.next()?.strip_prefix("dst=")?;
            let port = fields.find_map(|field| field.strip_prefix("dport=")).unwrap_or("-");
            Some(format!("{protocol} {to}:{port}"))
        });
        Ok(flows.filter(|flow| !flow.contains(&guest.gateway().to_string())).collect())
    }

    /// The network namespace of a host.
    ///
    /// # Errors
    /// There is no such host.
    pub fn namespace(&self, host: &str) -> Result<String, DemoError> {
        Ok(self.world.namespace(host)?)
    }

    /// Where everything of the demo is kept.
    pub fn directory(&self) -> &Path {
        &self.directory
    }
}
