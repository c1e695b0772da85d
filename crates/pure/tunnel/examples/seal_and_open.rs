//! Seals a packet in ESP, opens it on the other side, and shows what is refused: a repetition and a forgery.
//!
//! `cargo run -p guestright-tunnel --example seal_and_open`

#![expect(clippy::print_stdout, reason = "what it prints is its output")]

use std::error::Error;

use guestright_tunnel::encapsulation::Encapsulation;
use guestright_tunnel::esp::{
    InboundSa, Keys, Lifetime, OutboundSa, PACKET_LEN_MAX, SaParameters, Suite, WINDOW_DEFAULT,
};
use guestright_tunnel::ip::PROTOCOL_IPV4;
use guestright_tunnel::overhead::{Mode, layers};
use zeroize::Zeroizing;

fn main() -> Result<(), Box<dyn Error>> {
    print!("{}", run()?);
    Ok(())
}

fn run() -> Result<String, Box<dyn Error>> {
    // Both ends agreed on an index, a suite and a key: by IKE, or by configuration. Real ones are secret and random.
    let suite = Suite::Aes128Gcm;
    let keys = Keys::new(suite, &[0x42; 20], &[])?;
    let parameters = SaParameters {
        spi: 0x1000,
        keys,
        extended_sequence: true,
        lifetime: Lifetime::default(),
        packet_len_max: PACKET_LEN_MAX,
    };
    // The seed is for the vectors of the CBC suites alone.
    let mut sender = OutboundSa::new(&parameters, 1, &Zeroizing::new([7; 32]));
    let mut receiver = InboundSa::new(&parameters, WINDOW_DEFAULT);

    // Tunnel mode: a whole IPv4 packet. These 60 bytes stand for a voice packet of G.729.
    let inner = [0x45; 60];
    let mut buffer = [0; 1_500];
    let length = sender.seal(PROTOCOL_IPV4, &inner, &mut buffer)?;
    let sealed = buffer[..length].to_vec();
    let mut output =
        format!("{} bytes became {length}, number {:?} is next\n", inner.len(), sender.next_sequence());

    // It is opened in place.
    let mut packet = sealed.clone();
    let opened = receiver.open(&mut packet)?;
    if packet[opened.payload.clone()] != inner || opened.next_header != PROTOCOL_IPV4 {
        return Err("another packet came out".into());
    }
    output += &format!("opened number {}: {} bytes\n", opened.sequence, opened.payload.len());

    let repeated = receiver.open(&mut sealed.clone()).err().ok_or("a repetition is refused")?;
    output += &format!("again: {repeated} ({})\n", repeated.kind().name());
    let length = sender.seal(PROTOCOL_IPV4, &inner, &mut buffer)?;
    buffer[20] ^= 1;
    let forged = receiver.open(&mut buffer[..length]).err().ok_or("a forgery is refused")?;
    output += &format!("changed: {forged} ({})\n", forged.kind().name());

    // What leaves in UDP behind a NAT, part by part.
    let parts = layers(suite, Mode::Tunnel, Encapsulation::Udp, inner.len());
    let total: usize = parts.iter().map(|part| part.len).sum();
    for part in &parts {
        output += &format!("{:>4}  {}\n", part.len, part.name);
    }
    output += &format!("{total:>4}  together\n");
    Ok(output)
}

#[cfg(test)]
mod tests {
    const OUTPUT: &str = "\
60 bytes became 96, number Some(2) is next
opened number 1: 60 bytes
again: sequence number 1 was received before (replayed)
changed: the integrity check value of packet 2 is wrong (wrong-icv)
  20  IP
   8  UDP encapsulation
   4  ESP index
   4  ESP sequence number
   8  ESP vector
  60  packet
   2  ESP padding
   2  ESP trailer
  16  ESP check value
 124  together
";

    #[test]
    fn what_was_sealed_is_opened_once_and_only_unchanged() {
        assert_eq!(super::run().unwrap(), OUTPUT);
    }
}
