//! How sound is cut into packets.

use guestright_units::Micros;

/// Samples in a frame, whatever the codec: also the unit in which PGPfone plays ("quantum").
pub const FRAME_SAMPLES: u32 = 160;
/// The milliseconds of the sender's clock before the sound.
pub const TIMESTAMP_LEN: usize = 4;

/// A codec at a rate of sampling, with so many frames in a packet.
///
/// "Lite" is GSM 06.10 without the long-term predictor: 29 bytes in place of 33.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Codec {
    /// GSM lite at 4410 Hz.
    GsmLite4410,
    /// GSM lite at 6000 Hz.
    GsmLite6000,
    /// GSM lite at 7350 Hz.
    GsmLite7350,
    /// GSM lite at 8000 Hz.
    GsmLite8000,
    /// GSM lite at 11025 Hz.
    GsmLite11025,
    /// GSM at 4410 Hz: the paper's "GSM 4.4 kHz".
    Gsm4410,
    /// GSM at 6000 Hz.
    Gsm6000,
    /// GSM at 7350 Hz.
    Gsm7350,
    /// GSM at 8000 Hz.
    Gsm8000,
    /// GSM at 11025 Hz.
    Gsm11025,
    /// ADPCM at 8000 Hz: the coder's state in 3 bytes, then 4 frames of 80.
    Adpcm,
}

impl Codec {
    /// All of them.
    pub const ALL: [Self; 11] = [
        Self::GsmLite4410,
        Self::GsmLite6000,
        Self::GsmLite7350,
        Self::GsmLite8000,
        Self::GsmLite11025,
        Self::Gsm4410,
        Self::Gsm6000,
        Self::Gsm7350,
        Self::Gsm8000,
        Self::Gsm11025,
        Self::Adpcm,
    ];

    /// Its name on the wire: four letters.
    #[must_use]
    pub const fn code(self) -> [u8; 4] {
        match self {
            Self::GsmLite4410 => *b"GS4L",
            Self::GsmLite6000 => *b"GS6L",
            Self::GsmLite7350 => *b"GS7L",
            Self::GsmLite8000 => *b"GL80",
            Self::GsmLite11025 => *b"GS1L",
            Self::Gsm4410 => *b"GSM4",
            Self::Gsm6000 => *b"GSM6",
            Self::Gsm7350 => *b"GSM7",
            Self::Gsm8000 => *b"GS80",
            Self::Gsm11025 => *b"GSM1",
            Self::Adpcm => *b"ADP8",
        }
    }

    /// The codec with this name on the wire.
    #[must_use]
    pub fn from_code(code: [u8; 4]) -> Option<Self> {
        Self::ALL.into_iter().find(|codec| codec.code() == code)
    }

    /// Samples in a second.
    #[must_use]
    pub const fn sample_rate(self) -> u32 {
        match self {
            Self::GsmLite4410 | Self::Gsm4410 => 4_410,
            Self::GsmLite6000 | Self::Gsm6000 => 6_000,
            Self::GsmLite7350 | Self::Gsm7350 => 7_350,
            Self::GsmLite8000 | Self::Gsm8000 | Self::Adpcm => 8_000,
            Self::GsmLite11025 | Self::Gsm11025 => 11_025,
        }
    }

    #[must_use]
    pub const fn frame_bytes(self) -> usize {
        match self {
            Self::GsmLite4410
            | Self::GsmLite6000
            | Self::GsmLite7350
            | Self::GsmLite8000
            | Self::GsmLite11025 => 29,
            Self::Gsm4410 | Self::Gsm6000 | Self::Gsm7350 | Self::Gsm8000 | Self::Gsm11025 => 33,
            Self::Adpcm => 80,
        }
    }

    /// Frames in a packet.
    #[must_use]
    pub const fn frames(self) -> usize {
        match self {
            Self::GsmLite4410 | Self::Gsm4410 => 2,
            Self::GsmLite6000 | Self::Gsm6000 => 3,
            Self::GsmLite7350 | Self::Gsm7350 | Self::Adpcm => 4,
            Self::GsmLite8000 | Self::Gsm8000 => 5,
            Self::GsmLite11025 | Self::Gsm11025 => 6,
        }
    }

    /// Bytes before the frames: the state of the ADPCM coder (value, high byte first, and index).
    #[must_use]
    pub const fn state_bytes(self) -> usize {
        if matches!(self, Self::Adpcm) { 3 } else { 0 }
    }

    /// What the codec makes of one packet's sound, in bytes: what is handed in and comes out.
    #[must_use]
    pub const fn payload_bytes(self) -> usize {
        self.state_bytes() + self.frames() * self.frame_bytes()
    }

    /// Bytes that are encrypted for a packet: the timestamp too. These are the sizes of Table 5 of paper D.
    #[must_use]
    pub const fn data_bytes(self) -> usize {
        TIMESTAMP_LEN + self.payload_bytes()
    }

    /// Bytes of UDP payload for a packet.
    #[must_use]
    pub const fn wire_bytes(self) -> usize {
        super::packet::HEADER_LEN + self.data_bytes()
    }

    #[must_use]
    pub fn packet_samples(self) -> u32 {
        FRAME_SAMPLES * u32::try_from(self.frames()).unwrap_or(0)
    }

    /// Sound in a packet, rounded to a µs.
    #[must_use]
    pub fn packet(self) -> Micros {
        let rate = u64::from(self.sample_rate());
        Micros((u64::from(self.packet_samples()) * 1_000_000 + rate / 2) / rate)
    }
}
