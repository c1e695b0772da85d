//! The messages of the protocol on their way between visitors and access points.

use super::{End, Kind, Network, Packet, protocol_event};
use crate::meter::Loss;
use crate::receipts::{Action, Household, packet_bytes, processor_ms};
use guestright_engine::{Instant, Key, Part};

impl Network {
    /// A message has been verified, or needs no verification.
    pub(super) fn verified(&mut self, at: End, message: Option<Key>, now: Instant) {
        let Some(key) = message else { return };
        let packet = self.packets.remove(key);
        let Kind::ToAccessPoint(letter) = packet.kind else { return };
        let letter = self.letters.remove(letter);
        if let Some(household) = &mut self.points[usize::from(at)].household {
            let agenda = &mut Part::new(&mut self.queue, protocol_event(at));
            household.handle_at_access_point(packet.call, &letter, agenda);
        }
        self.drain_household(at, now);
    }

    pub(super) fn reach_visitor(&mut self, key: Key, packet: Packet, letter: Key, now: Instant) {
        self.packets.remove(key);
        let letter = self.letters.remove(letter);
        let at = packet.from;
        if let Some(household) = &mut self.points[usize::from(at)].household {
            household.handle_at_visitor(
                packet.call,
                &letter,
                &mut Part::new(&mut self.queue, protocol_event(at)),
            );
        }
        self.drain_household(at, now);
    }

    pub(super) fn reach_access_point(&mut self, key: Key, packet: Packet, letter: Key, now: Instant) {
        let at = packet.from;
        let ms = self
            .config
            .receipts
            .as_ref()
            .map_or((0.0, 0.0), |receipts| processor_ms(self.letters.get(letter), receipts));
        if ms.0 + ms.1 > 0.0 {
            self.verify(at, Some(key), ms, now);
        } else {
            self.verified(at, Some(key), now);
        }
    }

    /// Puts the messages of the protocol on the radio.
    pub(super) fn drain_household(&mut self, at: End, now: Instant) {
        let Some(receipts) = self.config.receipts else { return };
        loop {
            let point = &mut self.points[usize::from(at)];
            let Some(action) = point.household.as_mut().and_then(Household::poll_action) else { return };
            let (call, bytes, is_for_visitor) = match action {
                Action::ToVisitor(call, bytes) => (call, bytes, true),
                Action::ToAccessPoint(call, bytes) => (call, bytes, false),
            };
            let (access_point, laptop) = (point.cell.access_point, point.laptop(call));
            let length = packet_bytes(&bytes, &receipts);
            let letter = self.letters.insert(bytes);
            let kind = if is_for_visitor { Kind::ToVisitor(letter) } else { Kind::ToAccessPoint(letter) };
            let key = self.packets.insert(Packet { call, from: at, kind, born: now });
            let (station, to) = if is_for_visitor { (access_point, laptop) } else { (laptop, access_point) };
            if !self.transmit(station, to, key, length) {
                self.lose(key, if is_for_visitor { Loss::AccessPointQueue } else { Loss::StationQueue });
            }
        }
    }
}
