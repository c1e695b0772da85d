//! A call beside a download from the same access point.

use super::scene::{Greedy, Scene};
use guestright_engine::{Instant, Nanos};
use guestright_wlan::edca::Config;
use guestright_wlan::{AccessCategory, Msdu, Output, StationId};
use std::collections::VecDeque;

/// The delays of packets of G.711 to station 2, in ns, while station 1 downloads with 100 packets in the queue.
/// They come 50 ms apart, so that no two of them wait and share a frame.
fn delays(category: AccessCategory) -> Vec<u64> {
    let mut config = Config::n(2);
    for access in &mut config.access_point {
        access.txop_limit = Nanos(0);
    }
    let mut scene = Scene::new(&config, &[Greedy::best_effort(0, 1)], 100, 1);
    let (mut delays, mut arrivals) = (Vec::new(), VecDeque::new());
    for number in 0..1_000 {
        // Not in step with frames of 5.5 ms.
        let at = Instant(number * 50_003_337);
        while scene.queue.next_at().is_some_and(|next| next <= at) {
            let (now, event) = scene.queue.pop().expect("it was seen");
            scene.radio.handle(event, &mut scene.queue);
            while let Some(output) = scene.radio.poll_output() {
                let Output::Delivered { msdu, .. } = output else { panic!("{output:?}") };
                if msdu.to == StationId(2) {
                    let at = arrivals.pop_front().expect("one for each");
                    delays.push(now.since(at).0);
                } else {
                    scene.send(Greedy::best_effort(0, 1));
                }
            }
        }
        arrivals.push_back(at);
        let msdu = Msdu { key: scene.key, bytes: 200, to: StationId(2) };
        assert!(scene.radio.enqueue(StationId(0), category, msdu, &mut scene.queue));
    }
    delays
}

/// In its category a packet waits for the frame on the air (5,360 µs, SIFS, block ACK of 32), AIFS 34, at most 3 slots, and is sent: 36 µs
/// and 8 symbols. The download wins before it, for another frame, if it draws no slot and the call 2 or 3, or 1 slot and the call 3: its
/// AIFS is one slot longer. That is 1/16 · 1/2 + 1/16 · 1/4. With the rest it waits for
/// half of the frame on the air, and for the 72 packets before it in three more.
#[test]
fn a_call_waits_for_one_frame_in_its_category_and_for_the_queue_without() {
    let frame = 5_360_000 + 16_000 + 32_000;
    let own = delays(AccessCategory::Voice);
    let bound = frame + 34_000 + 27_000 + 36_000 + 8 * 4_000;
    let longer = own.iter().filter(|delay| **delay > bound).count();
    // 47 of 1,000 are expected; five standard deviations.
    assert!(own.len() > 990 && (14..80).contains(&longer), "{longer} of {}", own.len());
    let longest = *own.iter().max().unwrap();
    // With 3 slots it can lose twice, and counts one each time: the third time it has no more than the other.
    assert!(longest <= bound + 2 * (frame + 52_000), "{longest}");
    let shared = delays(AccessCategory::BestEffort);
    let mean = shared.iter().sum::<u64>() / shared.len() as u64;
    assert!((13 * frame / 4..4 * frame).contains(&mean), "{mean}");
}
