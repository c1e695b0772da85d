//! One request that somebody has sent us (RFC 3261 section 17.2).

use super::{Retransmission, T1, T4, TRANSACTION_MAX};
use guestright_units::{Micros, Time};

/// How far it is. INVITE and the others share these states.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// No response yet.
    Trying,
    /// A provisional response.
    Proceeding,
    /// A final response, other than 2xx to INVITE (timers G, H and J).
    Completed,
    /// 2xx to INVITE, which the user repeats itself (RFC 6026 section 7.1, timer L).
    Accepted,
    /// ACK has come. Nothing is repeated any more (timer I).
    Confirmed,
    /// No final response in time. One may still be given, and is sent once.
    Unanswered,
    /// That one was given.
    Over,
}

/// What is to be done when its time has come.
#[derive(Debug)]
pub(super) enum Due {
    Retransmit(Vec<u8>),
    Unanswered,
    Ended,
}

#[derive(Debug)]
pub(super) struct Server {
    /// When its timer is set for.
    pub(super) due: Time,
    is_invite: bool,
    state: State,
    last: Option<Vec<u8>>,
    retransmission: Option<Retransmission>,
    /// How long the user may take from one response to the next.
    response_max: Micros,
    ends: Time,
}

impl Server {
    pub(super) fn new(is_invite: bool, ring_max: Micros, now: Time) -> Self {
        // Longer than anything may take: ringing, then CANCEL, then the time-out of that.
        let response_max = Micros(ring_max.0 + 2 * TRANSACTION_MAX.0);
        let ends = now + response_max;
        let (state, last, retransmission) = (State::Trying, None, None);
        Self { due: ends, is_invite, state, last, retransmission, response_max, ends }
    }

    pub(super) fn next_due(&self) -> Time {
        Retransmission::due(self.retransmission, self.ends)
    }

    /// Whether it has had its last response, and no repetition of the request is expected.
    pub(super) fn is_over(&self) -> bool {
        self.state == State::Over
    }

    /// What a repeated request is answered with.
    pub(super) fn repetition(&self) -> Option<Vec<u8>> {
        // A 2xx response to INVITE is repeated end to end, by whoever gave it.
        self.last.clone().filter(|_| self.state != State::Accepted)
    }

    /// Notes a response. Says whether it may be sent.
    pub(super) fn respond(&mut self, code: u16, bytes: Vec<u8>, is_reliable: bool, now: Time) -> bool {
        let is_success = self.is_invite && code / 100 == 2;
        let is_open = match self.state {
            State::Trying | State::Proceeding | State::Unanswered => true,
            // Several telephones may accept one INVITE, and each repeats its 2xx response.
            State::Accepted => is_success,
            State::Completed | State::Confirmed | State::Over => false,
        };
        if !is_open {
            return false;
        }
        let was_unanswered = self.state == State::Unanswered;
        self.state = match code {
            100..200 => State::Proceeding,
            _ if was_unanswered => State::Over,
            _ if is_success => State::Accepted,
            _ => State::Completed,
        };
        self.last = Some(bytes);
        if code >= 200 {
            self.ends = now + TRANSACTION_MAX;
            // Timer G: a failure is repeated until its ACK has come.
            let repeats = self.state == State::Completed && self.is_invite && !is_reliable;
            self.retransmission = repeats.then(|| Retransmission::first(now));
        } else {
            self.ends = now + self.response_max;
        }
        true
    }

    /// An ACK has come. Says whether it is that of a failure of ours.
    pub(super) fn acknowledge(&mut self, now: Time) -> bool {
        if !matches!(self.state, State::Completed | State::Confirmed) {
            return false;
        }
        self.state = State::Confirmed;
        (self.retransmission, self.ends) = (None, now + T4);
        true
    }

    pub(super) fn handle_timeout(&mut self, now: Time) -> Due {
        if self.ends <= now {
            if self.state == State::Proceeding && self.is_invite {
                (self.state, self.ends) = (State::Unanswered, now + T1);
                return Due::Unanswered;
            }
            return Due::Ended;
        }
        self.retransmission = self.retransmission.map(|last| last.next(true, now));
        self.last.clone().map_or(Due::Ended, Due::Retransmit)
    }
}
