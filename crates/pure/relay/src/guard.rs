use crate::packet::Carried;
use crate::statistics::Refusal;
use guestright_units::Time;
use guestright_voice::srtp::{MasterKey, Protect, SrtpError, Unprotect};
use std::collections::VecDeque;

/// Sending keys that a side had before, and that may come back: so many are remembered.
const RETIRED_MAX: usize = 4;

/// A side's SRTP keys, for its two directions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SrtpKeys {
    /// What comes from that side is protected with this one.
    pub incoming: MasterKey,
    /// What goes to that side is protected with this one.
    pub outgoing: MasterKey,
}

/// A side's SRTP contexts.
///
/// A key that comes again finds the context that it had: beginning anew would let replays in, and would protect two
/// packets under one index.
#[derive(Debug)]
pub(crate) struct Guard {
    incoming: Keyed<Unprotect>,
    /// What opens packets that were on their way when the keys changed, and until when.
    late: Option<(Keyed<Unprotect>, Time)>,
    outgoing: Keyed<Protect>,
    retired: VecDeque<Keyed<Protect>>,
}

#[derive(Debug)]
struct Keyed<T> {
    key: MasterKey,
    context: T,
}

impl Guard {
    pub(crate) fn new(keys: &SrtpKeys) -> Self {
        Self {
            incoming: Keyed::opening(&keys.incoming),
            late: None,
            outgoing: Keyed::sealing(&keys.outgoing),
            retired: VecDeque::new(),
        }
    }

    /// Goes over to other keys; those that are the same stay as they are.
    pub(crate) fn renew(&mut self, keys: &SrtpKeys, late_until: Time) {
        if self.incoming.key != keys.incoming {
            let back = self.late.take().filter(|(late, _)| late.key == keys.incoming);
            let next = back.map_or_else(|| Keyed::opening(&keys.incoming), |(late, _)| late);
            self.late = Some((std::mem::replace(&mut self.incoming, next), late_until));
        }
        if self.outgoing.key != keys.outgoing {
            let index = self.retired.iter().position(|retired| retired.key == keys.outgoing);
            let back = index.and_then(|index| self.retired.remove(index));
            let next = back.unwrap_or_else(|| Keyed::sealing(&keys.outgoing));
            self.retired.push_front(std::mem::replace(&mut self.outgoing, next));
            self.retired.truncate(RETIRED_MAX);
        }
    }

    /// Late packets are not waited for longer than agreed.
    pub(crate) fn expire(&mut self, now: Time) {
        self.late.take_if(|(_, until)| now >= *until);
    }

    /// Checks a packet and writes it without protection.
    pub(crate) fn open(
        &mut self,
        carried: Carried,
        datagram: &[u8],
        out: &mut Vec<u8>,
        now: Time,
    ) -> Result<(), Refusal> {
        let open = |context: &mut Unprotect, out: &mut Vec<u8>| match carried {
            Carried::Rtcp(_) => context.rtcp(datagram, out),
            Carried::Rtp(_) | Carried::Stun | Carried::KeepAlive | Carried::Other => {
                context.rtp(datagram, out)
            }
        };
        let first = match open(&mut self.incoming.context, out) {
            Ok(()) => return Ok(()),
            Err(error) => error,
        };
        if let Some((late, until)) = &mut self.late
            && now < *until
            && open(&mut late.context, out).is_ok()
        {
            return Ok(());
        }
        Err(refusal(first))
    }

    /// Writes a packet with protection.
    pub(crate) fn seal(&mut self, carried: Carried, packet: &[u8], out: &mut Vec<u8>) -> Result<(), Refusal> {
        let sealed = match carried {
            Carried::Rtcp(_) => self.outgoing.context.rtcp(packet, out),
            Carried::Rtp(_) | Carried::Stun | Carried::KeepAlive | Carried::Other => {
                self.outgoing.context.rtp(packet, out)
            }
        };
        sealed.map_err(refusal)
    }
}

impl Keyed<Unprotect> {
    fn opening(key: &MasterKey) -> Self {
        Self { key: key.clone(), context: Unprotect::new(key) }
    }
}

impl Keyed<Protect> {
    fn sealing(key: &MasterKey) -> Self {
        Self { key: key.clone(), context: Protect::new(key) }
    }
}

fn refusal(error: SrtpError) -> Refusal {
    match error {
        SrtpError::Forged | SrtpError::NotEncrypted => Refusal::Unauthenticated,
        SrtpError::Replayed { .. } | SrtpError::TooOld { .. } => Refusal::Replayed,
        SrtpError::TooManySources { .. } => Refusal::TooManyStreams,
        SrtpError::KeyWornOut => Refusal::KeysExhausted,
        SrtpError::Rtp(_)
        | SrtpError::TooShort { .. }
        | SrtpError::RtcpVersion(_)
        | SrtpError::KeyLength { .. } => Refusal::Malformed,
    }
}
