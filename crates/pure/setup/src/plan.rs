//! The steps that lead to what was chosen.

use crate::change::GatewayWork;
use crate::{
    Change, Choices, Facts, HomeChoice, Init, Manager, Names, Owner, Port, Reload, Service, Step, TeamChoice,
    TeamWork, render,
};
use std::path::{Path, PathBuf};

/// Where files are.
pub mod paths {
    pub const SETTINGS: &str = "/etc/guestright";
    pub const TEAM: &str = "/etc/guestright/team";
    pub const HOME: &str = "/etc/guestright/home.toml";
    pub const ACCESS_POINT: &str = "/etc/guestright/ap.toml";
    pub const DHCP: &str = "/etc/guestright/dhcp.conf";
    pub const WIFI: &str = "/etc/guestright/wifi.conf";
    pub const STATE: &str = "/var/lib/guestright";
    /// Leases, apart from what the programs' own user may change: dnsmasq reads them as root.
    pub const LEASES: &str = "/var/lib/guestright-dhcp";
    pub const UNITS: &str = "/etc/systemd/system";
    pub const PACKAGED_UNITS: &str = "/usr/lib/systemd/system";
    pub const SYSUSERS: &str = "/etc/sysusers.d/guestright.conf";
}

/// The steps, and what the person should know when they are done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    pub steps: Vec<Step>,
    /// What survives a restart of the computer and what does not, what to do next, what was left out and why.
    pub notes: Vec<String>,
}

impl Plan {
    #[must_use]
    pub fn new(facts: &Facts, choices: &Choices) -> Self {
        let mut steps = Steps { facts, choices, steps: Vec::new() };
        steps.user();
        steps.links();
        steps.kept_links();
        steps.team();
        steps.settings();
        steps.units();
        steps.services();
        let steps = steps.steps;
        Self { steps, notes: notes(facts, choices) }
    }

    /// Files that the plan makes and that must not be there before.
    pub fn files(&self) -> impl Iterator<Item = &Path> {
        self.steps.iter().filter_map(|step| match &step.change {
            Change::File { path, .. } | Change::Symlink { path, .. } | Change::Team { path, .. } => {
                Some(path.as_path())
            }
            Change::User
            | Change::Directory { .. }
            | Change::Bridge { .. }
            | Change::Vlan { .. }
            | Change::Port(_)
            | Change::Address { .. }
            | Change::Reload(_)
            | Change::Service(_) => None,
        })
    }
}

struct Steps<'a> {
    facts: &'a Facts,
    choices: &'a Choices,
    steps: Vec<Step>,
}

