//! Where members' IPsec tunnels end, and what was authentic of them: charon is asked, on a thread of its own.
//!
//! charon counts inner packets for each pair of keys, and begins anew with each pair. Here that becomes one count for each
//! member: what all of its pairs have carried, as the IPv4 packets that they travelled in, at most.

use super::asking::{Asking, Question};
use super::ipv4;
use guestright_error::RunError;
use guestright_strongswan::{Carried, Status, StrongswanError};
use guestright_units::Bytes;
use std::collections::BTreeMap;
use std::net::SocketAddrV4;
use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// charon is not asked again so soon, whoever wants to know.
const ASK_GAP: Duration = Duration::from_millis(50);
/// While somebody does it is asked so often: it forgets a pair of keys some seconds after another one has replaced it.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// For so long after the last question.
const LOOK_FOR: Duration = Duration::from_secs(120);
/// What surrounds an inner packet at most: IPv4 20, UDP 8, ESP 8, initialisation 16, filling 15, trailer 2, checksum 16.
const AROUND: u64 = 85;
/// What there is besides in a second: questions whether the other is still there, and new keys. Nobody counts them.
const CONTROL_BYTES_A_SECOND: u64 = 128;

/// A member's tunnel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Tunnel {
    /// Where it comes from now.
    pub(super) at: SocketAddrV4,
    /// What was authentic of it, both ways, at most.
    pub(super) authentic: Bytes,
}

/// Every member's, by the member's name. Nothing: charon does not say, because it is being started again.
pub(super) type Tunnels = Option<Arc<BTreeMap<String, Tunnel>>>;

/// The way to ask which tunnels there are now.
pub(super) type Looks = Asking<Tunnels>;

/// The thread.
#[derive(Debug)]
pub(super) struct Ipsec {
    looks: Looks,
    thread: JoinHandle<()>,
}

impl Ipsec {
    /// `ask` asks charon. It may take a while.
    pub(super) fn start(
        ask: impl Fn() -> Result<Status, StrongswanError> + Send + 'static,
    ) -> Result<Self, RunError> {
        let (looks, asked) = Looks::open();
        let thread = std::thread::Builder::new().name("ikev2-tunnels".to_owned());
        let thread = thread.spawn(move || look(&ask, &asked)).map_err(RunError::network)?;
        Ok(Self { looks, thread })
    }

    pub(super) fn looks(&self) -> Looks {
        self.looks.clone()
    }

    /// Who still asks learns nothing.
    pub(super) fn stop(self) -> Result<(), RunError> {
        self.looks.end();
        self.thread.join().map_err(|_| RunError::broken_thread("the thread that looks at IPsec's tunnels"))
    }
}

fn look(ask: &impl Fn() -> Result<Status, StrongswanError>, questions: &mpsc::Receiver<Question<Tunnels>>) {
    let mut ledger = Ledger::default();
    let (mut asked, mut wanted) = (None::<Instant>, None::<Instant>);
    loop {
        let is_wanted = wanted.is_some_and(|at| at.elapsed() < LOOK_FOR);
        let question = if is_wanted {
            questions.recv_timeout(LOOK_EVERY)
        } else {
            questions.recv().map_err(|_| RecvTimeoutError::Disconnected)
        };
        let mut waiting = match question {
            Ok(Some(reply)) => vec![reply],
            Err(RecvTimeoutError::Timeout) => Vec::new(),
            Ok(None) | Err(RecvTimeoutError::Disconnected) => return,
        };
        if let Some(pause) = asked.and_then(|at| ASK_GAP.checked_sub(at.elapsed())) {
            std::thread::sleep(pause);
        }
        // One answer is for all who wait: what is so after they asked.
        while let Ok(question) = questions.try_recv() {
            let Some(reply) = question else { return };
            waiting.push(reply);
        }
        let passed = asked.map_or(Duration::ZERO, |at| at.elapsed());
        asked = Some(Instant::now());
        wanted = if waiting.is_empty() { wanted } else { asked };
        let tunnels = match ask() {
            Ok(status) if status.charon.is_some() => Some(Arc::new(ledger.read(&status, passed))),
            Ok(_) => None,
            Err(error) => {
                tracing::debug!(%error, "charon does not say where members are");
                None
            }
        };
        for reply in waiting {
            let _ = reply.send(tunnels.clone());
        }
    }
}

/// What each member's pairs of keys have carried.
#[derive(Debug, Default)]
struct Ledger {
    /// Pairs' numbers are one charon's.
    charon: Option<u32>,
    pairs: BTreeMap<u64, Carried>,
    members: BTreeMap<String, u64>,
}

impl Ledger {
    /// Takes in what charon says, so long after it was last asked.
    fn read(&mut self, status: &Status, passed: Duration) -> BTreeMap<String, Tunnel> {
        if self.charon != status.charon {
            (self.charon, self.pairs) = (status.charon, BTreeMap::new());
        }
        let (mut pairs, mut tunnels) = (BTreeMap::new(), BTreeMap::<String, (u64, Tunnel)>::new());
        for peer in &status.peers {
            let at = peer.from.and_then(|ip| ipv4((ip, peer.port).into()));
            let (Some(member), Some(at)) = (&peer.member, at) else { continue };
            let grown = peer.carried.iter().map(|now| {
                pairs.insert(now.pair, *now);
                grown(self.pairs.get(&now.pair), now)
            });
            let control = CONTROL_BYTES_A_SECOND.saturating_mul(passed.as_secs().min(peer.seconds));
            let more = grown.fold(control, u64::saturating_add);
            let all = self.members.entry(member.clone()).or_default();
            *all = all.saturating_add(more);
            // An association that replaces another is there beside it for a moment: the younger one is right.
            let tunnel = (peer.seconds, Tunnel { at, authentic: Bytes(*all) });
            let is_younger = tunnels.get(member).is_none_or(|(seconds, _)| peer.seconds <= *seconds);
            if is_younger {
                tunnels.insert(member.clone(), tunnel);
            }
        }
        self.pairs = pairs;
        tunnels.into_iter().map(|(member, (_, tunnel))| (member, tunnel)).collect()
    }
}

