//! Nothing is allocated for a packet.

use guestright_tunnel::esp::{InboundSa, OutboundSa, Suite};
use zeroize::Zeroizing;

use crate::support::{inner_packet, keys, parameters};

#[test]
fn sealing_and_opening_allocate_nothing() {
    for suite in Suite::ALL {
        for extended in [false, true] {
            let parameters = parameters(&keys(suite), extended);
            let mut outbound = OutboundSa::new(&parameters, 1, &Zeroizing::new([1; 32]));
            let mut inbound = InboundSa::new(&parameters, 1024);
            let packet = inner_packet(4, 1_400);
            let mut buffer = vec![0; 2_000];
            let info = allocation_counter::measure(|| {
                for _ in 0..100 {
                    let length = outbound.seal(4, &packet, &mut buffer).expect("there is room");
                    let opened = inbound.open(&mut buffer[..length]).expect("it was sealed for us");
                    assert_eq!(buffer[opened.payload], packet);
                }
            });
            assert_eq!(info.count_total, 0, "{suite}");
        }
    }
}

#[test]
fn the_counter_counts() {
    let info = allocation_counter::measure(|| drop(std::hint::black_box(vec![1_u8; 100])));
    assert_eq!(info.count_total, 1);
}
