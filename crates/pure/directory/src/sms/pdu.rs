//! PDU mode: SMS-SUBMIT and SMS-DELIVER (3GPP TS 23.040 section 9.2.2).

use super::{SmsError, Timestamp, USER_DATA_MAX, alphabet};
use crate::TelephoneNumber;
use data_encoding::{HEXUPPER, HEXUPPER_PERMISSIVE};

/// Data coding scheme: 8-bit data, no class (3GPP TS 23.038 section 4).
const EIGHT_BIT: u8 = 0x04;
/// So many septets fit.
const SEPTETS_MAX: u8 = 160;
/// Type of address: extension bit, international number, ISDN numbering plan (TS 23.040 section 9.1.2.5).
const INTERNATIONAL: u8 = 0x91;

/// Who has sent a message or is to get one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Party {
    /// A number in international form.
    Number(TelephoneNumber),
    /// Another number, of which only the network knows what it means; with its type of address.
    Digits(String, u8),
    /// A name in place of a number; cannot be answered.
    Name(String),
}

/// What the user data are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Alphabet {
    /// Text of the 7-bit default alphabet.
    Septets,
    /// Bytes.
    Data,
    /// Text in UCS-2.
    Ucs2,
    /// Compressed or reserved.
    Other,
}

/// What a modem is told to send.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Submit {
    pub to: Party,
    /// How long the network may try, as [`super::relative_validity`] says it; its own choice without.
    pub validity: Option<u8>,
    /// 8-bit data that begin with a header, at most [`USER_DATA_MAX`] bytes.
    pub user_data: Vec<u8>,
}

/// What a modem has received.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Deliver {
    /// Who has sent it.
    pub from: Party,
    /// The data coding scheme (TS 23.038 section 4).
    pub coding: u8,
    /// When the message centre got it.
    pub stamp: Timestamp,
    /// Whether the user data begin with a header.
    pub has_header: bool,
    /// How many septets (in the 7-bit alphabet) or bytes the user data have.
    pub length: u8,
    /// The user data in bytes; septets are packed.
    pub user_data: Vec<u8>,
}

struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    fn byte(&mut self, field: &'static str) -> Result<u8, SmsError> {
        Ok(self.read(1, field)?[0])
    }

    fn read(&mut self, length: usize, field: &'static str) -> Result<&'a [u8], SmsError> {
        let (taken, rest) = self.rest.split_at_checked(length).ok_or(SmsError::Truncated(field))?;
        self.rest = rest;
        Ok(taken)
    }

    fn end(&self) -> Result<(), SmsError> {
        if self.rest.is_empty() { Ok(()) } else { Err(SmsError::Trailing(self.rest.len())) }
    }
}

impl Submit {
    /// The TPDU as bytes, without the message centre in front.
    ///
    /// # Errors
    /// [`SmsError`] if a field does not fit.
    pub fn emit(&self) -> Result<Vec<u8>, SmsError> {
        let (got, max) = (self.user_data.len(), USER_DATA_MAX);
        let length = u8::try_from(got).ok().filter(|_| got <= max).ok_or(SmsError::TooLong { got, max })?;
        // SMS-SUBMIT with a user data header, and a relative validity period if there is one.
        let first = 0x41 | if self.validity.is_some() { 0x10 } else { 0 };
        let mut pdu = vec![first, 0]; // The modem numbers the message itself.
        pdu.extend(self.to.emit()?);
        pdu.extend([0, EIGHT_BIT]);
        pdu.extend(self.validity);
        pdu.push(length);
        pdu.extend(&self.user_data);
        Ok(pdu)
    }

    /// Reads the TPDU of a message as [`Submit::emit`] writes it.
    ///
    /// # Errors
    /// [`SmsError`].
    pub fn parse(pdu: &[u8]) -> Result<Self, SmsError> {
        let mut reader = Reader { rest: pdu };
        let first = reader.byte("first byte")?;
        if first & 0x03 != 1 {
            return Err(SmsError::Kind(first & 0x03));
        }
        if first & 0x40 == 0 {
            return Err(SmsError::NotOurs);
        }
        reader.byte("reference")?;
        let to = Party::parse(&mut reader)?;
        let [_, EIGHT_BIT] = *reader.read(2, "coding")? else { return Err(SmsError::NotOurs) };
        let validity = match first & 0x18 {
            0x00 => None,
            0x10 => Some(reader.byte("validity")?),
            _ => return Err(SmsError::Field("validity")),
        };
        let length = reader.byte("length")?;
        let user_data = reader.read(length.into(), "user data")?.to_vec();
        reader.end()?;
        if user_data.len() > USER_DATA_MAX {
            return Err(SmsError::TooLong { got: user_data.len(), max: USER_DATA_MAX });
        }
        Ok(Self { to, validity, user_data })
    }
}

impl Deliver {
    /// Reads the TPDU of a received message, without the message centre in front.
    ///
    /// # Errors
    /// [`SmsError`].
    pub fn parse(pdu: &[u8]) -> Result<Self, SmsError> {
        let mut reader = Reader { rest: pdu };
        let first = reader.byte("first byte")?;
        if first & 0x03 != 0 {
            return Err(SmsError::Kind(first & 0x03));
        }
        let from = Party::parse(&mut reader)?;
        reader.byte("protocol identifier")?;
        let coding = reader.byte("coding")?;
        let stamp =
            reader.read(7, "time stamp")?.try_into().map_err(|_| SmsError::Truncated("time stamp"))?;
        let stamp = Timestamp::parse(stamp)?;
        let length = reader.byte("length")?;
        let (max, octets) = match alphabet_of(coding) {
            Alphabet::Septets => (SEPTETS_MAX, (usize::from(length) * 7).div_ceil(8)),
            Alphabet::Data | Alphabet::Ucs2 | Alphabet::Other => (140, usize::from(length)),
        };
        if length > max {
            return Err(SmsError::TooLong { got: length.into(), max: max.into() });
        }
        let user_data = reader.read(octets, "user data")?.to_vec();
        reader.end()?;
        Ok(Self { from, coding, stamp, has_header: first & 0x40 != 0, length, user_data })
    }

