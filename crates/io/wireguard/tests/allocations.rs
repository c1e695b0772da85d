//! Packets are sealed and opened without a single allocation.

#![allow(clippy::unwrap_used, reason = "a test says what broke by panicking")]
#![expect(unsafe_code, reason = "an allocator that counts is an allocator")]

#[path = "ends/ends.rs"]
mod ends;

use ends::{address, end, packet};
use guestright_tunnel::{Datagrams, Endpoint, Opened};
use guestright_units::Time;
use guestright_wireguard::Userspace;
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::net::SocketAddr;

struct Counting;

thread_local! {
    /// Of this thread: the one that runs the tests may allocate at any time.
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

// SAFETY: everything is left to the system's allocator; counting touches no memory of the caller.
unsafe impl GlobalAlloc for Counting {
    // SAFETY: the caller's promises are passed on.
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // A thread that ends has no count any more.
        let _ = ALLOCATIONS.try_with(|count| count.set(count.get() + 1));
        // SAFETY: the caller's promises are those that the system's allocator asks for.
        unsafe { System.alloc(layout) }
    }

    // SAFETY: the caller's promises are passed on.
    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: as above, and the pointer came from there.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

#[test]
fn sealing_and_opening_allocate_nothing() {
    let (a, b) = (end(1, 2), end(2, 1));
    let (here, there) = (address(1), address(2));
    let packets: Vec<Vec<u8>> = [60, 1_420, 1_420, 1_420, 700].map(packet).into();
    let packets: Vec<&[u8]> = packets.iter().map(Vec::as_slice).collect();
    let (mut out, mut back, mut opened) = (Datagrams::new(), Datagrams::new(), Opened::new());
    let mut scratch = vec![0_u8; 65_536];
    let mut carry =
        |out: &mut Datagrams, back: &mut Datagrams, opened: &mut Opened, to: &Userspace, from: SocketAddr| {
            for run in out.runs() {
                scratch[..run.bytes.len()].copy_from_slice(run.bytes);
                let mut datagrams =
                    scratch[..run.bytes.len()].chunks_mut(run.segment).map(|datagram| (from, datagram));
                to.open(&mut datagrams, opened, back, Time(0));
            }
            out.clear();
        };
    let mut rounds = |count: u64| {
        for _ in 0..count {
            opened.clear();
            a.seal(&mut packets.iter(), &mut out, Time(0));
            carry(&mut out, &mut back, &mut opened, &b, here);
            carry(&mut back, &mut out, &mut opened, &a, there);
        }
        opened.len()
    };
    rounds(10); // The handshake, and the buffers grow to their sizes.
    let before = ALLOCATIONS.get();
    assert!(before > 0, "the buffers were counted");
    assert_eq!(rounds(1_000), 5, "and they arrive");
    assert_eq!(ALLOCATIONS.get() - before, 0);
}