impl Steps<'_> {
    fn has_systemd(&self) -> bool {
        self.facts.init == Init::Systemd
    }

    /// Without systemd the programs run as root and give up what they can themselves.
    fn owner(&self) -> Owner {
        if self.has_systemd() { Owner::Guestright } else { Owner::Root }
    }

    fn add(&mut self, says: impl Into<String>, back: impl Into<String>, change: Change) {
        self.steps.push(Step { says: says.into(), back: back.into(), change });
    }

    fn file(&mut self, path: impl Into<PathBuf>, mode: u32, text: String, what: &str) {
        let path = path.into();
        let says = format!("write {}: {what}", path.display());
        let back = format!("remove {}", path.display());
        self.add(says, back, Change::File { path, mode, owner: Owner::Root, text });
    }

    fn reload(&mut self, what: Reload, says: &str) {
        self.add(says, format!("{says} once more"), Change::Reload(what));
    }

    fn user(&mut self) {
        if self.has_systemd() {
            self.file(
                paths::SYSUSERS,
                0o644,
                render::SYSUSERS.to_owned(),
                "the user that the programs run as",
            );
            self.add("make the user guestright", "remove it", Change::User);
        }
    }

    /// The links, now.
    fn links(&mut self) {
        let Choices { bridge, network, .. } = self.choices;
        if let Some(id) = self.choices.vlan {
            for (name, parent) in self.choices.guest_links().into_iter().zip(&self.choices.ports) {
                let says = format!("make {name}: what arrives at {parent} with VLAN tag {id}");
                self.add(says, "remove it", Change::Vlan { name, parent: parent.clone(), id });
            }
        }
        self.add(
            format!("make the bridge {bridge}, for guests and nobody else"),
            "remove it",
            Change::Bridge { name: bridge.clone() },
        );
        for interface in self.choices.guest_links() {
            let says = format!("put {interface} on {bridge}, isolated from other ports");
            let back = format!("take {interface} off it, and leave it as it was");
            self.add(says, back, Change::Port(Port { interface, bridge: bridge.clone() }));
        }
        let (address, prefix) = (self.choices.address(), network.prefix());
        self.add(
            format!("give {bridge} the address {address}/{prefix}"),
            "take it away",
            Change::Address { interface: bridge.clone(), address, prefix },
        );
    }

    /// The links, whenever the computer starts.
    fn kept_links(&mut self) {
        for (path, mode, text) in render::kept_links(self.facts, self.choices) {
            self.file(path, mode, text, "the same when the computer starts");
        }
        match self.facts.manager {
            Manager::Networkd => self.reload(Reload::Networkd, "let systemd-networkd read its files again"),
            Manager::NetworkManager => {
                self.reload(Reload::NetworkManager, "let NetworkManager read its files again");
            }
            Manager::Ifupdown { .. } | Manager::Unknown => {}
        }
        if self.choices.names == Names::Networkd {
            let text = render::resolved(self.choices);
            self.file("/etc/systemd/resolved.conf.d/guestright.conf", 0o644, text, "names for guests");
            self.reload(Reload::Resolved, "let systemd-resolved read its files again");
        }
    }

    fn team(&mut self) {
        let settings = Change::Directory { path: paths::SETTINGS.into(), mode: 0o755, owner: Owner::Root };
        self.add(format!("make {}", paths::SETTINGS), "remove it with everything in it", settings);
        let has_home = self.choices.has_home();
        let (says, work) = match self.choices.team.clone() {
            TeamChoice::New { members, .. } => {
                let gateway = self.choices.gateway_endpoint().map(|endpoint| GatewayWork {
                    endpoint: endpoint.to_owned(),
                    network: self.choices.members_network.to_string(),
                });
                let for_whom = members.iter().map(|name| format!(", {name}")).collect::<String>();
                let says =
                    format!("make a team in {}: its key, and keys for this computer{for_whom}", paths::TEAM);
                (says, TeamWork::Found { members, has_home, gateway })
            }
            TeamChoice::Join { code } => {
                let says =
                    format!("make keys in {}, and have them certified by the code's team", paths::TEAM);
                (says, TeamWork::Join { code, has_home })
            }
        };
        let back = "remove the keys: whoever has no backup has no team any more";
        self.add(says, back, Change::Team { path: paths::TEAM.into(), work });
    }

    fn settings(&mut self) {
        if self.choices.has_home() {
            self.file(paths::HOME, 0o644, render::home(self.choices), "the home's settings");
        }
        self.file(
            paths::ACCESS_POINT,
            0o644,
            render::access_point(self.choices),
            "the access point's settings",
        );
        if self.choices.names == Names::Dnsmasq {
            self.file(paths::DHCP, 0o644, render::dnsmasq(self.choices), "addresses and names for guests");
            let leases = Change::Directory { path: paths::LEASES.into(), mode: 0o755, owner: Owner::Root };
            self.add(format!("make {}, for leases", paths::LEASES), "remove it with the leases", leases);
        }
        if let Some(wifi) = &self.choices.wifi {
            let text = render::hostapd(&self.choices.bridge, wifi);
            self.file(paths::WIFI, 0o600, text, "the guests' Wi-Fi, open and with OWE");
        }
        let state = Change::Directory { path: paths::STATE.into(), mode: 0o700, owner: self.owner() };
        self.add(
            format!("make {}, for receipts and state", paths::STATE),
            "remove it with everything in it",
            state,
        );
    }

    /// Files of units, and that they start with the computer.
    fn units(&mut self) {
        if !self.has_systemd() {
            return;
        }
        let units = render::units(self.facts, self.choices);
        // Upgrades of the package keep its own up to date, and files of the same name in /etc would hide them.
        let packaged = &self.facts.packaged_units;
        for (name, text) in units.iter().filter(|(name, _)| !packaged.contains(name)) {
            self.file(unit_path(name), 0o644, text.clone(), "how systemd runs it");
        }
        for name in units.iter().map(|(name, _)| name).filter(|name| name.ends_with(".service")) {
            let wants = Path::new(paths::UNITS).join("multi-user.target.wants").join(name);
            let says = format!("start {name} with the computer");
            let target = if packaged.contains(name) { packaged_unit_path(name) } else { unit_path(name) };
            self.add(says, "start it no more", Change::Symlink { path: wants, target });
        }
        self.reload(Reload::Systemd, "let systemd read its files again");
    }

    fn services(&mut self) {
        let program = self.facts.program.display().to_string();
        let ours = |verb: &str, config: &str, more: &[&str]| -> Vec<String> {
            let words = [program.as_str(), verb].into_iter().chain(more.iter().copied());
            words.chain(["--config", config]).map(str::to_owned).collect()
        };
        let owned = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
        if self.choices.names == Names::Dnsmasq {
            let command = owned(&["dnsmasq", &format!("--conf-file={}", paths::DHCP)]);
            self.service("guestright-dhcp", "addresses and names for guests", command, None);
        }
        if let Some(wifi) = &self.choices.wifi {
            let mut service =
                self.new_service("guestright-wifi", owned(&["hostapd", "-B", paths::WIFI]), None);
            service.isolated_ports = wifi.ports().into();
            self.add_service("the guests' Wi-Fi", service);
        }
        if self.choices.has_home() {
            let off = ours("home", paths::HOME, &["off"]);
            self.service("guestright-home", "the team's home", ours("home", paths::HOME, &[]), Some(off));
        }
        let off = ours("ap", paths::ACCESS_POINT, &["off"]);
        let command = ours("ap", paths::ACCESS_POINT, &[]);
        self.service("guestright-ap", "the access point, which lets in who signs", command, Some(off));
    }

    fn service(&mut self, unit: &str, what: &str, command: Vec<String>, clean_up: Option<Vec<String>>) {
        let service = self.new_service(unit, command, clean_up);
        self.add_service(what, service);
    }

    fn new_service(&self, unit: &str, command: Vec<String>, clean_up: Option<Vec<String>>) -> Service {
        let says_when_ready = clean_up.is_some();
        Service {
            unit: unit.to_owned(),
            by_systemd: self.has_systemd(),
            command,
            clean_up,
            says_when_ready,
            isolated_ports: Vec::new(),
        }
    }

    fn add_service(&mut self, what: &str, service: Service) {
        self.add(format!("start {}: {what}", service.unit), "stop it", Change::Service(service));
    }
}

