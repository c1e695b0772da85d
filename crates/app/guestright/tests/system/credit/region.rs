//! Households of several teams, each with its own line to the Internet, and guests who carry names from one to the other.
//!
//! ```text
//!   guest-a ══ a (ap, home) ── 198.51.101.0/24 ── net, web at 192.0.2.1 ── 198.51.102.0/24 ── b (ap, home) ══ guest-b
//! ```

use super::delay::Delay;
use crate::town::client::{Member, now};
use crate::town::services::{self, AccessLog};
use crate::town::{PATIENCE, Program, WEB, guestright, look, succeeded, until};
use guestright_channel::{Credentials, connect};
use guestright_emulator::{Device, Emulator};
use guestright_netns::{LinkOptions, World};
use guestright_receipt::{Bundle, Receipt};
use guestright_roaming::Message;
use guestright_roaming::message::Update;
use guestright_units::TeamId;
use serde_json::Value;
use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::{Duration, Instant};

/// What a household gives away and lends.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Terms {
    pub(crate) name: &'static str,
    pub(crate) allowance: u64,
    pub(crate) receipts_max: u64,
}

impl Terms {
    pub(crate) const fn new(name: &'static str, allowance: u64) -> Self {
        Self { name, allowance, receipts_max: 100_000 }
    }
}

/// All of them. Dropping it ends everything.
#[derive(Debug)]
pub(crate) struct Region {
    pub(crate) world: World,
    directory: PathBuf,
    names: Vec<&'static str>,
    /// How long everything takes on each line, one way, and who makes it so.
    delay: Option<Duration>,
    delays: Vec<Emulator<Delay>>,
    /// How much its programs log.
    pub(crate) log_level: &'static str,
}

/// The programs of one household.
#[derive(Debug)]
pub(crate) struct Household {
    pub(crate) home: Program,
    _ap: Program,
}

/// Of two households: what the first owes the second, as each of them says it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Claims {
    pub(crate) first_says: i64,
    pub(crate) second_says: i64,
}

impl Region {
    /// Builds it, founds a team for each household with members `one` and `two`, and serves the web. No program runs yet.
    pub(crate) fn build(households: &[Terms]) -> Self {
        Self::build_with_delay(households, None)
    }

    /// The same, with lines on which everything takes so long one way.
    pub(crate) fn build_with_delay(households: &[Terms], delay: Option<Duration>) -> Self {
        let mut world = World::new("sys-").unwrap();
        world.add_host("net").unwrap();
        world.address("net", "lo", "192.0.2.1/32").unwrap();
        world.sysctl("net", "net.ipv4.ip_forward", "1").unwrap();
        let directory = PathBuf::from("/run/region");
        std::fs::create_dir(&directory).unwrap();
        let names = households.iter().map(|household| household.name).collect();
        let mut region = Self { world, directory, names, delay, delays: Vec::new(), log_level: "debug" };
        for household in households {
            region.add_household(household.name);
            region.found(
                household.name,
                &[("router", "access-point"), ("home", "home"), ("one", "member"), ("two", "member")],
            );
            region.write_settings(household);
        }
        services::serve_tcp(&region.world, "net", WEB, &AccessLog::default());
        region
    }

    fn add_household(&mut self, name: &'static str) {
        let (number, guest, to) = (self.number(name), guest_of(name), format!("to-{name}"));
        let world = &mut self.world;
        world.add_host(name).unwrap();
        world.add_host(&guest).unwrap();
        let wire = LinkOptions::default();
        match self.delay {
            None => world.link(("net", &to), (name, "uplink"), &wire).unwrap(),
            Some(delay) => {
                let open =
                    |host: &str, name: &str| world.within(host, || Device::open(name)).unwrap().unwrap();
                let (near, far) = (open("net", &to), open(name, "uplink"));
                world.up("net", &to).unwrap();
                world.up(name, "uplink").unwrap();
                let emulator = Emulator::start(near, far, Delay::new(delay), Instant::now()).unwrap();
                self.delays.push(emulator);
            }
        }
        world.add_bridge(name, "guests").unwrap();
        world.link((name, "port"), (&guest, "wlan0"), &wire).unwrap();
        world.attach(name, "port", "guests", true).unwrap();
        world.address("net", &to, &format!("198.51.{number}.1/24")).unwrap();
        world.address(name, "uplink", &format!("198.51.{number}.2/24")).unwrap();
        world.address(name, "guests", "10.11.0.1/24").unwrap();
        world.address(&guest, "wlan0", "10.11.0.21/24").unwrap();
        world.route(name, "default", &format!("198.51.{number}.1")).unwrap();
        world.route(&guest, "default", "10.11.0.1").unwrap();
    }

