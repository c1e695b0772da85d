//! What has to be kept, and what waits until it is.

use super::Event;
use super::record::Hold;
use crate::account::Account;
use crate::allowance::AllowanceState;
use crate::message::Message;
use crate::sessions::Accounted;
use guestright_receipt::{HoldId, SessionKey};
use guestright_units::{Bytes, TeamId, UnixSeconds};
use std::collections::VecDeque;

/// The number of a write.
pub type Token = u64;

/// A row as it is now; nothing if it is no longer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    Account(TeamId, Option<Account>),
    Hold(HoldId, Option<Hold>),
    /// What of a session is accounted for.
    Session(SessionKey, Option<Accounted>),
    /// Sessions that began before this are not accounted for any more.
    SessionsSince(UnixSeconds),
    /// What is left of the allowance, as [`Holds::keep_allowance`](super::Holds::keep_allowance) was told.
    Allowance(AllowanceState),
    /// What is left of what the household sponsors a team with, as [`Holds::keep_sponsored`](super::Holds::keep_sponsored)
    /// was told.
    Sponsored(TeamId, Bytes),
}

/// What has to be made durable together, after all writes before it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Write {
    /// To be repeated.
    pub token: Token,
    pub changes: Vec<Change>,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Durable {
    writes: VecDeque<Write>,
    /// The last write that was made, and the last that is durable.
    made: Token,
    written: Token,
    /// With the write that each relies on.
    transmits: VecDeque<(Token, TeamId, Message)>,
    events: VecDeque<(Token, Event)>,
    /// What the call sends and reports; it relies on the write that ends the call.
    unsent: Vec<(TeamId, Message)>,
    reported: Vec<Event>,
}

impl Durable {
    pub(super) fn send(&mut self, to: TeamId, message: Message) {
        self.unsent.push((to, message));
    }

    pub(super) fn report(&mut self, event: Event) {
        self.reported.push(event);
    }

    /// Ends a call. What it says may rely on an earlier write too, so it waits for that even if there is no new one.
    pub(super) fn flush(&mut self, changes: Vec<Change>) {
        if !changes.is_empty() {
            self.made += 1;
            self.writes.push_back(Write { token: self.made, changes });
        }
        let token = self.made;
        self.transmits.extend(self.unsent.drain(..).map(|(to, message)| (token, to, message)));
        self.events.extend(self.reported.drain(..).map(|event| (token, event)));
    }

    pub(super) fn poll_write(&mut self) -> Option<Write> {
        self.writes.pop_front()
    }

    pub(super) fn last_write(&self) -> Token {
        self.made
    }

    pub(super) fn handle_written(&mut self, token: Token) {
        self.written = self.written.max(token.min(self.made));
    }

    pub(super) fn poll_transmit(&mut self) -> Option<(TeamId, Message)> {
        let ready = self.transmits.pop_front_if(|(token, ..)| *token <= self.written);
        ready.map(|(_, to, message)| (to, message))
    }

    pub(super) fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front_if(|(token, _)| *token <= self.written).map(|(_, event)| event)
    }
}
