//! Machines driven by bytes: every few bytes are the next thing that happens to a machine.
//!
//! In: any bytes. Out: how often what happened, or a panic that names the promise which does not hold. Messages are valid,
//! repeated, from elsewhere, changed in a bit, or nothing of the kind; the clock stands, ticks and jumps; what the machine
//! asks for is answered, wrongly answered or not answered; what it says is fetched now or later. After each of these the
//! promises are checked, and at the end that the machine comes to rest.
//!
//! `fuzz/` uses this file too: there libFuzzer chooses the bytes.

#[path = "sequences/access_point.rs"]
mod access_point;
#[path = "sequences/actors.rs"]
mod actors;
#[path = "sequences/choices.rs"]
mod choices;
#[path = "sequences/delegate.rs"]
mod delegate;
#[path = "sequences/team_server.rs"]
mod team_server;
#[path = "sequences/visitor.rs"]
mod visitor;

use guestright_units::Time;
use std::collections::BTreeMap;

pub(crate) use access_point::access_point;
pub(crate) use delegate::delegate;
pub(crate) use team_server::team_server;
pub(crate) use visitor::visitor;

/// How often what happened, by the name of it.
pub(crate) type Tally = BTreeMap<&'static str, u64>;

/// A clock that is due again and again without end is broken.
const TURNS_MAX: usize = 200;

/// A machine that wants to be woken.
trait Timed {
    fn now(&self) -> Time;

    /// When it wants to be woken.
    fn due(&self) -> Option<Time>;

    /// The time is now; what comes of it is fetched.
    fn wake(&mut self);

    /// Lets everything happen that is due.
    fn settle(&mut self) {
        for turn in 0.. {
            assert!(turn < TURNS_MAX, "it is due again and again at {:?}", self.now());
            self.wake();
            if self.due().is_none_or(|at| at > self.now()) {
                return;
            }
        }
    }
}
