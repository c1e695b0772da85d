//! Both ends of all calls: what they send, when it went, and what came.

use crate::mmsg::{Incoming, Outgoing, drops, enlarge};
use guestright_voice::srtp::{MasterKey, Profile, Protect, Unprotect};
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4, UdpSocket};
use std::time::{Duration, Instant};

/// G.711, 20 ms.
const PAYLOAD: usize = 160;
const HEADER: usize = 12;
const FRAME: Duration = Duration::from_millis(20);
/// Legs do not speak all at once: each has one of so many moments in 20 ms.
const MOMENTS: usize = 40;
/// Packets of the first half second do not count.
const WARM_UP: usize = 25;
/// Legs whose every packet is looked into afterwards.
const WITNESSES: usize = 8;

/// Where a leg's two ports are, and how its far side is protected.
pub(crate) struct Leg {
    pub(crate) near: SocketAddrV4,
    pub(crate) far: SocketAddrV4,
    /// What the relay sends to the far end is under `to_far`, the other way under `from_far`.
    pub(crate) keys: Option<(MasterKey, MasterKey)>,
}

/// The sockets of all ends: one on each side, since the relay tells legs by its own ports.
pub(crate) struct Ends {
    near: UdpSocket,
    far: UdpSocket,
}

/// What was measured.
pub(crate) struct Outcome {
    /// For each direction, leg after leg, each packet's delay in µs.
    delays: [Vec<Option<u32>>; 2],
    frames: usize,
    /// How late the ends were with sending, at the worst percent.
    pub(crate) late_p99_ms: f64,
    /// What the ends' own sockets dropped.
    pub(crate) dropped_here: u64,
    /// What the kernel did not take from the ends.
    pub(crate) not_sent: usize,
    pub(crate) wrong: usize,
}

impl Outcome {
    /// Each direction of each leg.
    pub(crate) fn tracks(&self) -> impl Iterator<Item = &[Option<u32>]> {
        self.delays.iter().flat_map(|delays| delays.chunks(self.frames)).map(|leg| &leg[WARM_UP..])
    }
}

impl Ends {
    pub(crate) fn open() -> Self {
        let open = || {
            let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).expect("a socket on loopback");
            enlarge(&socket);
            socket
        };
        Self { near: open(), far: open() }
    }

    pub(crate) fn near(&self) -> SocketAddr {
        self.near.local_addr().expect("it is bound")
    }

    pub(crate) fn far(&self) -> SocketAddr {
        self.far.local_addr().expect("it is bound")
    }

    /// Speaks on all legs for some time.
    pub(crate) fn talk(&self, legs: &[Leg], seconds: u32) -> Outcome {
        let frames = usize::try_from(seconds).expect("seconds") * 50;
        let mut talk = Talk::new(legs, frames);
        let (mut near_in, mut far_in) = (Incoming::new(256), Incoming::new(256));
        let (mut near_out, mut far_out) = (Outgoing::default(), Outgoing::default());
        let (mut late, mut not_sent) = (Vec::new(), 0);
        talk.started = Instant::now() + Duration::from_millis(5);
        for step in 0..frames * MOMENTS {
            let (frame, moment) = (step / MOMENTS, step % MOMENTS);
            let due = talk.started
                + FRAME * u32::try_from(step).expect("steps") / u32::try_from(MOMENTS).expect("40");
            while Instant::now() < due {
                if !talk.receive(0, &mut far_in, &self.far) & !talk.receive(1, &mut near_in, &self.near) {
                    std::hint::spin_loop();
                }
            }
            late.push(due.elapsed().as_secs_f64() * 1_000.0);
            talk.mark(frame, moment);
            let wanted = talk.queue(legs, frame, moment, &mut near_out, &mut far_out);
            // SAFETY: what was queued are slices of `talk`, which lives on, and is not changed before the next `queue`.
            #[expect(unsafe_code, reason = "the kernel reads many datagrams where they lie")]
            let taken = unsafe { near_out.send(&self.near) + far_out.send(&self.far) };
            not_sent += wanted - taken;
            talk.receive(0, &mut far_in, &self.far);
            talk.receive(1, &mut near_in, &self.near);
        }
        let end = Instant::now() + Duration::from_millis(300);
        while Instant::now() < end {
            talk.receive(0, &mut far_in, &self.far);
            talk.receive(1, &mut near_in, &self.near);
        }
        late.sort_unstable_by(f64::total_cmp);
        Outcome {
            wrong: talk.wrong(legs),
            delays: talk.delays,
            frames,
            late_p99_ms: late[late.len() * 99 / 100],
            dropped_here: drops(&self.near) + drops(&self.far),
            not_sent,
        }
    }
}

struct Talk {
    started: Instant,
    frames: usize,
    legs: usize,
    /// What the near end of each leg sends next.
    near: Vec<Vec<u8>>,
    /// All that the far ends will send, protected beforehand; leg after leg.
    far: Vec<u8>,
    far_length: usize,
    /// When each moment's packets went, in µs after the start.
    sent: Vec<u32>,
    delays: [Vec<Option<u32>>; 2],
    /// What came at the witnesses.
    seen: [Vec<Vec<u8>>; 2],
}

