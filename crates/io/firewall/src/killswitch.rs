//! What keeps a visitor's own traffic off a network that it does not trust.
//!
//! Everything that this computer sends goes into the tunnel to its home; what cannot is held back. On the
//! interface to the access point, and to or from no other, pass only
//!
//! - the tunnel's own datagrams: marked, and to the home's address and port;
//! - the protocol with the access point: to its address and port;
//! - DHCP, without which there is no network;
//! - errors of ICMP about these;
//! - where [`Surroundings::portal`] says so, marked TCP connections and questions for names: only a privileged program
//!   can mark what it sends, and ours does so to lead a person through somebody else's portal.
//!
//! All else is dropped and counted by kind, IPv6 whole. That is done behind routing and translation, for what
//! programs here send and for what is forwarded (containers, virtual machines), whatever interface a socket
//! binds to. ARP is below this, and so is what a privileged program sends through packet sockets.
//!
//! Names are asked for at home: what goes to port 53 of another computer is translated to the home's resolver,
//! and what the tunnel carries bears this computer's address in the tunnel. A resolver on this computer that
//! others ask over loopback is left alone; its own questions are not.
//!
//! The switch stays closed when its program is killed: then there is no tunnel and nothing but unreachable
//! networks. It is taken over by the next one, without a gap, or removed by [`clean_up`].

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::path::{Path, PathBuf};

use crate::lookup::require_interface;
use crate::routing::Routing;
use crate::settings::{check_interface, wrong};
use crate::state::{State, clean_up, left_behind};
use crate::{FirewallError, elements, tool};

const FAMILY: &str = "inet";
const TABLE: &str = "guestright_guard";
/// Conntrack zone of questions to resolvers. Flows that began before the switch was closed are unknown in it, so
/// that they are translated like new ones.
const ZONE: u16 = 7_273;

/// Why something was held back: one counter each. The names are part of our interface
/// ([`KillSwitch::held_back`]).
const KINDS: [(&str, &str); 7] = [
    ("connections", "TCP"),
    ("datagrams", "UDP"),
    ("dns", "questions to other resolvers than the home's"),
    ("incoming", "from the access point's network, other than answers"),
    ("ipv6", "IPv6, whatever it was"),
    ("other", "other protocols"),
    ("ping", "ICMP"),
];

/// Where the visitor is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Surroundings {
    /// The interface to the access point.
    pub interface: String,
    pub access_point: Ipv4Addr,
    /// The access point's port of the protocol, UDP and TCP.
    pub port: u16,
    /// Whether what this computer's own program has marked may leave by the interface beside the tunnel: TCP, and
    /// questions for names. Nothing else has that mark.
    pub portal: bool,
}

/// The tunnel that everything goes through.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Passage {
    /// The name that its interface has or will have.
    pub interface: String,
    /// This computer's address in it.
    pub address: Ipv4Addr,
    /// The home's end: where its datagrams go.
    pub home: SocketAddrV4,
    /// What its datagrams are marked with; never 0.
    pub mark: u32,
    /// The number of the routing table that is ours: none of the kernel's own, 0 and 253 to 255.
    pub table: u32,
    /// The home's resolver; without one, names are asked for wherever the computer is told to, through the tunnel.
    pub resolver: Option<Ipv4Addr>,
    /// Which interfaces are closed.
    pub guard: Guard,
}

/// Which interfaces a switch closes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Guard {
    /// Those that led to an access point since the switch was closed.
    #[default]
    Met,
    /// Every one, also those that come later, but this computer's own, the tunnel's, and these: networks inside this
    /// computer, such as those of virtual machines. A name may end in `*` and stands for all that begin so.
    AllBut(Vec<String>),
}

/// A closed switch. Opened when dropped, if not before; closed still when the program is killed.
#[derive(Debug)]
pub struct KillSwitch {
    passage: Passage,
    /// Nothing as long as there was no network.
    surroundings: Option<Surroundings>,
    /// Every interface that led to an access point.
    guarded: BTreeSet<String>,
    /// What was held back under earlier rulesets.
    before: BTreeMap<String, u64>,
    routing: Routing,
    /// The table as it was read right after it was put into force.
    in_force: Option<String>,
    state_file: PathBuf,
    took_over: bool,
    is_up: bool,
}

