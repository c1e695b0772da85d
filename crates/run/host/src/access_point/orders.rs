//! What the home asks this access point, and has it do (ASKS and SAYS, design note 0015).

use super::{Loop, overview};
use guestright_roaming::message::{BlockedDevices, GuestId, Inquiry, Message, Outcome};
use guestright_units::{Time, UnixSeconds};

/// The newest form of an outcome that this program writes.
const OUTCOME_VERSION: u8 = 1;

/// Answers the home's question, or does what it wants; false if it is another message. Only what comes through the channel to the own
/// home gets here, so nobody else can ask.
pub(super) fn handle_question(this: &mut Loop, bytes: &[u8], now: Time) -> bool {
    if !bytes.starts_with(b"ASKS ") {
        return false;
    }
    // What cannot be read is a newer home's, which takes silence for an answer.
    let Ok(Message::Asks { reference, version, what }) = Message::parse(bytes) else { return true };
    let outcome = match what {
        Inquiry::Overview => {
            let says = overview::answer_home(this, reference, version, now);
            // If it does not fit it is asked again.
            let _ = this.home.try_send(says.emit());
            return true;
        }
        Inquiry::EndGuest(guest) => Outcome::Done { ended: u32::from(end_guest(this, guest, now)) },
        Inquiry::BlockDevices(devices) => block_devices(this, &devices, now),
    };
    let version = version.min(OUTCOME_VERSION);
    // If it does not fit the home says that it does not know, and the next overview shows it.
    let _ = this.home.try_send(Message::SaysOutcome { reference, version, outcome }.emit());
    true
}

/// Ends a session or a trial by the name that the overview gave it. False: it is over already.
fn end_guest(this: &mut Loop, guest: GuestId, now: Time) -> bool {
    let Some((address, started)) = this.shown.session(guest) else { return false };
    if started != UnixSeconds(0) {
        return this.machine.end_session(address, started, now);
    }
    let is_there = this.guests.trials.contains(address);
    if is_there {
        this.guests.trials.end(address.ip, now);
    }
    is_there
}

/// From now on this is the list of devices that get nothing here: kept first, then in force.
fn block_devices(this: &mut Loop, list: &BlockedDevices, now: Time) -> Outcome {
    let kept = this.blocked.keep(list);
    let in_force = match &kept {
        Ok(()) => this.blocked.devices().clone(),
        Err((_, in_force)) => in_force.clone(),
    };
    let trials = in_force.iter().filter(|device| this.guests.trials.end_station(**device, now)).count();
    let sessions = this.machine.set_blocked_devices(in_force, now);
    match kept {
        Ok(()) => Outcome::Done { ended: u32::try_from(sessions + trials).unwrap_or(u32::MAX) },
        Err((error, _)) => {
            tracing::error!(%error, "the list of blocked devices could not be kept here");
            let reason = format!(
                "the list could not be kept: {error}. Until the access point's next start it serves neither the devices of this list nor \
                 those of the one before"
            );
            Outcome::Failed { reason }
        }
    }
}
