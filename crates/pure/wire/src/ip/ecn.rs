//! Congestion marks through a tunnel (RFC 6040).

use super::Sum;

/// The two bits of congestion notification (RFC 3168, section 5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ecn {
    /// The sender does not understand marks.
    NotCapable,
    /// It does, code 1.
    Capable1,
    /// It does, code 0.
    Capable0,
    /// A router has seen congestion.
    Congested,
}

impl Ecn {
    /// From the lower two bits of a type of service or a traffic class.
    #[must_use]
    pub fn of(traffic_class: u8) -> Self {
        match traffic_class & 0b11 {
            0b00 => Self::NotCapable,
            0b01 => Self::Capable1,
            0b10 => Self::Capable0,
            _ => Self::Congested,
        }
    }

    /// The two bits.
    #[must_use]
    pub fn bits(self) -> u8 {
        match self {
            Self::NotCapable => 0b00,
            Self::Capable1 => 0b01,
            Self::Capable0 => 0b10,
            Self::Congested => 0b11,
        }
    }

    /// What a packet that comes out of a tunnel is marked with; `None` if it has to be dropped, because its sender
    /// would not understand that there is congestion (RFC 6040, section 4.2, figure 4).
    #[must_use]
    pub fn decapsulate(inner: Self, outer: Self) -> Option<Self> {
        match (inner, outer) {
            (Self::NotCapable, Self::Congested) => None,
            (Self::NotCapable, Self::NotCapable | Self::Capable0 | Self::Capable1) => Some(Self::NotCapable),
            (Self::Congested, _) | (_, Self::Congested) => Some(Self::Congested),
            (Self::Capable1, _) | (_, Self::Capable1) => Some(Self::Capable1),
            (Self::Capable0, Self::NotCapable | Self::Capable0) => Some(Self::Capable0),
        }
    }
}

/// Carries the outer header's mark into an inner packet that was found whole; says whether the packet may go on.
#[must_use]
pub fn decapsulate(inner: &mut [u8], outer: Ecn) -> bool {
    let class = match inner.first().map(|first| first >> 4) {
        Some(4) => inner[1],
        Some(6) => inner[1] >> 4,
        Some(_) | None => return false,
    };
    let before = Ecn::of(class);
    let Some(after) = Ecn::decapsulate(before, outer) else { return false };
    if before == after {
        return true;
    }
    if inner[0] >> 4 == 6 {
        inner[1] = inner[1] & 0xcf | after.bits() << 4;
        return true;
    }
    inner[1] = inner[1] & 0xfc | after.bits();
    let header_len = usize::from(inner[0] & 0x0f) * 4;
    let Some(header) = inner.get_mut(..header_len) else { return false };
    header[10..12].fill(0);
    let mut sum = Sum::default();
    sum.add(header);
    header[10..12].copy_from_slice(&sum.checksum().to_be_bytes());
    true
}
