use guestright_units::Seed;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;
use sha2::{Digest, Sha256};

/// A stream of chance; its values are the same on every computer and in every version (ChaCha with 8 rounds).
pub type Stream = ChaCha8Rng;

/// Streams of chance for the components of one run.
#[derive(Clone, Debug)]
pub struct Streams {
    seed: Seed,
}

impl Streams {
    /// The streams of a run with this seed.
    #[must_use]
    pub const fn new(seed: Seed) -> Self {
        Self { seed }
    }

    /// The stream of component `name`, the `number`th of its kind. The same three give the same stream.
    #[must_use]
    pub fn stream(&self, name: &str, number: u64) -> Stream {
        let mut digest = Sha256::new();
        digest.update(b"guestright simulation stream");
        digest.update(self.seed.0);
        digest.update(number.to_le_bytes());
        digest.update(name.as_bytes());
        Stream::from_seed(digest.finalize().into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::Rng;

    #[test]
    fn every_component_has_a_stream_of_its_own() {
        let streams = Streams::new(Seed::from_number(1));
        let mut seen = std::collections::BTreeSet::new();
        for name in ["backoff", "phase"] {
            for number in 0..3 {
                assert!(seen.insert(streams.stream(name, number).next_u64()));
            }
        }
        assert!(seen.insert(Streams::new(Seed::from_number(2)).stream("phase", 0).next_u64()));
    }

    #[test]
    fn a_stream_is_the_same_for_ever() {
        let mut stream = Streams::new(Seed::from_number(7)).stream("phase", 3);
        assert_eq!(stream.next_u64(), 13_467_791_112_482_130_295);
    }
}