    /// The third number of the household's address.
    fn number(&self, name: &str) -> usize {
        101 + self.names.iter().position(|other| *other == name).unwrap()
    }

    /// Makes a team and its members' keys with the program's own commands.
    pub(crate) fn found(&self, team: &str, members: &[(&str, &str)]) {
        let arguments = ["team", "init", "--dir", team];
        succeeded(&guestright().args(arguments).current_dir(&self.directory).output().unwrap());
        self.found_more(team, members);
    }

    /// Adds members to a team, with the program's own commands.
    pub(crate) fn found_more(&self, team: &str, members: &[(&str, &str)]) {
        for (name, role) in members {
            let arguments = ["team", "member", "add", name, "--role", role, "--dir", team];
            succeeded(&guestright().args(arguments).current_dir(&self.directory).output().unwrap());
        }
    }

    fn write_settings(&self, household: &Terms) {
        let Terms { name, allowance, receipts_max } = household;
        let number = self.number(name);
        let home = format!(
            "key = \"home.key\"\ncertificate = \"home.cert\"\nstate = \"home-state\"\nreceipts_max = {receipts_max}\n\
             [credit]\nallowance_bytes_per_day = {allowance}\nfounding_bytes = 0\n\
             [links]\nannounce = \"198.51.{number}.2:7275\"\n"
        );
        let ap = "key = \"router.key\"\ncertificate = \"router.cert\"\nstate = \"ap-state\"\nhome = \"127.0.0.1:7274\"\n\
                  visitor_interface = \"guests\"\nuplink_interface = \"uplink\"\ninterval_ms = 20000\nflush_ms = 300\n";
        std::fs::write(self.path(name, "home.toml"), home).unwrap();
        std::fs::write(self.path(name, "ap.toml"), ap).unwrap();
    }

    pub(crate) fn path(&self, team: &str, file: &str) -> PathBuf {
        self.directory.join(team).join(file)
    }

    /// Adds to a file of a team's.
    pub(crate) fn append(&self, team: &str, file: &str, text: &str) {
        let file = OpenOptions::new().append(true).open(self.path(team, file));
        file.unwrap().write_all(text.as_bytes()).unwrap();
    }

    /// Runs the program in a team's directory, on its household's computer.
    pub(crate) fn run(&self, team: &str, arguments: &[&str]) -> String {
        let mut command = self.world.command(team, env!("CARGO_BIN_EXE_guestright")).unwrap();
        command.args(arguments).current_dir(self.path(team, "")).stdin(Stdio::null());
        succeeded(&command.output().unwrap())
    }

    /// Makes a team's home, before it is opened, a gateway for its members.
    pub(crate) fn make_gateway(&self, team: &str) {
        let number = self.number(team);
        let (endpoint, network) = (format!("198.51.{number}.2:51820"), format!("10.{number}.0.0/24"));
        self.run(
            team,
            &["team", "gateway", "init", "--endpoint", &endpoint, "--network", &network, "--dir", "."],
        );
        self.append(team, "home.toml", "[gateway]\nuplink_interface = \"uplink\"\n");
    }

    pub(crate) fn team(&self, name: &str) -> TeamId {
        self.member(name, "one").certificate.team_id()
    }

    /// Who signs by hand with the key of a member, or of another program of the team.
    pub(crate) fn member(&self, team: &str, name: &str) -> Member {
        let key = guestright_keys::read_secret(&self.path(team, &format!("{name}.key")), || None).unwrap();
        let certificate =
            guestright_keys::read_certificate(&self.path(team, &format!("{name}.cert"))).unwrap();
        Member { key, certificate }
    }

    /// Starts home and access point, and waits until they know each other.
    pub(crate) fn open(&self, name: &str) -> Household {
        let household = Household { home: self.start_home(name), _ap: self.start(name, "ap") };
        until("an access point to reach its home", || self.ask(name, "ap", &["status"])["home_up"] == true);
        household
    }

    pub(crate) fn start_home(&self, name: &str) -> Program {
        self.start(name, "home")
    }

    pub(crate) fn start(&self, name: &str, command: &str) -> Program {
        let mut full = self.world.command(name, env!("CARGO_BIN_EXE_guestright")).unwrap();
        full.args(["--log", self.log_level, command, "--config"])
            .arg(self.path(name, &format!("{command}.toml")));
        let program = Program::start(&mut full, &self.path(name, &format!("{command}.log")));
        program.hear_line("to say that it is ready", |_| true);
        program
    }