impl KillSwitch {
    /// Closes the switch: from here on nothing leaves by the interface but what is said above, and nothing at all
    /// reaches the Internet before [`KillSwitch::open_tunnel`]. What a killed run left closed is taken over. Without
    /// surroundings, before there is a network, routing alone holds everything back, whatever interface comes.
    ///
    /// # Errors
    /// Settings that cannot be, no such interface, a table of our name that is not ours, another process of ours
    /// running, or the system refuses; then nothing is changed, but that a switch left closed stays closed.
    pub fn close(
        passage: Passage,
        surroundings: impl Into<Option<Surroundings>>,
        state_file: &Path,
    ) -> Result<Self, FirewallError> {
        let surroundings = surroundings.into();
        check(&passage, surroundings.as_ref())?;
        if let Some(surroundings) = &surroundings {
            require_interface(&surroundings.interface)?;
        }
        let earlier = left_behind(state_file)?;
        let inherits = elements::table_exists(TABLE)?;
        if inherits && earlier.is_none() {
            return Err(FirewallError::TableTaken { table: TABLE.to_owned() });
        }
        let mut routing = Routing::new(passage.mark, passage.table);
        if let Some(earlier) = earlier.as_ref().and_then(State::routing) {
            routing = routing.inherited(earlier);
        }
        State::new(TABLE, &[], Vec::new())?.with_routing(routing.clone()).write(state_file)?;
        let guarded: BTreeSet<_> = surroundings.iter().map(|it| it.interface.clone()).collect();
        let ruleset = render(&passage, surroundings.as_ref(), &guarded);
        if let Err(error) = tool::nft(&replacing(&ruleset, inherits)) {
            if !inherits {
                crate::state::remove(state_file)?;
            }
            return Err(error);
        }
        // From here on, dropping cleans up.
        let switch = Self {
            passage,
            surroundings,
            guarded,
            before: BTreeMap::new(),
            routing,
            in_force: tool::nft_table(FAMILY, TABLE),
            state_file: state_file.to_owned(),
            took_over: inherits,
            is_up: true,
        };
        switch.routing.up()?;
        Ok(switch)
    }

    /// Whether a switch is closed in this network, by whatever program.
    ///
    /// # Errors
    /// The kernel does not say.
    pub fn is_closed() -> Result<bool, FirewallError> {
        elements::table_exists(TABLE)
    }

    /// Lets everything into the tunnel, whose interface is there and up.
    ///
    /// # Errors
    /// The system refuses: there may be no such interface.
    pub fn open_tunnel(&self) -> Result<(), FirewallError> {
        self.routing.add_tunnel(&self.passage.interface)
    }

    /// Goes along to another access point, or lets something else pass at this one. Interfaces that led to earlier ones
    /// stay closed.
    ///
    /// # Errors
    /// Surroundings that cannot be, or the system refuses; then everything is as it was.
    pub fn move_to(&mut self, surroundings: Surroundings) -> Result<(), FirewallError> {
        self.change(self.passage.clone(), Some(surroundings))
    }

    /// Follows the home to another address. Its old one is closed.
    ///
    /// # Errors
    /// As [`KillSwitch::move_to`].
    pub fn follow_home(&mut self, home: SocketAddrV4) -> Result<(), FirewallError> {
        self.change(Passage { home, ..self.passage.clone() }, self.surroundings.clone())
    }

    fn change(&mut self, passage: Passage, surroundings: Option<Surroundings>) -> Result<(), FirewallError> {
        if (&passage, &surroundings) == (&self.passage, &self.surroundings) {
            return Ok(());
        }
        check(&passage, surroundings.as_ref())?;
        let before = self.held_back()?;
        let mut guarded = self.guarded.clone();
        guarded.extend(surroundings.iter().map(|it| it.interface.clone()));
        tool::nft(&replacing(&render(&passage, surroundings.as_ref(), &guarded), true))?;
        self.in_force = tool::nft_table(FAMILY, TABLE);
        self.before = before;
        self.guarded = guarded;
        self.passage = passage;
        self.surroundings = surroundings;
        Ok(())
    }