    /// The TPDU as bytes, without the message centre in front: what a network hands to a modem.
    ///
    /// # Errors
    /// [`SmsError`] if a field does not fit.
    pub fn emit(&self) -> Result<Vec<u8>, SmsError> {
        let first = 0x04 | if self.has_header { 0x40 } else { 0 }; // No more messages are waiting.
        let mut pdu = vec![first];
        pdu.extend(self.from.emit()?);
        pdu.extend([0, self.coding]);
        pdu.extend(self.stamp.emit());
        pdu.push(self.length);
        pdu.extend(&self.user_data);
        Self::parse(&pdu)?;
        Ok(pdu)
    }

    /// What the user data are.
    pub fn alphabet(&self) -> Alphabet {
        alphabet_of(self.coding)
    }

    /// The text, of a message to a person in the 7-bit alphabet without a header.
    pub fn text(&self) -> Option<String> {
        let plain = self.alphabet() == Alphabet::Septets && !self.has_header;
        plain.then(|| alphabet::text(&alphabet::unpack(&self.user_data, self.length.into())))
    }
}

/// TS 23.038 section 4: the general groups, those with a message class, and those that store or discard.
fn alphabet_of(coding: u8) -> Alphabet {
    match (coding >> 4, coding & 0x0c) {
        (0x0..=0x3, 0x00) => {
            if coding & 0x20 == 0 {
                Alphabet::Septets
            } else {
                Alphabet::Other
            }
        }
        (0x0..=0x3, 0x04) => {
            if coding & 0x20 == 0 {
                Alphabet::Data
            } else {
                Alphabet::Other
            }
        }
        (0x0..=0x3, 0x08) => {
            if coding & 0x20 == 0 {
                Alphabet::Ucs2
            } else {
                Alphabet::Other
            }
        }
        (0xc | 0xd, _) => Alphabet::Septets,
        (0xe, _) => Alphabet::Ucs2,
        (0xf, _) => {
            if coding & 0x04 == 0 {
                Alphabet::Septets
            } else {
                Alphabet::Data
            }
        }
        _ => Alphabet::Other,
    }
}

impl Party {
    /// Whom to answer.
    pub fn number(&self) -> Option<&TelephoneNumber> {
        match self {
            Self::Number(number) => Some(number),
            Self::Digits(..) | Self::Name(_) => None,
        }
    }

    /// Length in half bytes, type of address, digits (TS 23.040 section 9.1.2.5).
    fn emit(&self) -> Result<Vec<u8>, SmsError> {
        let refused = SmsError::Field("address");
        let (digits, kind) = match self {
            Self::Number(number) => (number.digits(), INTERNATIONAL),
            Self::Digits(digits, kind) => (digits.as_str(), *kind),
            Self::Name(name) => {
                let septets =
                    alphabet::septets(name).filter(|septets| septets.len() <= 11).ok_or(refused.clone())?;
                let halves = u8::try_from((septets.len() * 7).div_ceil(4)).map_err(|_| refused)?;
                return Ok([vec![halves, 0xd0], alphabet::pack(&septets)].concat());
            }
        };
        let length = u8::try_from(digits.len()).ok().filter(|&length| length <= 20).ok_or(refused.clone())?;
        let mut halves = Vec::new();
        for digit in digits.bytes() {
            let half = b"0123456789*#abc".iter().position(|&known| known == digit);
            halves.push(half.and_then(|half| u8::try_from(half).ok()).ok_or(refused.clone())?);
        }
        let pair = |pair: &[u8]| pair.get(1).unwrap_or(&0x0f) << 4 | pair[0];
        Ok([vec![length, kind], halves.chunks(2).map(pair).collect()].concat())
    }

    fn parse(reader: &mut Reader) -> Result<Self, SmsError> {
        let refused = || SmsError::Field("address");
        let length = usize::from(reader.byte("address")?);
        if length > 20 {
            return Err(refused());
        }
        let kind = reader.byte("address")?;
        let octets = reader.read(length.div_ceil(2), "address")?;
        if kind & 0x80 == 0 {
            return Err(refused());
        }
        if kind & 0x70 == 0x50 {
            return Ok(Self::Name(alphabet::text(&alphabet::unpack(octets, length * 4 / 7))));
        }
        let mut halves = octets.iter().flat_map(|octet| [octet & 0x0f, octet >> 4]);
        let digit = |half: u8| b"0123456789*#abc".get(usize::from(half)).map(|&digit| char::from(digit));
        let digits: String =
            halves.by_ref().take(length).map(digit).collect::<Option<_>>().ok_or_else(refused)?;
        if halves.any(|half| half != 0x0f) {
            return Err(refused());
        }
        if kind & 0x70 == 0x10
            && let Ok(number) = format!("+{digits}").parse()
        {
            return Ok(Self::Number(number));
        }
        Ok(Self::Digits(digits, kind))
    }
}

/// Upper-case hexadecimal digits, as modems speak.
pub fn to_hex(bytes: &[u8]) -> String {
    HEXUPPER.encode(bytes)
}

/// The bytes that hexadecimal digits stand for.
///
/// # Errors
/// [`SmsError::Hex`].
pub fn from_hex(text: &str) -> Result<Vec<u8>, SmsError> {
    HEXUPPER_PERMISSIVE.decode(text.as_bytes()).map_err(|_| SmsError::Hex)
}

#[cfg(test)]
mod tests;
