//! The largest number of legs that sound well.

use crate::ends::{Ends, Leg, Outcome};
use crate::kinds::Kind;
use crate::peer::Peer;
use crate::score::{Score, Track, float, score};
use guestright_media::{Media, MediaCall, PortSpec, Settings, Wanted};
use guestright_relay::{Protection, Side, SideSettings, Sources, SrtpKeys};
use guestright_units::Seed;
use guestright_voice::srtp::MasterKey;
use rustix::thread::{CpuSet, sched_setaffinity};
use std::fs;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;

/// What is to be reached in every direction of every leg.
const MOS: f64 = 4.0;
/// No relay reaches more, and the ports end.
const LEGS_MAX: u32 = 4_900;
const ENDS_CPU: usize = 0;
const RELAY_CPU: usize = 1;

pub(crate) struct Plan {
    pub(crate) repetitions: u32,
    pub(crate) seconds: u32,
    pub(crate) legs: Option<u32>,
}

impl Default for Plan {
    fn default() -> Self {
        Self { repetitions: 3, seconds: 6, legs: None }
    }
}

/// What one number of legs came to.
struct Try {
    score: Score,
    /// Of the relay's core.
    cpu: f64,
    ns_per_packet: f64,
    /// The ends, and not the relay, were too slow.
    ends_too_slow: bool,
}

impl Try {
    fn passed(&self) -> bool {
        self.score.worst_mos >= MOS
    }
}

/// The numbers of legs reached, one for each repetition.
pub(crate) fn run(kind: Kind, plan: &Plan) -> Vec<u32> {
    println!("{kind}:");
    println!(
        "  legs   MOS worst/mean   lost %   late %   delay ms mean/p99   jitter ms   relay's core   ns a packet"
    );
    if let Some(legs) = plan.legs {
        return (0..plan.repetitions)
            .map(|_| if attempt(kind, legs, plan.seconds) == Some(true) { legs } else { 0 })
            .collect();
    }
    let reached: Vec<u32> = (0..plan.repetitions).map(|_| search(kind, plan.seconds)).collect();
    println!("{kind}: reached {}\n", spread(&reached));
    reached
}

fn search(kind: Kind, seconds: u32) -> u32 {
    let (mut good, mut bad, mut conclusive) = (0, None, true);
    let mut legs = 500;
    while legs <= LEGS_MAX && bad.is_none_or(|bad| bad - good > good / 20) {
        let outcome = attempt(kind, legs, seconds);
        if outcome == Some(true) {
            good = legs;
        } else {
            (bad, conclusive) = (Some(legs), outcome.is_some());
        }
        if good == LEGS_MAX || bad.is_some_and(|bad| bad <= 16) {
            break;
        }
        legs = bad.map_or_else(|| (legs * 3 / 2).min(LEGS_MAX), |bad| u32::midpoint(good, bad));
    }
    println!(
        "  -> {good}{}",
        if conclusive { "" } else { " or more: the ends, and not the relay, were too slow beyond" }
    );
    good
}

/// Whether so many legs sound well; nothing if it could not be told. A try in which the ends were too slow tells nothing
/// bad of the relay, and is repeated.
fn attempt(kind: Kind, legs: u32, seconds: u32) -> Option<bool> {
    const TRIES: u32 = 3;
    (0..TRIES).find_map(|_| attempt_once(kind, legs, seconds))
}

/// Nothing if it could not be told.
fn attempt_once(kind: Kind, legs: u32, seconds: u32) -> Option<bool> {
    let tried = try_legs(kind, legs, seconds);
    let Score { worst_mos, mean_mos, lost, late, delay_mean_ms, delay_p99_ms, jitter_ms } = tried.score;
    println!(
        "  {legs:>4}   {worst_mos:>6.2} / {mean_mos:.2}   {:>7.3}  {:>7.3}   {delay_mean_ms:>9.2} / {delay_p99_ms:<6.2}  {jitter_ms:>9.3}   {:>10.0} %   {:>11.0}{}{}",
        lost * 100.0,
        late * 100.0,
        tried.cpu * 100.0,
        tried.ns_per_packet,
        if tried.passed() { "" } else { "   too many" },
        if tried.ends_too_slow { "   (the ends were too slow)" } else { "" },
    );
    (tried.passed() || !tried.ends_too_slow).then_some(tried.passed())
}

fn try_legs(kind: Kind, legs: u32, seconds: u32) -> Try {
    let ends = Ends::open();
    let relay = Relay::start(kind, legs, &ends);
    let before = relay.busy_ns();
    let outcome = ends.talk(&relay.legs, seconds);
    // The time in which packets were sent; what came afterwards is a rest.
    let busy = float(usize::try_from(relay.busy_ns().saturating_sub(before)).expect("nanoseconds"));
    assert_eq!(outcome.wrong, 0, "the relay changed what was said");
    judge(&outcome, busy, seconds)
}

fn judge(outcome: &Outcome, busy_ns: f64, seconds: u32) -> Try {
    let score = score(outcome.tracks().map(Track));
    let packets: usize = outcome.tracks().map(|track| track.iter().flatten().count()).sum();
    // The warm-up's packets are not in the tracks.
    let share = f64::from(seconds * 50) / f64::from(seconds * 50 - 25);
    Try {
        score,
        cpu: busy_ns / (f64::from(seconds) * 1e9),
        ns_per_packet: busy_ns / (float(packets) * share),
        ends_too_slow: outcome.late_p99_ms > 5.0 || outcome.dropped_here > 0 || outcome.not_sent > 0,
    }
}

