mod calls;
mod hostile;
mod keys;

use super::{CODEC_BYTES, Cipher, Config, KeyAgreement, Nautilus, PACKET_SAMPLES};
use crate::testing::{Feed, address};
use guestright_units::{Micros, Seed, Time};
use guestright_voice::tool::{Side, Tool};

const PHRASE: &str = "correct horse";

fn phrase(text: &str) -> KeyAgreement {
    KeyAgreement::PassPhrase(text.to_owned().into())
}

fn config(end: usize, agreement: KeyAgreement, cipher: Cipher) -> Config {
    let side = if end == 0 { Side::Caller { to: address(1) } } else { Side::Callee };
    Config { cipher, ..Config::new(side, agreement) }
}

fn tool(end: usize, agreement: KeyAgreement, cipher: Cipher) -> Nautilus {
    Nautilus::new(config(end, agreement, cipher), &Seed::from_number(end as u64), Time(0)).unwrap()
}

fn pair(agreement: &KeyAgreement, cipher: Cipher) -> [Box<dyn Tool>; 2] {
    [0, 1].map(|end| Box::new(tool(end, agreement.clone(), cipher)) as Box<dyn Tool>)
}

/// Two that have agreed.
fn connected(agreement: &KeyAgreement, cipher: Cipher) -> [Nautilus; 2] {
    let [mut caller, mut callee] = [0, 1].map(|end| tool(end, agreement.clone(), cipher));
    while let Some(transmit) = caller.poll_transmit() {
        callee.handle_datagram(&transmit.bytes, address(0), Time(0)).unwrap();
        while let Some(answer) = callee.poll_transmit() {
            caller.handle_datagram(&answer.bytes, address(1), Time(0)).unwrap();
        }
    }
    assert!(caller.is_ready() && callee.is_ready());
    [caller, callee]
}

fn feed(frames: u32) -> Feed {
    Feed { bytes: CODEC_BYTES, duration: Micros(PACKET_SAMPLES as u64 * 125), frames }
}
