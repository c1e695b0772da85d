//! One request that we have sent (RFC 3261 section 17.1).

use super::{Retransmission, T2, TRANSACTION_MAX, build_ack, build_cancel};
use crate::{Message, Method, Peer, Start};
use guestright_units::{Micros, Time};

/// How far it is. INVITE and the others share these states; only INVITE has `Accepted` (RFC 6026 section 8.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// No response yet: "Calling" of INVITE, "Trying" of the others.
    Calling,
    /// A provisional response.
    Proceeding,
    /// A final response, other than 2xx to INVITE. Repetitions are absorbed (timers D and K).
    Completed,
    /// 2xx to INVITE. Each one goes to the user (timer M).
    Accepted,
}

/// Whether an INVITE is to be withdrawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Withdrawal {
    No,
    /// As soon as a provisional response has come.
    Wanted,
    Sent,
}

/// What is to be done when its time has come.
#[derive(Debug)]
pub(super) enum Due {
    Retransmit(Vec<u8>),
    /// Timer C: it has rung for long enough.
    Cancel,
    /// Timer B or F.
    TimedOut,
    Ended,
}

#[derive(Debug)]
pub(super) struct Client {
    pub(super) peer: Peer,
    pub(super) request: Message,
    /// When its timer is set for.
    pub(super) due: Time,
    is_invite: bool,
    state: State,
    withdrawal: Withdrawal,
    bytes: Vec<u8>,
    ack: Option<Vec<u8>>,
    retransmission: Option<Retransmission>,
    ends: Time,
}

impl Client {
    pub(super) fn new(peer: Peer, request: Message, now: Time) -> Self {
        let retransmission = (!peer.is_reliable()).then(|| Retransmission::first(now));
        let ends = now + TRANSACTION_MAX;
        Self {
            peer,
            is_invite: matches!(request.start, Start::Request { method: Method::Invite, .. }),
            state: State::Calling,
            withdrawal: Withdrawal::No,
            bytes: request.emit(),
            request,
            ack: None,
            retransmission,
            ends,
            due: Retransmission::due(retransmission, ends),
        }
    }

    pub(super) fn bytes(&self) -> Vec<u8> {
        self.bytes.clone()
    }

    pub(super) fn next_due(&self) -> Time {
        Retransmission::due(self.retransmission, self.ends)
    }

    /// Whether a final response is still to come.
    pub(super) fn is_waiting(&self) -> bool {
        matches!(self.state, State::Calling | State::Proceeding)
    }

    /// Whether it was withdrawn, or is to be.
    pub(super) fn is_withdrawn(&self) -> bool {
        self.withdrawal != Withdrawal::No
    }

    /// A response has come. Says whether the user is to look at it.
    pub(super) fn handle_response(&mut self, code: u16, ring_max: Micros, now: Time) -> bool {
        let is_new = match (self.state, code) {
            (State::Calling | State::Proceeding, 100..200) => {
                self.state = State::Proceeding;
                if self.is_invite {
                    // Timer C replaces timers A and B: it rings somewhere.
                    (self.retransmission, self.ends) = (None, now + ring_max);
                } else {
                    // RFC 3261 section 17.1.2.2: timer E goes on, at T2.
                    let slow = Retransmission { at: now + T2, interval: T2 };
                    self.retransmission = self.retransmission.map(|_| slow);
                }
                true
            }
            (State::Calling | State::Proceeding, _) => {
                let accepted = self.is_invite && code / 100 == 2;
                self.state = if accepted { State::Accepted } else { State::Completed };
                (self.retransmission, self.ends) = (None, now + TRANSACTION_MAX);
                true
            }
            (State::Accepted, 200..300) => true,
            (State::Accepted | State::Completed, _) => false,
        };
        if self.state == State::Completed && self.peer.is_reliable() {
            // Nothing comes twice over a reliable way (RFC 3261 section 17.1.1.2: timers D and K are 0).
            self.ends = now;
        }
        is_new
    }

    /// The ACK for a failure, each time that the failure comes.
    pub(super) fn acknowledgement(&mut self, code: u16, response: &Message) -> Option<Vec<u8>> {
        if !self.is_invite || code < 300 || self.state != State::Completed {
            return None;
        }
        Some(self.ack.get_or_insert_with(|| build_ack(&self.request, response).emit()).clone())
    }

    /// Withdraws it. Gives the CANCEL if that may be sent now: its receiver knows of the INVITE, and got no CANCEL yet.
    pub(super) fn cancel(&mut self, now: Time) -> Option<Message> {
        if !self.is_waiting() || self.withdrawal == Withdrawal::Sent {
            return None;
        }
        self.withdrawal = Withdrawal::Wanted;
        if self.state != State::Proceeding {
            return None;
        }
        self.withdrawal = Withdrawal::Sent;
        // The final response, 487 if all is well, is not waited for longer than this (RFC 3261 section 9.1).
        self.ends = now + TRANSACTION_MAX;
        build_cancel(&self.request)
    }

    pub(super) fn handle_timeout(&mut self, now: Time) -> Due {
        if self.ends <= now {
            let rings = self.state == State::Proceeding && self.is_invite;
            if rings && self.withdrawal != Withdrawal::Sent {
                // It gets a last chance to end by itself.
                self.ends = now + TRANSACTION_MAX;
                return Due::Cancel;
            }
            return if self.is_waiting() { Due::TimedOut } else { Due::Ended };
        }
        self.retransmission = self.retransmission.map(|last| last.next(!self.is_invite, now));
        Due::Retransmit(self.bytes())
    }
}