/// What a pair has carried since, with what was around it.
fn grown(before: Option<&Carried>, now: &Carried) -> u64 {
    let (bytes, packets) = before.map_or((0, 0), |before| (before.bytes, before.packets));
    let bytes = now.bytes.saturating_sub(bytes);
    let packets = now.packets.saturating_sub(packets);
    bytes.saturating_add(packets.saturating_mul(AROUND))
}

#[cfg(test)]
mod tests {
    use super::*;
    use guestright_strongswan::{DataPlane, Peer};

    fn status(charon: u32, peers: Vec<Peer>) -> Status {
        Status { charon: Some(charon), data_plane: DataPlane::Userspace, l2tp: false, restarts: 0, peers }
    }

    fn peer(member: Option<&str>, port: u16, seconds: u64, pairs: &[(u64, u64, u64)]) -> Peer {
        let carried = |&(pair, bytes, packets): &(u64, u64, u64)| Carried { pair, bytes, packets };
        Peer {
            name: "whatever it says".to_owned(),
            from: Some([192, 0, 2, 7].into()),
            port,
            addresses: Vec::new(),
            version: 2,
            seconds,
            suite: String::new(),
            received_bytes: 0,
            sent_bytes: 0,
            member: member.map(str::to_owned),
            carried: pairs.iter().map(carried).collect(),
        }
    }

    #[test]
    fn a_member_has_one_count_whatever_becomes_of_its_keys() {
        let mut ledger = Ledger::default();
        let mut read = |charon, port, pairs: &[(u64, u64, u64)]| {
            let peers = vec![peer(Some("alice"), port, 1_000, pairs), peer(None, 9, 9, &[(99, 1, 1)])];
            let tunnels = ledger.read(&status(charon, peers), Duration::ZERO);
            assert_eq!(tunnels.len(), 1, "who comes by the team's secret is nobody");
            (tunnels["alice"].at.port(), tunnels["alice"].authentic.0)
        };
        #[rustfmt::skip]
        let cases: [(_, _, _, &[_], _); 6] = [
            ("at first",                           1, 4_500, &[(1, 1_000, 10)],                 1_850),
            ("nothing since",                      1, 4_500, &[(1, 1_000, 10)],                 1_850),
            ("new keys, and another port",         1, 1_024, &[(1, 1_100, 11), (2, 50, 1)],     2_170),
            ("the old ones are gone",              1, 1_024, &[(2, 150, 2)],                    2_355),
            ("another charon counts anew",         2, 4_500, &[(2, 15, 1)],                     2_455),
            ("charon is started at the moment",    2, 4_500, &[],                               2_455),
        ];
        for (name, charon, port, pairs, want) in cases {
            assert_eq!(read(charon, port, pairs), (port, want), "{name}");
        }
    }

    #[test]
    fn a_silent_tunnels_control_messages_are_allowed_for() {
        let mut ledger = Ledger::default();
        let mut after = |passed, seconds| {
            let peers = vec![peer(Some("alice"), 4_500, seconds, &[])];
            ledger.read(&status(1, peers), Duration::from_secs(passed))["alice"].authentic.0
        };
        assert_eq!(after(0, 5), 0);
        assert_eq!(after(10, 15), 1_280);
        assert_eq!(after(3_600, 2), 1_536, "not for longer than it is there");
    }

    #[test]
    fn of_two_associations_the_younger_one_says_where_a_member_is() {
        let old = peer(Some("alice"), 1, 900, &[(1, 10, 0)]);
        let new = peer(Some("alice"), 2, 3, &[(2, 5, 0)]);
        for peers in [vec![old.clone(), new.clone()], vec![new, old]] {
            let tunnels = Ledger::default().read(&status(1, peers), Duration::ZERO);
            assert_eq!(tunnels["alice"].at.port(), 2);
        }
    }

    #[test]
    fn what_charon_says_after_the_question_is_the_answer() {
        let port = Arc::new(std::sync::Mutex::new(Some(7)));
        let answer = Arc::clone(&port);
        let ask = move || match *answer.lock().unwrap() {
            Some(port) => Ok(status(1, vec![peer(Some("alice"), port, 1, &[])])),
            None => Err(StrongswanError::Socket { reason: "gone".to_owned() }),
        };
        let ipsec = Ipsec::start(ask).unwrap();
        let looks = ipsec.looks();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        for now in [Some(7), Some(8), None, Some(9)] {
            *port.lock().unwrap() = now;
            let tunnels = runtime.block_on(looks.read());
            assert_eq!(tunnels.map(|tunnels| tunnels["alice"].at.port()), now);
        }
        ipsec.stop().unwrap();
    }
}