fn unit_path(name: &str) -> PathBuf {
    Path::new(paths::UNITS).join(name)
}

fn packaged_unit_path(name: &str) -> PathBuf {
    Path::new(paths::PACKAGED_UNITS).join(name)
}

fn notes(facts: &Facts, choices: &Choices) -> Vec<String> {
    let mut notes = Vec::new();
    if facts.init == Init::Unknown {
        notes.push(
            "no systemd runs here: files stay, but links and programs do not survive a restart; \
             `guestright setup --start` brings them back"
                .to_owned(),
        );
    }
    if facts.manager == Manager::NetworkManager && choices.ports.len() > 1 {
        notes.push(
            "NetworkManager does not isolate a bridge's ports after a restart: guests on different wires can reach \
             each other there"
                .to_owned(),
        );
    }
    if choices.wifi.is_none() {
        notes.push(format!(
            "guests' Wi-Fi is not this computer's: let an access point that isolates its clients serve an open network \
             into {}",
            choices.guest_links().join(", ")
        ));
    }
    match (&choices.team, &choices.home) {
        (TeamChoice::New { keep_key: false, .. }, _) => notes.push(format!(
            "the team's key is on this computer: make a backup (`guestright team backup FILE --dir {}`), take it off \
             this computer, and then remove {}/team.key",
            paths::TEAM,
            paths::TEAM
        )),
        (TeamChoice::New { keep_key: true, .. }, _) => notes.push(format!(
            "the team's key stays on this computer, as you wished: make a backup with \
             `guestright team backup FILE --dir {}`",
            paths::TEAM
        )),
        (TeamChoice::Join { .. }, HomeChoice::Here { .. }) => notes.push(
            "this computer has a home of the team, without a gateway: members come home where the founder's gateway is"
                .to_owned(),
        ),
        (TeamChoice::Join { .. }, HomeChoice::At(_)) => {}
    }
    if let HomeChoice::Here { endpoint: None, .. } = &choices.home {
        notes.push(
            "members have no way home yet, for it is not known under which name or address this household is found: \
             `endpoint` says so"
                .to_owned(),
        );
    }
    notes
}