impl Talk {
    fn new(legs: &[Leg], frames: usize) -> Self {
        let plain = |direction, leg, frame| packet(direction, leg, frame);
        let mut far = Vec::new();
        let mut out = Vec::new();
        for (index, leg) in legs.iter().enumerate() {
            let mut protect = leg.keys.as_ref().map(|(_, from_far)| Protect::new(from_far));
            for frame in 0..frames {
                let packet = plain(1, index, frame);
                match &mut protect {
                    Some(protect) => protect.rtp(&packet, &mut out).expect("a fresh index"),
                    None => out.clone_from(&packet),
                }
                far.extend_from_slice(&out);
            }
        }
        let tag =
            legs.first().and_then(|leg| leg.keys.as_ref()).map_or(0, |(_, key)| overhead(key.profile()));
        Self {
            started: Instant::now(),
            frames,
            legs: legs.len(),
            near: (0..legs.len()).map(|leg| plain(0, leg, 0)).collect(),
            far,
            far_length: HEADER + PAYLOAD + tag,
            sent: vec![0; frames * MOMENTS],
            delays: std::array::from_fn(|_| vec![None; legs.len() * frames]),
            seen: [Vec::new(), Vec::new()],
        }
    }

    fn now_us(&self) -> u32 {
        u32::try_from(self.started.elapsed().as_micros()).expect("below an hour")
    }

    fn mark(&mut self, frame: usize, moment: usize) {
        self.sent[frame * MOMENTS + moment] = self.now_us();
    }

    /// Queues what is to be sent at this moment: how many datagrams. The near ends speak half a frame apart from the far
    /// ones, so that bursts are short.
    fn queue(
        &mut self,
        legs: &[Leg],
        frame: usize,
        moment: usize,
        near_out: &mut Outgoing,
        far_out: &mut Outgoing,
    ) -> usize {
        let mut count = 0;
        for index in (moment..legs.len()).step_by(MOMENTS) {
            stamp(&mut self.near[index], 0, index, frame);
            near_out.push(legs[index].near, &self.near[index]);
            count += 1;
        }
        let other = (moment + MOMENTS / 2) % MOMENTS;
        for index in (other..legs.len()).step_by(MOMENTS) {
            let start = (index * self.frames + frame) * self.far_length;
            far_out.push(legs[index].far, &self.far[start..start + self.far_length]);
            count += 1;
        }
        count
    }

    /// Takes what has come in one direction; whether there was anything.
    fn receive(&mut self, direction: usize, incoming: &mut Incoming, socket: &UdpSocket) -> bool {
        let mut any = false;
        let now = self.now_us();
        for datagram in incoming.receive(socket) {
            any = true;
            let Some((frame, index)) = read(datagram, direction) else { continue };
            if frame >= self.frames || index >= self.legs {
                continue;
            }
            let offset = if direction == 0 { 0 } else { MOMENTS / 2 };
            // The far end of a leg speaks half a frame after, or before, its near end.
            let moment = (index % MOMENTS + MOMENTS - offset) % MOMENTS;
            let sent = self.sent[frame * MOMENTS + moment];
            self.delays[direction][index * self.frames + frame].get_or_insert(now.saturating_sub(sent));
            if index < WITNESSES {
                self.seen[direction].push(datagram.to_vec());
            }
        }
        any
    }

    /// How many of the witnesses' packets were not what they should have been.
    fn wrong(&self, legs: &[Leg]) -> usize {
        let mut wrong = 0;
        let mut open: Vec<_> = legs
            .iter()
            .take(WITNESSES)
            .map(|leg| leg.keys.as_ref().map(|(to_far, _)| Unprotect::new(to_far)))
            .collect();
        let mut out = Vec::new();
        for (direction, seen) in self.seen.iter().enumerate() {
            for datagram in seen {
                let (frame, index) = read(datagram, direction).expect("it was read before");
                let expected = packet(direction, index, frame);
                let right = match (&mut open[index], direction) {
                    (Some(context), 0) => context.rtp(datagram, &mut out).is_ok() && out == expected,
                    _ => *datagram == expected,
                };
                wrong += usize::from(!right);
            }
        }
        wrong
    }
}

fn overhead(profile: Profile) -> usize {
    profile.rtp_overhead()
}

/// The packet of a frame as its speaker has it.
fn packet(direction: usize, leg: usize, frame: usize) -> Vec<u8> {
    let mut packet = vec![0xd5; HEADER + PAYLOAD];
    stamp(&mut packet, direction, leg, frame);
    packet
}

fn stamp(packet: &mut [u8], direction: usize, leg: usize, frame: usize) {
    let frame = u32::try_from(frame).expect("frames");
    let ssrc = 0x1000_0000 | u32::try_from(direction << 24 | leg).expect("legs");
    packet[..2].copy_from_slice(&[0x80, 8]);
    packet[2..4].copy_from_slice(&frame.to_be_bytes()[2..]);
    packet[4..8].copy_from_slice(&(frame * 160).to_be_bytes());
    packet[8..12].copy_from_slice(&ssrc.to_be_bytes());
}

/// Frame and leg, which SRTP leaves readable.
fn read(datagram: &[u8], direction: usize) -> Option<(usize, usize)> {
    let [0x80, 8, s0, s1, _, _, _, _, c0, c1, c2, c3] = *datagram.first_chunk::<HEADER>()? else {
        return None;
    };
    let ssrc = u32::from_be_bytes([c0, c1, c2, c3]) ^ 0x1000_0000;
    let (leg, spoken) = (usize::try_from(ssrc & 0xff_ffff).ok()?, usize::try_from(ssrc >> 24).ok()?);
    (spoken == direction).then_some((usize::from(u16::from_be_bytes([s0, s1])), leg))
}
