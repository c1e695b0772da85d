//! Attempts to join without end: most of them bad, some that a home has to look at.

use super::air::Air;
use guestright_radius::{Code, Draft, Kind, Realm, Secret};
use guestright_units::TeamId;
use std::net::UdpSocket;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// A station's first question, or one that follows a challenge with `state`.
pub(super) fn access_request(
    secret: &Secret,
    identifier: u8,
    realm: Realm,
    station: &str,
    state: Option<&[u8]>,
) -> Vec<u8> {
    named_request(secret, identifier, &realm.anonymous_identity(), station, state)
}

fn named_request(
    secret: &Secret,
    identifier: u8,
    name: &str,
    station: &str,
    state: Option<&[u8]>,
) -> Vec<u8> {
    let length = u16::try_from(5 + name.len()).unwrap().to_be_bytes();
    let identity = [&[2, identifier], length.as_slice(), &[1], name.as_bytes()].concat();
    let mut draft = Draft::new(Code::AccessRequest, identifier);
    draft.push(Kind::USER_NAME, name.as_bytes()).unwrap();
    draft.push(Kind::CALLING_STATION_ID, station.as_bytes()).unwrap();
    draft.push_eap(&identity).unwrap();
    if let Some(state) = state {
        draft.push(Kind::STATE, state).unwrap();
    }
    draft.emit_request(secret, [identifier; 16])
}

/// While it is there it goes on.
pub(super) struct Flood {
    over: Arc<AtomicBool>,
    sent: Arc<AtomicU64>,
    begun: Instant,
    thread: JoinHandle<()>,
}

impl Flood {
    /// So many attempts a second, each of another station: of no provider of ours, with a wrong secret, of a team that nobody
    /// knows, and of both households' teams without an end. In the name of the phone's own team there is one in a hundred: a flood of
    /// these keeps its phones out, and no others.
    pub(super) fn start(air: &Air, per_second: u32) -> Self {
        let (secret, [ours, theirs]) = (air.radius_secret(), ["p", "a"].map(|team| Realm(air.team(team))));
        let (over, sent) = (Arc::<AtomicBool>::default(), Arc::<AtomicU64>::default());
        let (stop, count) = (Arc::clone(&over), Arc::clone(&sent));
        let sockets = air.within("p", || {
            // Each has its own 256 identifiers.
            [(); 64].map(|()| UdpSocket::bind("127.0.0.1:0").unwrap())
        });
        let begun = Instant::now();
        let thread = std::thread::spawn(move || {
            let wrong = Secret::new(b"another secret than the right one").unwrap();
            let nobody = Realm(TeamId([9; 24]));
            for number in 0_u64.. {
                if stop.load(Ordering::Relaxed) {
                    return;
                }
                let [.., a, b, c] = number.to_be_bytes();
                let station = format!("06-00-00-{a:02X}-{b:02X}-{c:02X}");
                let socket = &sockets[usize::try_from(number).unwrap() % sockets.len()];
                let identifier = u8::try_from(number / 64 % 256).unwrap();
                let bytes = match number % 10 {
                    _ if number % 100 == 99 => access_request(&secret, identifier, theirs, &station, None),
                    0..=2 => named_request(&secret, identifier, "bob@example.org", &station, None),
                    3 | 4 => access_request(&wrong, identifier, theirs, &station, None),
                    5 | 6 => access_request(&secret, identifier, nobody, &station, None),
                    _ => access_request(&secret, identifier, ours, &station, None),
                };
                let _ = socket.send_to(&bytes, "127.0.0.1:1812");
                count.fetch_add(1, Ordering::Relaxed);
                let due = begun + Duration::from_secs(1) / per_second * u32::try_from(number).unwrap();
                std::thread::sleep(due.saturating_duration_since(Instant::now()));
            }
        });
        Self { over, sent, begun, thread }
    }

    pub(super) fn sent(&self) -> u64 {
        self.sent.load(Ordering::Relaxed)
    }

    /// How many it were, and how long it lasted.
    pub(super) fn stop(self) -> (u64, Duration) {
        self.over.store(true, Ordering::Relaxed);
        self.thread.join().unwrap();
        (self.sent.load(Ordering::Relaxed), self.begun.elapsed())
    }
}