    /// Compares table and routing with what was put into force, and puts back what another program has taken away or
    /// changed: a firewall that is loaded anew flushes everybody's tables. `tunnel_is_open` is whether everything is
    /// to go into the tunnel. Says whether something had to be put back.
    ///
    /// # Errors
    /// The system refuses; what is left of the switch stays.
    pub fn put_back(&mut self, tunnel_is_open: bool) -> Result<bool, FirewallError> {
        let now = tool::nft_table(FAMILY, TABLE);
        let is_changed = now.is_none() || now != self.in_force;
        if is_changed {
            let ruleset = render(&self.passage, self.surroundings.as_ref(), &self.guarded);
            // What was counted is lost with the table.
            tool::nft(&replacing(&ruleset, elements::table_exists(TABLE)?))?;
            self.in_force = tool::nft_table(FAMILY, TABLE);
        }
        let tunnel = tunnel_is_open.then_some(self.passage.interface.as_str());
        let is_routed = self.routing.is_there(tunnel)?;
        if !is_routed {
            self.routing.up()?;
            if tunnel_is_open {
                self.open_tunnel()?;
            }
        }
        Ok(is_changed || !is_routed)
    }

    /// Packets held back so far, by kind.
    ///
    /// # Errors
    /// The counts could not be read.
    pub fn held_back(&self) -> Result<BTreeMap<String, u64>, FirewallError> {
        let mut counts = elements::read_packets(TABLE)?;
        for (kind, count) in &self.before {
            *counts.entry(kind.clone()).or_default() += count;
        }
        Ok(counts)
    }

    /// Whether the switch was closed already, left behind by a killed run.
    #[must_use]
    pub fn took_over(&self) -> bool {
        self.took_over
    }

    /// Where the visitor is; nothing before there was a network.
    #[must_use]
    pub fn surroundings(&self) -> Option<&Surroundings> {
        self.surroundings.as_ref()
    }

    #[must_use]
    pub fn passage(&self) -> &Passage {
        &self.passage
    }

    /// Opens the switch: routing first, the table last, so that what is routed past the tunnel again is held back
    /// until the end.
    ///
    /// # Errors
    /// The system refuses; the state file stays, and [`clean_up`] may be tried again.
    pub fn open(mut self) -> Result<(), FirewallError> {
        self.is_up = false;
        clean_up(&self.state_file)
    }

    /// Ends with the switch closed, as a killed process does. The next [`KillSwitch::close`] takes over; [`clean_up`]
    /// opens it.
    pub fn stay_closed(mut self) {
        self.is_up = false;
    }
}

impl Drop for KillSwitch {
    fn drop(&mut self) {
        if !self.is_up {
            return;
        }
        if let Err(error) = clean_up(&self.state_file) {
            tracing::warn!(%error, "the kill switch could not be opened");
        }
    }
}

fn check(passage: &Passage, surroundings: Option<&Surroundings>) -> Result<(), FirewallError> {
    check_interface("tunnel interface", &passage.interface)?;
    if let Some(surroundings) = surroundings {
        check_interface("interface", &surroundings.interface)?;
        if passage.interface == surroundings.interface {
            let want = "another interface than that to the access point";
            return Err(wrong("tunnel interface", &passage.interface, want));
        }
    }
    if let Guard::AllBut(names) = &passage.guard {
        for name in names {
            let what = "an interface that stays open";
            check_interface(what, name.strip_suffix('*').unwrap_or(name))?;
            if surroundings.is_some_and(|it| is_named(name, &it.interface)) {
                return Err(wrong(what, name, "another one than that to the access point's network"));
            }
        }
    }
    if passage.mark == 0 {
        return Err(wrong("mark", 0, "any other number"));
    }
    if matches!(passage.table, 0 | 253..=255) {
        return Err(wrong("table", passage.table, "a number that is not one of the kernel's own"));
    }
    if surroundings.is_some_and(|it| it.port == 0) || passage.home.port() == 0 {
        return Err(wrong("port", 0, "1 to 65535"));
    }
    Ok(())
}

