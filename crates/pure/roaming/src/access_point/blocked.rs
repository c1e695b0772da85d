//! Devices that the household does not serve, and sessions that it ends.
//!
//! A device is known by the hardware address by which its packets arrive, and that is changed easily.

use super::output::Refusal;
use super::session::{Session, Stage};
use super::{AccessPoint, Address, Event};
use crate::message::{Code, Device};
use guestright_ordered::OrderedSet;
use guestright_units::{Time, UnixSeconds};
use std::net::Ipv4Addr;

/// What whoever is blocked reads.
pub const BLOCKED: &str = "this household does not serve this device";

impl AccessPoint {
    /// The household serves these devices no longer, and all others again. Their sessions end at once, they leave the Wi-Fi if they
    /// have joined by 802.1X, and they get no session. Says how many sessions end.
    pub fn set_blocked_devices(&mut self, devices: impl IntoIterator<Item = Device>, now: Time) -> usize {
        self.blocked = devices.into_iter().collect();
        let here = self.sessions_where(|address, session| {
            self.blocked.contains(&address.mac) && matches!(session.stage, Stage::Opening | Stage::Open)
        });
        for address in &here {
            self.turn_out(*address, now);
        }
        for station in self.blocked.clone() {
            if let Some(event) = self.stations.dismiss(station, BLOCKED) {
                self.output.event(event);
            }
        }
        self.flush(now);
        here.len()
    }

    /// Whether the household does not serve this device.
    pub fn is_blocked(&self, device: Device) -> bool {
        self.blocked.contains(&device)
    }

    /// The devices that the household does not serve.
    pub fn blocked_devices(&self) -> &OrderedSet<Device> {
        &self.blocked
    }

    /// The household ends the sessions at this address, those of its tunnels too, and their visitors are told so. Whoever had one
    /// may ask for another. Says how many there were.
    pub fn end(&mut self, ip: Ipv4Addr, now: Time) -> usize {
        self.end_all(&self.sessions_where(|address, _| address.ip == ip), now)
    }

    /// The household ends this session and no other, in the same way. Says whether it is there.
    pub fn end_session(&mut self, address: Address, started: UnixSeconds, now: Time) -> bool {
        let is_it = |here: Address, session: &Session| here == address && session.started == started;
        self.end_all(&self.sessions_where(is_it), now) > 0
    }

    fn end_all(&mut self, sessions: &[Address], now: Time) -> usize {
        for address in sessions {
            if let Some(session) = self.sessions.get_mut(*address) {
                session.was_ended = true;
            }
            self.close(*address, Code::Closed, now);
        }
        self.flush(now);
        sessions.len()
    }

    fn sessions_where(&self, is_wanted: impl Fn(Address, &Session) -> bool) -> Vec<Address> {
        let all = self.sessions.addresses().into_iter();
        all.filter(|address| self.sessions.get(*address).is_some_and(|it| is_wanted(*address, it))).collect()
    }

    /// Ends the session of a device that is blocked, which learns why. One that ends already is left to do so.
    fn turn_out(&mut self, address: Address, now: Time) {
        let Some(session) = self.sessions.get_mut(address) else { return };
        if session.stage == Stage::Opening {
            let path = session.path;
            self.sessions.remove(address);
            self.home_contacts.over(path, false, now);
            return self.output.refuse(address, path, Refusal::blocked());
        }
        session.was_blocked = true;
        let (kind, reason) = ("blocked", BLOCKED.to_owned());
        self.output.count(kind);
        self.output.event(Event::Refused { address, kind, reason });
        self.close(address, Code::Refused, now);
    }
}
