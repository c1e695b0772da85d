use crate::bits::{Reader, Writer};
use crate::concealment::Concealment;
use crate::mdct::{HOP, Mdct};
use crate::planes::{Known, Planes};
use crate::{FRAME_BYTES_MAX, FRAME_SAMPLES, contexts, lifting, runs};

/// Which of the two.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// On the wavelet transform, with run lengths: in the manner of BoAT.
    W1,
    /// On the MDCT, with contexts: better at low rates.
    W2,
}

impl Kind {
    /// By how many samples decoded speech is late, beyond the frame.
    #[must_use]
    pub const fn delay_samples(self) -> usize {
        match self {
            Self::W1 => 0,
            Self::W2 => HOP,
        }
    }
}

/// Speech to packets.
#[derive(Clone, Debug)]
pub struct Encoder(Transform);

/// Packets to speech.
#[derive(Clone, Debug)]
pub struct Decoder {
    transform: Transform,
    concealment: Concealment,
}

#[derive(Clone, Debug)]
enum Transform {
    Wavelet,
    /// With the newest 20 ms of speech in an encoder, and what the next transform is to be added to in a decoder.
    Mdct(Box<Mdct>, Box<[f32; HOP]>),
}

impl Transform {
    fn new(kind: Kind) -> Self {
        match kind {
            Kind::W1 => Self::Wavelet,
            Kind::W2 => Self::Mdct(Box::new(Mdct::new()), Box::new([0.0; HOP])),
        }
    }
}

impl Encoder {
    /// One that has heard nothing.
    #[must_use]
    pub fn new(kind: Kind) -> Self {
        Self(Transform::new(kind))
    }

    /// Encodes the next frame into the beginning of `packet` and says how many bytes it has: as many as there is room for,
    /// `bytes_max` or [`FRAME_BYTES_MAX`], whichever is least, or fewer if that says everything. Silence is one byte.
    pub fn encode(&mut self, samples: &[i16; FRAME_SAMPLES], bytes_max: usize, packet: &mut [u8]) -> usize {
        let room = packet.len().min(bytes_max).min(FRAME_BYTES_MAX);
        let packet = &mut packet[..room];
        let samples = samples.map(f32::from);
        match &mut self.0 {
            Transform::Wavelet => {
                let mut coefficients = samples;
                lifting::forward(&mut coefficients);
                let mut writer = Writer::new(packet);
                runs::write(&Planes::new(&coefficients), &mut writer);
                writer.bytes()
            }
            Transform::Mdct(mdct, before) => {
                let [first, second] = halves(&samples);
                let (one, two) = (mdct.forward(before, &first), mdct.forward(&first, &second));
                **before = second;
                let interleaved =
                    std::array::from_fn(|at| if at % 2 == 0 { one[at / 2] } else { two[at / 2] });
                contexts::write(&Planes::new(&interleaved), packet)
            }
        }
    }
}

impl Decoder {
    /// One that has heard nothing.
    #[must_use]
    pub fn new(kind: Kind) -> Self {
        Self { transform: Transform::new(kind), concealment: Concealment::new() }
    }

    /// Decodes a packet, or what is left of it: nothing at all is silence.
    pub fn decode(&mut self, packet: &[u8], samples: &mut [i16; FRAME_SAMPLES]) {
        let packet = packet.get(..FRAME_BYTES_MAX).unwrap_or(packet);
        match &mut self.transform {
            Transform::Wavelet => {
                let mut values = runs::read(&mut Reader::new(packet)).coefficients();
                lifting::backward(&mut values);
                *samples = values.map(sample);
                self.concealment.accept(samples, true);
            }
            Transform::Mdct(mdct, overlap) => {
                let values = synthesize(mdct, &contexts::read(packet), overlap);
                *samples = values.map(sample);
                // The overlap blends.
                self.concealment.accept(samples, false);
            }
        }
    }

    /// Makes up a frame in the place of a lost one: the last period of the voice again, fading to nothing in 100 ms.
    pub fn conceal(&mut self, samples: &mut [i16; FRAME_SAMPLES]) {
        self.concealment.missing(samples);
        if let Transform::Mdct(mdct, overlap) = &mut self.transform {
            **overlap = mdct.overlap(&std::array::from_fn(|at| f32::from(self.concealment.ahead(at))));
        }
    }
}

/// Two transforms, and the samples between the middles of the one before them and the second.
fn synthesize(mdct: &Mdct, known: &Known, overlap: &mut [f32; HOP]) -> [f32; FRAME_SAMPLES] {
    let interleaved = known.coefficients();
    let mut samples = [0.0; FRAME_SAMPLES];
    for (number, part) in samples.as_chunks_mut::<HOP>().0.iter_mut().enumerate() {
        let coefficients = std::array::from_fn(|at| interleaved[2 * at + number]);
        let next = mdct.backward(&coefficients, overlap);
        *part = std::mem::replace(overlap, next);
    }
    samples
}

fn halves(samples: &[f32; FRAME_SAMPLES]) -> [[f32; HOP]; 2] {
    [std::array::from_fn(|at| samples[at]), std::array::from_fn(|at| samples[HOP + at])]
}

#[expect(clippy::cast_possible_truncation, reason = "it is within the range of samples")]
fn sample(value: f32) -> i16 {
    (value + 0.5).floor().clamp(-32_768.0, 32_767.0) as i16
}