/// Whether a name, which may end in `*`, stands for this interface.
fn is_named(name: &str, interface: &str) -> bool {
    name.strip_suffix('*').map_or(name == interface, |begin| interface.starts_with(begin))
}

/// One transaction that puts a ruleset into force, in the place of ours where there is one.
fn replacing(ruleset: &str, is_there: bool) -> String {
    if is_there { format!("delete table inet {TABLE}\n{ruleset}") } else { ruleset.to_owned() }
}

/// The ruleset as text. Every value in it went through [`check`] or is an address or a number.
fn render(passage: &Passage, surroundings: Option<&Surroundings>, guarded: &BTreeSet<String>) -> String {
    let Passage { interface: tunnel, address, home, mark, .. } = passage;
    let (home, home_port) = (home.ip(), home.port());
    let mut counters = String::new();
    for (name, what) in KINDS {
        writeln!(counters, "\tcounter {name} {{ comment \"{what}\"; }}").expect("a String takes everything");
    }
    let list = guarded.iter().map(|name| format!("\"{name}\"")).collect::<Vec<_>>().join(", ");
    let on = |word: &str, chain: &str| match &passage.guard {
        // A set of no interfaces is no text that nft reads.
        Guard::Met if guarded.is_empty() => String::new(),
        Guard::Met => format!("{word} {{ {list} }} goto {chain}"),
        Guard::AllBut(names) => {
            let open = ["lo", tunnel].into_iter().chain(names.iter().map(String::as_str));
            open.fold(String::new(), |text, name| text + &format!("{word} \"{name}\" accept\n\t\t"))
                + &format!("goto {chain}")
        }
    };
    let (leaving, arriving) = (on("oifname", "guarded"), on("iifname", "answers"));
    let [to_here, from_here] = surroundings.map_or_else(Default::default, |it| here(it, *mark));
    let names = passage.resolver.map(|resolver| names(tunnel, *mark, resolver)).unwrap_or_default();
    format!(
        "create table inet {TABLE}
table inet {TABLE} {{
{counters}
	# Behind routing and translation: what is about to leave, and is not for this computer itself.
	chain leaving {{
		type filter hook postrouting priority 250; policy accept;
		{leaving}
	}}

	chain guarded {{
		meta nfproto ipv6 counter name \"ipv6\" drop
		# Only what began here: a program of the visitor's answers nobody who comes from these ports.
		meta mark {mark} ip daddr {home} udp dport {home_port} ct direction original accept
{to_here}		udp sport 68 udp dport 67 accept
		meta l4proto {{ tcp, udp }} th dport 53 counter name \"dns\" drop
		meta l4proto udp counter name \"datagrams\" drop
		meta l4proto tcp counter name \"connections\" drop
		meta l4proto icmp counter name \"ping\" drop
		counter name \"other\" drop
	}}

	# After the visitor's meter has counted; before routing, so that the tunnel's own datagrams can be marked for a
	# strict reverse path filter.
	chain arriving {{
		type filter hook prerouting priority mangle + 10; policy accept;
		{arriving}
	}}

	chain answers {{
		meta nfproto ipv6 counter name \"ipv6\" drop
		# Only answers, to what began here.
		ip saddr {home} udp sport {home_port} ct direction reply meta mark set {mark} accept
{from_here}		udp sport 67 udp dport 68 accept
		ct state related icmp type {{ destination-unreachable, time-exceeded, parameter-problem }} accept
		counter name \"incoming\" drop
	}}
{names}
	# Flows that began elsewhere, and translated ones: the home takes nothing from other addresses.
	chain source {{
		type nat hook postrouting priority srcnat; policy accept;
		oifname \"{tunnel}\" ip saddr != {address} snat ip to {address}
	}}
}}
"
    )
}

