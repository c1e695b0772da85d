//! What comes to a PGPfone: datagrams, messages of the set-up, sound, at any time of a call.

use guestright_legacy::diffie_hellman::{Prime, Public};
use guestright_legacy::pgpfone::{Config, Control, Kind, Packet, PgpFone, Setup};
use guestright_units::{Seed as Chance, Time};
use guestright_voice::tool::{Side, Tool as _};
use std::net::SocketAddr;

use crate::seeds::Seed;

/// Datagrams of one input at most.
const DATAGRAMS_MAX: usize = 32;
/// What a tool keeps for whoever does not ask, at most.
const QUEUE_MAX: usize = 256;

fn address(side: usize) -> SocketAddr {
    ([192, 0, 2, if side == 0 { 1 } else { 2 }], 17_447).into()
}

fn sides() -> [PgpFone; 2] {
    [(Side::Caller { to: address(1) }, 1), (Side::Callee, 2)].map(|(side, seed)| {
        let config = Config { primes: vec![Prime::PgpFone768], ..Config::new(side) };
        PgpFone::new(config, &Chance::from_number(seed), Time(0)).expect("it offers something")
    })
}

/// Lets both sides exchange that many datagrams.
fn advance(sides: &mut [PgpFone; 2], mut steps: u8, now: Time) {
    while steps > 0 {
        let before = steps;
        for from in 0..2 {
            while steps > 0
                && let Some(transmit) = sides[from].poll_transmit()
            {
                sides[1 - from].handle_datagram(&transmit.bytes, address(from), now).expect("an honest one");
                steps -= 1;
            }
        }
        if before == steps {
            return;
        }
    }
}

/// What is read is written alike; what is refused changes nothing but a count; no queue grows without end; the call comes
/// to an end, or goes on. The first byte says how many honest datagrams were exchanged before. Then come datagrams: a byte
/// that says to whom, from whom, and whether a header with a good checksum is put before it; its length; and the rest.
pub fn pgpfone(bytes: &[u8]) {
    parsers(bytes);
    let Some((steps, mut rest)) = bytes.split_first() else { return };
    let mut sides = sides();
    let mut now = Time(0);
    advance(&mut sides, steps % 32, now);
    for _ in 0..DATAGRAMS_MAX {
        let [choice, len, after @ ..] = rest else { break };
        let (body, left) = after.split_at(usize::from(*len).min(after.len()));
        rest = left;
        let to = usize::from(choice & 1);
        let from = if choice & 2 == 0 { address(1 - to) } else { ([198, 51, 100, 7], 9).into() };
        let kind = Kind::ALL[usize::from(choice >> 4) % Kind::ALL.len()];
        let datagram = if choice & 4 == 0 {
            body.to_vec()
        } else {
            let (sequence, data) = body.split_first().unwrap_or((&0, &[]));
            Packet { kind, sequence: u16::from(*sequence), data }.emit()
        };
        let side = &mut sides[to];
        let before = (side.summary().refused, side.summary().playout, side.words(), side.is_ready());
        let taken = side.handle_datagram(&datagram, from, now);
        let after = (side.summary().refused, side.summary().playout, side.words(), side.is_ready());
        if taken.is_err() {
            assert_eq!(
                after,
                (before.0 + 1, before.1, before.2, before.3),
                "a refused datagram changed something"
            );
        }
        if choice & 8 != 0 {
            now = Time(now.0 + 700_000);
            sides.iter_mut().for_each(|side| side.handle_timeout(now));
        }
        sides.iter_mut().for_each(|side| drop(side.poll_sound(now)));
    }
    for side in &mut sides {
        let mut waiting = 0;
        while side.poll_transmit().is_some() {
            waiting += 1;
        }
        assert!(waiting <= QUEUE_MAX, "a queue has grown");
        // Nobody answers any more: it comes to an end, or waits for the next call, within a minute and a half.
        let end = Time(now.0 + 90_000_000);
        while let Some(at) = side.poll_timeout() {
            assert!(at <= end, "it goes on for ever");
            side.handle_timeout(at.max(now));
            assert!(side.poll_timeout().is_none_or(|next| next > at), "it stands still");
        }
    }
}

fn parsers(bytes: &[u8]) {
    if let Ok(packet) = Packet::parse(bytes) {
        assert_eq!(packet.emit(), bytes);
    }
    if let Ok(setup) = Setup::parse(bytes) {
        assert_eq!(setup.emit(), bytes[..2]);
    }
    if let Ok(message) = Control::parse(bytes) {
        assert_eq!(Control::parse(&message.emit()), Ok(message));
    }
    if let Ok(public) = Public::parse(Prime::PgpFone768, bytes) {
        assert_eq!(public.as_bytes(), bytes);
    }
}

/// Every message of a call, and a forged goodbye at several times of it.
pub(crate) fn seeds(seeds: &mut Vec<Seed>) {
    let mut sides = sides();
    let mut sent = Vec::new();
    for _ in 0..16 {
        for from in 0..2 {
            while let Some(transmit) = sides[from].poll_transmit() {
                sent.push((from, transmit.bytes.clone()));
                let _ = sides[1 - from].handle_datagram(&transmit.bytes, address(from), Time(0));
            }
        }
    }
    // The call as it was, given anew to two who have not spoken yet: their own values are the same.
    let mut call = vec![0];
    for (from, bytes) in sent.iter().take(DATAGRAMS_MAX) {
        call.extend([u8::from(*from == 0), u8::try_from(bytes.len()).unwrap_or(u8::MAX)]);
        call.extend(bytes);
    }
    seeds.push(("pgpfone", "call".to_owned(), call));
    for steps in [3, 8, 31] {
        // A goodbye in clear, with a good checksum.
        let mut goodbye = vec![steps];
        for sequence in 0..8 {
            goodbye.extend([0x54 | u8::from(sequence % 2 == 1), 2, sequence / 2, 4]);
        }
        seeds.push(("pgpfone", format!("goodbye-{steps}"), goodbye));
    }
    // Sound and measurements of nobody.
    let mut sound = vec![31];
    for kind in 1..8_u8 {
        sound.extend([kind << 4 | 12, 71, kind]);
        sound.extend([0x5a; 70]);
    }
    seeds.push(("pgpfone", "sound".to_owned(), sound));
}