    /// What a household's program answers; null if nobody does.
    pub(crate) fn ask(&self, name: &str, command: &str, question: &[&str]) -> Value {
        look::ask(command, &self.path(name, &format!("{command}.toml")), &question.join(" "))
    }

    pub(crate) fn log(&self, name: &str, command: &str) -> String {
        std::fs::read_to_string(self.path(name, &format!("{command}.log"))).unwrap_or_default()
    }

    /// What a household owes another by its own accounts; below zero, what it is owed. Nothing if it does not answer.
    pub(crate) fn owes(&self, debtor: &str, creditor: TeamId) -> Option<i64> {
        let answer = self.ask(debtor, "home", &["accounts"]);
        let accounts = answer["accounts"].as_array()?;
        let account = accounts.iter().find(|account| account["team"] == creditor.to_string());
        let bytes = |key: &str| account.and_then(|account| account[key].as_i64()).unwrap_or(0);
        Some(bytes("we_owe") - bytes("they_owe"))
    }

    pub(crate) fn claims(&self, first: &str, second: &str) -> Option<Claims> {
        let first_says = self.owes(first, self.team(second))?;
        Some(Claims { first_says, second_says: -self.owes(second, self.team(first))? })
    }

    /// Waits until what each says that it owes is what the other says that it is owed, and says what that is.
    pub(crate) fn agree(&self, first: &str, second: &str) -> i64 {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let claims = self.claims(first, second);
            if let Some(Claims { first_says, second_says }) = claims
                && first_says == second_says
            {
                return first_says;
            }
            if Instant::now() > deadline {
                panic!(
                    "{first} and {second}: {claims:?}\n{}\n{}",
                    self.log(first, "home"),
                    self.log(second, "home")
                );
            }
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// What `k` owes `c`, `p` owes `k`, and `p` owes `c`, once nothing of it is under way any more.
    pub(super) fn settled(&self, p: &str, k: &str, c: &str) -> [i64; 3] {
        until("no hold to be open", || self.ask(p, "home", &["status"])["credit"]["holds_open"] == 0);
        self.along_the_chain(p, k, c)
    }

    /// The same at once. A debt moves from `p` along the chain: what the end of it says is of later than what its beginning
    /// has said.
    pub(super) fn along_the_chain(&self, p: &str, k: &str, c: &str) -> [i64; 3] {
        let (p_owes_k, k_owes_c, p_owes_c) = (self.agree(p, k), self.agree(k, c), self.agree(p, c));
        [k_owes_c, p_owes_k, p_owes_c]
    }

    /// Lets a member of a team visit at a household; it says what happens as lines of JSON. A team with a household has a home.
    pub(crate) fn visit(&self, at: &str, team: &str, name: &str) -> Program {
        let guest = guest_of(at);
        let mut command = self.world.command(&guest, env!("CARGO_BIN_EXE_guestright")).unwrap();
        command.args(["--log", "info", "visit", "--json", "--no-tunnel", "--update-seconds", "1", "--key"]);
        command.arg(self.path(team, &format!("{name}.key")));
        command.arg("--certificate").arg(self.path(team, &format!("{name}.cert")));
        command.arg("--state").arg(self.state(team, name));
        if self.names.contains(&team) {
            command.args(["--home", &format!("198.51.{}.2:7274", self.number(team))]);
        }
        Program::start(&mut command, &self.path(team, &format!("{name}-at-{at}.log")))
    }

    pub(crate) fn state(&self, team: &str, name: &str) -> PathBuf {
        self.path(team, &format!("{name}-state"))
    }

    /// A visit that has been granted and reached its home, if it has one.
    pub(crate) fn arrive(&self, at: &str, team: &str, name: &str) -> Program {
        let visit = self.visit(at, team, name);
        visit.hear("to be granted service", |event| event["event"] == "granted");
        if self.names.contains(&team) {
            visit.hear("to reach home", |event| event["event"] == "home" && event["up"] == true);
        }
        visit
    }

    /// A visit whose class has risen: what it showed is reserved. On a fast line all that is given away is gone before that.
    pub(crate) fn arrive_on_credit(&self, at: &str, team: &str, name: &str) -> Program {
        let visit = self.visit(at, team, name);
        visit.hear("to be served on credit", |event| {
            event["event"] == "granted" && event["class"] != "lowest"
        });
        visit
    }

    /// Ends a visit as Ctrl-C does, and returns what it says at the end.
    pub(crate) fn leave(&self, mut visit: Program) -> Value {
        visit.signal(rustix::process::Signal::INT);
        let ended = visit.hear("to leave", |event| event["event"] == "ended");
        visit.wait();
        ended
    }

    /// Downloads until it is enough, or nothing comes for so long. Returns how much came.
    pub(crate) fn download(&self, at: &str, bytes: usize, patience: Duration) -> usize {
        self.world.within(&guest_of(at), || services::download_some(bytes, patience)).unwrap()
    }

    /// Visits, downloads, leaves, and brings the receipts home. Returns how much came.
    pub(crate) fn visits(&self, at: &str, team: &str, name: &str, bytes: usize) -> usize {
        self.visits_within(at, team, name, bytes, PATIENCE)
    }

    /// The same, by somebody who is not served for all of it, and leaves when nothing comes for so long.
    pub(super) fn visits_within(
        &self,
        at: &str,
        team: &str,
        name: &str,
        bytes: usize,
        patience: Duration,
    ) -> usize {
        let visit = self.arrive(at, team, name);
        let came = self.download(at, bytes, patience);
        let ended = self.leave(visit);
        if came < bytes {
            println!("{name} of {team} at {at} got {came} of {bytes} bytes: {ended}");
            println!("{:#}", self.ask(at, "ap", &["status"]));
        }
        if self.names.contains(&team) {
            self.come_home(team, name);
        }
        came
    }

    /// The same, by somebody who may be refused.
    pub(crate) fn tries(&self, at: &str, team: &str, name: &str, bytes: usize) -> usize {
        let visit = self.visit(at, team, name);
        let answer =
            visit.hear("to be answered", |event| event["event"] == "granted" || event["event"] == "ended");
        if answer["event"] == "ended" {
            return 0;
        }
        let came = self.download(at, bytes, Duration::from_secs(5));
        self.leave(visit);
        came
    }

    /// A member is at home again, and hands in what it signed: over its own line, as its own program does.
    pub(crate) fn come_home(&self, team: &str, name: &str) {
        let state = self.state(team, name);
        let Ok(bytes) = std::fs::read(state.join("signed.bundle")) else { return };
        let bundle = Bundle::parse(&bytes).unwrap();
        let member = self.member(team, name);
        let homes = std::fs::read_to_string(state.join("provider-homes")).unwrap_or_default();
        for bytes in &bundle.receipts {
            let provider = Receipt::from_kept(bytes, &member.certificate).unwrap().provider().to_string();
            let home = homes.lines().find_map(|line| line.strip_prefix(&provider)?.trim().parse().ok());
            let bundle = Bundle { receipts: vec![bytes.clone()], ..bundle.clone() };
            self.hand_in(team, name, &Message::Rcpt { reference: Some(7), bundle, home });
        }
    }

    /// A program of a team gives receipts to its home. Returns how many the home has taken and refused.
    pub(crate) fn hand_in(&self, team: &str, name: &str, message: &Message) -> (u16, u16) {
        let Member { key, certificate } = self.member(team, name);
        let own = certificate.team_id();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let talk = async {
            let stream = tokio::net::TcpStream::connect("127.0.0.1:7274").await.unwrap();
            let credentials = Credentials { certificate, key };
            let channel = connect(stream, &credentials, own, now()).await.unwrap().0;
            let (mut sender, mut receiver) = channel.split();
            sender.send(&message.emit()).await.unwrap();
            loop {
                let answer = receiver.receive().await.unwrap().unwrap();
                match Message::parse(&answer) {
                    Ok(Message::Updt { what: Update::Taken { stored, refused }, .. }) => {
                        return (stored, refused);
                    }
                    other => println!("{team}'s home says {other:?}"),
                }
            }
        };
        let talk = async { tokio::time::timeout(PATIENCE, talk).await };
        let talked = self.world.within(team, || runtime.block_on(talk)).unwrap();
        talked.unwrap_or_else(|_| panic!("{team}'s home does not answer:\n{}", self.log(team, "home")))
    }

    /// What a member is to show at its next visit.
    pub(crate) fn show(&self, team: &str, name: &str, bundle: &Bundle) {
        let state = self.state(team, name);
        std::fs::create_dir_all(&state).unwrap();
        std::fs::set_permissions(&state, std::os::unix::fs::PermissionsExt::from_mode(0o700)).unwrap();
        std::fs::write(state.join("shown.bundle"), bundle.emit()).unwrap();
    }
}

pub(crate) fn guest_of(name: &str) -> String {
    format!("guest-{name}")
}