/// What passes at this access point, there and back.
fn here(surroundings: &Surroundings, mark: u32) -> [String; 2] {
    let Surroundings { interface, access_point, port, portal } = surroundings;
    let mut there = format!(
        "\t\toifname \"{interface}\" ip daddr {access_point} meta l4proto {{ tcp, udp }} th dport {port} ct direction \
         original accept\n"
    );
    let mut back = format!(
        "\t\tiifname \"{interface}\" ip saddr {access_point} meta l4proto {{ tcp, udp }} th sport {port} ct direction \
         reply accept\n"
    );
    if *portal {
        for what in ["meta l4proto tcp", "udp dport 53"] {
            writeln!(
                there,
                "\t\toifname \"{interface}\" meta mark {mark} {what} ct direction original ct mark set {mark} accept"
            )
            .expect("a String takes everything");
        }
        writeln!(
            back,
            "\t\tiifname \"{interface}\" meta l4proto {{ tcp, udp }} ct mark {mark} ct direction reply meta mark set \
             {mark} accept"
        )
        .expect("a String takes everything");
    }
    [there, back]
}

/// The chains that send questions to the home's resolver.
fn names(tunnel: &str, mark: u32, resolver: Ipv4Addr) -> String {
    let question = format!("oifname != \"lo\" meta mark != {mark} meta l4proto {{ tcp, udp }} th dport 53");
    format!(
        "
	chain zone_of_questions {{
		type filter hook output priority -300; policy accept;
		{question} ct zone set {ZONE}
	}}

	chain zone_of_answers {{
		type filter hook prerouting priority raw; policy accept;
		iifname \"{tunnel}\" meta l4proto {{ tcp, udp }} th sport 53 ct zone set {ZONE}
	}}

	chain questions {{
		type nat hook output priority -100; policy accept;
		{question} dnat ip to {resolver}:53
	}}
"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn passage() -> Passage {
        Passage {
            interface: "gr-home".to_owned(),
            address: Ipv4Addr::new(10, 99, 0, 2),
            home: "203.0.113.5:51820".parse().unwrap(),
            mark: 26_482,
            table: 26_482,
            resolver: None,
            guard: Guard::Met,
        }
    }

    fn surroundings() -> Surroundings {
        let access_point = Ipv4Addr::new(10, 77, 0, 1);
        Surroundings { interface: "wlan0".to_owned(), access_point, port: 7_273, portal: false }
    }

    #[test]
    fn settings_that_would_open_the_switch_are_refused() {
        assert_eq!(check(&passage(), Some(&surroundings())), Ok(()));
        assert_eq!(check(&passage(), None), Ok(()));
        let wrong = [
            (Passage { mark: 0, ..passage() }, surroundings()),
            (Passage { table: 254, ..passage() }, surroundings()),
            (Passage { interface: "wlan0".to_owned(), ..passage() }, surroundings()),
            (Passage { interface: "a\" accept".to_owned(), ..passage() }, surroundings()),
            (Passage { guard: Guard::AllBut(vec!["*".to_owned()]), ..passage() }, surroundings()),
            (Passage { guard: Guard::AllBut(vec!["a\" x".to_owned()]), ..passage() }, surroundings()),
            (Passage { guard: Guard::AllBut(vec!["wl*".to_owned()]), ..passage() }, surroundings()),
            (passage(), Surroundings { port: 0, ..surroundings() }),
            (passage(), Surroundings { interface: "lo".to_owned(), ..surroundings() }),
        ];
        for (passage, surroundings) in wrong {
            assert!(check(&passage, Some(&surroundings)).is_err(), "{passage:?} {surroundings:?}");
        }
    }

    #[test]
    fn without_a_resolver_nothing_is_translated_to_one() {
        let guarded = BTreeSet::from(["wlan0".to_owned()]);
        assert!(!render(&passage(), Some(&surroundings()), &guarded).contains("dnat"));
        let resolver = Some(Ipv4Addr::new(10, 99, 0, 1));
        let text = render(&Passage { resolver, ..passage() }, Some(&surroundings()), &guarded);
        assert!(text.contains("dnat ip to 10.99.0.1:53"), "{text}");
    }
}
