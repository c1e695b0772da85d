//! Packets offered to a link at given times, and what came of each.

use super::between::At;
use guestright_engine::{Instant, Key, Nanos, Pool, Queue, Streams};
use guestright_transport::{
    AnyLink, Discipline, Ecn, Errors, LinkEvent, LinkNumber, LinkOutput, LinkSettings, LinkStats, LinkStatus,
    Packet,
};
use guestright_units::Seed;

/// A packet that is offered.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Offer {
    pub(crate) at: Instant,
    pub(crate) bytes: u32,
    pub(crate) flow: u32,
    pub(crate) ecn: Ecn,
}

impl Offer {
    pub(crate) fn new(at: Instant, bytes: u32, flow: u32) -> Self {
        Self { at, bytes, flow, ecn: Ecn::Not }
    }
}

/// What became of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    Refused,
    Dropped(Instant),
    Arrived { at: Instant, lost: bool, marked: bool },
}

/// What became of all, in the order in which they were offered.
#[derive(Debug, PartialEq)]
pub(crate) struct Story {
    pub(crate) fates: Vec<Fate>,
    /// The places of those that arrived, in the order of their arrival.
    pub(crate) order: Vec<usize>,
    /// The longest queue after an offer, the packet being sent among it, and the most bytes.
    pub(crate) longest: usize,
    pub(crate) stats: LinkStats,
}

pub(crate) fn streams() -> Streams {
    Streams::new(Seed::from_number(11))
}

pub(crate) fn link(settings: LinkSettings, discipline: Discipline, errors: &Errors) -> AnyLink {
    AnyLink::new(LinkNumber(4), settings, discipline, errors, &streams()).expect("the settings can be")
}

pub(crate) fn millis(count: u64) -> Instant {
    Instant::START + Nanos::from_millis(count)
}

/// Offers all, each after everything else that happens at its time, and runs until nothing happens any more.
pub(crate) fn run_offers(mut link: AnyLink, offers: &[Offer]) -> Story {
    let mut queue: Queue<LinkEvent> = Queue::new();
    let mut pool = Pool::new();
    let keys: Vec<Key> = (0..offers.len()).map(|index| pool.insert(index)).collect();
    let mut fates: Vec<Option<Fate>> = vec![None; offers.len()];
    let (mut order, mut longest) = (Vec::new(), 0);
    let mut drain = |link: &mut AnyLink, at: Instant, fates: &mut Vec<Option<Fate>>| {
        while let Some(output) = link.poll_output() {
            let (key, fate) = match output {
                LinkOutput::Delivered(packet) => {
                    order.push(*pool.get(packet.key));
                    (packet.key, Fate::Arrived { at, lost: packet.lost, marked: packet.marked })
                }
                LinkOutput::Dropped { key } => (key, Fate::Dropped(at)),
            };
            let index = *pool.get(key);
            assert_eq!(fates[index].replace(fate), None, "packet {index} came out twice");
        }
    };
    for (index, offer) in offers.iter().enumerate() {
        while queue.next_at().is_some_and(|at| at <= offer.at) {
            let (at, event) = queue.pop().expect("there is a next event");
            link.handle(event, &mut queue);
            drain(&mut link, at, &mut fates);
        }
        let Offer { bytes, flow, ecn, .. } = *offer;
        let packet = Packet { key: keys[index], bytes, flow, ecn };
        if !link.enqueue(packet, &mut At(offer.at, &mut queue)) {
            fates[index] = Some(Fate::Refused);
        }
        drain(&mut link, offer.at, &mut fates);
        longest = longest.max(link.queue_len(offer.at));
    }
    while let Some((at, event)) = queue.pop() {
        link.handle(event, &mut queue);
        drain(&mut link, at, &mut fates);
    }
    assert_eq!(link.in_flight(), 0, "nothing is left");
    let fates = fates.into_iter().map(|fate| fate.expect("something becomes of every packet")).collect();
    Story { fates, order, longest, stats: link.stats() }
}