/// A relay with all its legs.
struct Relay {
    legs: Vec<Leg>,
    tasks: PathBuf,
    thread: Option<&'static str>,
    _held: Held,
}

enum Held {
    Ours { _media: Media, _calls: Vec<MediaCall> },
    Peer { _peer: Peer },
}

impl Relay {
    fn start(kind: Kind, legs: u32, ends: &Ends) -> Self {
        pin(RELAY_CPU);
        let relay =
            if kind == Kind::Rtpengine { Self::peer(kind, legs, ends) } else { Self::ours(kind, legs, ends) };
        pin(ENDS_CPU);
        relay
    }

    fn ours(kind: Kind, legs: u32, ends: &Ends) -> Self {
        let settings =
            Settings { port_first: 10_000, port_last: 29_999, calls_max: 10_000, ..Settings::default() };
        let media = Media::start(settings, Seed::from_number(7), |_, _| {}).expect("media start");
        let spec = PortSpec { address: IpAddr::V4(Ipv4Addr::LOCALHOST), pair: false };
        let side = |media: SocketAddr, protection| SideSettings {
            media: Some(media),
            mux: true,
            sources: Sources::Address(media.ip()),
            protection,
            ..SideSettings::closed()
        };
        let (mut calls, mut ready) = (Vec::new(), Vec::new());
        for leg in 0..legs {
            let keys = kind.profile().map(|profile| (key(profile, leg, 0), key(profile, leg, 1)));
            let (a, b) = match keys.clone() {
                Some((outgoing, incoming)) => {
                    (Protection::Plain, Protection::Srtp(SrtpKeys { incoming, outgoing }))
                }
                None => (Protection::Opaque, Protection::Opaque),
            };
            let wanted =
                Wanted { ports_a: spec, ports_b: spec, a: side(ends.near(), a), b: side(ends.far(), b) };
            let call = media.open(wanted).expect("a call's ports");
            let port = |side| match call.ports(side).media {
                SocketAddr::V4(v4) => v4,
                SocketAddr::V6(v6) => unreachable!("{v6} was not asked for"),
            };
            ready.push(Leg { near: port(Side::A), far: port(Side::B), keys });
            calls.push(call);
        }
        let tasks = PathBuf::from("/proc/self/task");
        Self { legs: ready, tasks, thread: Some("media"), _held: Held::Ours { _media: media, _calls: calls } }
    }

    fn peer(kind: Kind, legs: u32, ends: &Ends) -> Self {
        let peer = Peer::start();
        let profile = kind.profile().expect("the peer protects");
        let ready = (0..legs).map(|leg| peer.open(leg, ends, &key(profile, leg, 1))).collect();
        let tasks = peer.tasks();
        Self { legs: ready, tasks, thread: None, _held: Held::Peer { _peer: peer } }
    }

    /// How long the relay's threads have been on a core.
    fn busy_ns(&self) -> u64 {
        let tasks = fs::read_dir(&self.tasks).expect("the relay runs").flatten();
        let named = tasks.filter(|task| {
            self.thread.is_none_or(|name| {
                fs::read_to_string(task.path().join("comm")).is_ok_and(|comm| comm.trim() == name)
            })
        });
        named
            .filter_map(|task| {
                let text = fs::read_to_string(task.path().join("schedstat")).ok()?;
                text.split(' ').next()?.parse::<u64>().ok()
            })
            .sum()
    }
}

/// A key that nobody else has.
fn key(profile: guestright_voice::srtp::Profile, leg: u32, direction: u8) -> MasterKey {
    let mut bytes = [direction; 46];
    bytes[..4].copy_from_slice(&leg.to_be_bytes());
    MasterKey::new(profile, &bytes[..profile.key_len()], &bytes[16..16 + profile.salt_len()])
        .expect("the lengths fit")
}

/// What is measured is the relay, and not what else the computer does.
pub(crate) fn hurry() {
    let _ = rustix::process::setpriority_process(None, -19);
}

/// Puts this thread, and those that it makes, on one core.
fn pin(cpu: usize) {
    let mut set = CpuSet::new();
    set.set(cpu);
    sched_setaffinity(None, &set).expect("two cores");
}

fn spread(reached: &[u32]) -> String {
    let (least, most) = (reached.iter().min().expect("once"), reached.iter().max().expect("once"));
    let mut sorted = reached.to_vec();
    sorted.sort_unstable();
    format!(
        "{} legs (median of {}, {least} to {most}) with MOS >= {MOS:.1}",
        sorted[sorted.len() / 2],
        sorted.len()
    )
}

/// All kinds side by side.
pub(crate) fn summary(reached: &[(Kind, Vec<u32>)]) {
    let median = |legs: &[u32]| {
        let mut sorted = legs.to_vec();
        sorted.sort_unstable();
        f64::from(sorted[sorted.len() / 2])
    };
    let peer = reached.iter().find(|(kind, _)| *kind == Kind::Rtpengine).map(|(_, legs)| median(legs));
    for (kind, legs) in reached {
        let ratio =
            peer.map_or(String::new(), |peer| format!(", {:.2} times rtpengine", median(legs) / peer));
        println!("{kind:>10}: {}{ratio}", spread(legs));
    }
}
