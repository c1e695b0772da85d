use super::{PHRASE, connected, phrase, tool};
use crate::nautilus::message::{Message, Offer};
use crate::nautilus::{CODEC_BYTES, Cipher};
use crate::testing::{Damage, address, frame};
use guestright_units::{Micros, Time};
use guestright_voice::session::Frame;
use guestright_voice::tool::Tool as _;
use proptest::prelude::*;

fn message() -> impl Strategy<Value = Message> {
    let offer = || {
        (any::<u8>(), any::<u8>(), any::<[u8; 16]>(), prop::collection::vec(any::<u8>(), 0..=512))
            .prop_map(|(cipher, agreement, nonce, public)| Offer { cipher, agreement, nonce, public })
    };
    prop_oneof![
        offer().prop_map(Message::Hello),
        (offer(), any::<[u8; 8]>()).prop_map(|(offer, check)| Message::Answer { offer, check }),
        any::<[u8; 8]>().prop_map(|check| Message::Confirm { check }),
        (0_u32..1 << 24, any::<u8>())
            .prop_map(|(number, fill)| Message::Voice { number, sound: [fill; CODEC_BYTES] }),
        any::<[u8; 8]>().prop_map(|sealed| Message::HangUp { sealed }),
    ]
}

proptest! {
    #[test]
    fn what_is_written_is_read(message in message()) {
        prop_assert_eq!(Message::parse(&message.emit()), Ok(message));
    }

    #[test]
    fn what_is_read_would_be_written_in_the_same_bytes(mut bytes in prop::collection::vec(any::<u8>(), 0..100), kind in 0_u8..8) {
        bytes.first_mut().into_iter().for_each(|first| *first = kind);
        if let Ok(message) = Message::parse(&bytes) {
            prop_assert_eq!(message.emit(), bytes);
        }
    }

    #[test]
    fn nobody_agrees_with_whoever_has_no_phrase(messages in prop::collection::vec((message(), 0_u64..400_000), 0..30)) {
        let (mut caller, mut callee) = (tool(0, phrase(PHRASE), Cipher::Idea), tool(1, phrase(PHRASE), Cipher::Idea));
        let mut now = Time(0);
        for (message, later) in messages {
            now = now + Micros(later);
            let mut bytes = message.emit();
            let _ = caller.handle_datagram(&bytes, address(1), now);
            if bytes[0] < 3 {
                // The right cipher and kind of key, so that it gets farther.
                bytes[2..4].copy_from_slice(&[1, 0]);
                bytes.truncate(4 + 16 + if bytes[0] == 2 { 8 } else { 0 });
            }
            let _ = callee.handle_datagram(&bytes, address(0), now);
            let _ = caller.handle_datagram(&bytes, address(1), now);
            for tool in [&mut caller, &mut callee] {
                tool.handle_timeout(now);
                tool.poll_sound(now);
                while tool.poll_transmit().is_some() {}
                prop_assert!(!tool.is_ready());
            }
        }
    }

    #[test]
    fn a_call_lives_through_packets_that_somebody_has_changed(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>(), 0_u64..400_000), 1..40),
    ) {
        let [mut caller, mut callee] = connected(&phrase(PHRASE), Cipher::TripleDes);
        let mut now = Time(0);
        for (number, (index, with, later)) in changes.into_iter().enumerate() {
            now = now + Micros(later.min(200_000));
            let payload = frame(u32::try_from(number).unwrap(), CODEC_BYTES);
            let duration = Micros(180_000);
            let frame = Frame { payload: &payload, duration, is_speech: true, noise_level: 60 };
            Damage { index, with }.pass([&mut caller, &mut callee], &frame, now);
            callee.poll_sound(now);
            prop_assert!(callee.is_ready(), "nobody can end it without the key");
        }
    }
}
