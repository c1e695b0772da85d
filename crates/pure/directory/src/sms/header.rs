//! The user data header: which part of which message, and for which application (TS 23.040 section 9.2.3.24).

use super::SmsError;

/// How many bytes of user data a short message has, its header among them.
pub const USER_DATA_MAX: usize = 140;

/// The application port of our messages, of the range that is free for applications (TS 23.040 section 9.2.3.24.4).
pub const PORT: u16 = 16_275;

/// No message is cut into more parts.
const PARTS_MAX: u8 = 6;

/// Which part of which message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Concatenation {
    /// The message's number; its sender has had no other one with it lately.
    pub reference: u16,
    /// How many parts there are; not zero.
    pub total: u8,
    /// Which part this is, from 1.
    pub sequence: u8,
}

/// Application ports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ports {
    pub destination: u16,
    pub source: u16,
}

/// A user data header, as far as we understand it. Elements that we do not know are passed over.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Header {
    /// Which part of which message; nothing for a message in one part.
    pub concatenation: Option<Concatenation>,
    /// For which application.
    pub ports: Option<Ports>,
}

impl Header {
    /// The header as bytes: its length first. A reference above 255 takes the 16-bit form.
    pub fn emit(&self) -> Vec<u8> {
        let mut elements = Vec::new();
        if let Some(Concatenation { reference, total, sequence }) = self.concatenation {
            match u8::try_from(reference) {
                Ok(reference) => elements.extend([0x00, 3, reference, total, sequence]),
                Err(_) => {
                    let [high, low] = reference.to_be_bytes();
                    elements.extend([0x08, 4, high, low, total, sequence]);
                }
            }
        }
        if let Some(Ports { destination, source }) = self.ports {
            elements.extend([0x05, 4]);
            elements.extend(destination.to_be_bytes());
            elements.extend(source.to_be_bytes());
        }
        let length = u8::try_from(elements.len()).expect("two short elements");
        elements.insert(0, length);
        elements
    }

    /// Reads the header at the beginning of user data; gives the rest, too.
    ///
    /// # Errors
    /// [`SmsError::Truncated`] or [`SmsError::Field`].
    pub fn parse(user_data: &[u8]) -> Result<(Self, &[u8]), SmsError> {
        let cut = SmsError::Truncated("header");
        let (&length, rest) = user_data.split_first().ok_or(cut.clone())?;
        let (mut elements, payload) = rest.split_at_checked(length.into()).ok_or(cut.clone())?;
        let mut header = Self::default();
        while let Some((&[kind, length], rest)) = elements.split_first_chunk() {
            let (content, rest) = rest.split_at_checked(length.into()).ok_or(cut.clone())?;
            elements = rest;
            header.set_element(kind, content)?;
        }
        if !elements.is_empty() {
            return Err(cut);
        }
        Ok((header, payload))
    }

    /// Takes an element; of two of one kind the last counts (TS 23.040 section 9.2.3.24).
    fn set_element(&mut self, kind: u8, content: &[u8]) -> Result<(), SmsError> {
        match (kind, content) {
            (0x00, &[reference, total, sequence]) => {
                self.concatenation = concatenation(reference.into(), total, sequence);
            }
            (0x08, &[high, low, total, sequence]) => {
                self.concatenation = concatenation(u16::from_be_bytes([high, low]), total, sequence);
            }
            (0x04, &[destination, source]) => {
                self.ports = Some(Ports { destination: destination.into(), source: source.into() });
            }
            (0x05, &[a, b, c, d]) => {
                let [destination, source] = [[a, b], [c, d]].map(u16::from_be_bytes);
                self.ports = Some(Ports { destination, source });
            }
            (0x00 | 0x04 | 0x05 | 0x08, _) => return Err(SmsError::Field("header")),
            _ => {}
        }
        Ok(())
    }
}

/// An element whose numbers cannot be is passed over, as TS 23.040 section 9.2.3.24.1 wants it.
fn concatenation(reference: u16, total: u8, sequence: u8) -> Option<Concatenation> {
    (1..=total).contains(&sequence).then_some(Concatenation { reference, total, sequence })
}

/// Cuts a message of ours into the user data of short messages, each with its header.
///
/// # Errors
/// [`SmsError::TooLong`] if that would be more than six.
pub fn split(payload: &[u8], reference: u8) -> Result<Vec<Vec<u8>>, SmsError> {
    let ports = Some(Ports { destination: PORT, source: PORT });
    let whole = Header { concatenation: None, ports }.emit();
    if whole.len() + payload.len() <= USER_DATA_MAX {
        return Ok(vec![[whole.as_slice(), payload].concat()]);
    }
    let part = |total, sequence| Header {
        concatenation: Some(Concatenation { reference: reference.into(), total, sequence }),
        ports,
    };
    let room = USER_DATA_MAX - part(1, 1).emit().len();
    let count = payload.len().div_ceil(room);
    let too_long = SmsError::TooLong { got: payload.len(), max: room * usize::from(PARTS_MAX) };
    let total = u8::try_from(count).ok().filter(|&count| count <= PARTS_MAX).ok_or(too_long)?;
    let parts = (1..).zip(payload.chunks(room));
    Ok(parts.map(|(sequence, chunk)| [&part(total, sequence).emit(), chunk].concat()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn elements_are_those_of_the_specification() {
        let ports = Some(Ports { destination: PORT, source: 0x1234 });
        let concatenation = |reference| Some(Concatenation { reference, total: 3, sequence: 2 });
        #[rustfmt::skip]
        let cases: [(Header, &[u8]); 4] = [
            (Header::default(), &[0]),
            (Header { concatenation: concatenation(0xa7), ports: None }, &[5, 0, 3, 0xa7, 3, 2]),
            (Header { concatenation: concatenation(0x1a7), ports: None }, &[6, 8, 4, 1, 0xa7, 3, 2]),
            (Header { concatenation: concatenation(1), ports }, &[11, 0, 3, 1, 3, 2, 5, 4, 0x3f, 0x93, 0x12, 0x34]),
        ];
        for (header, bytes) in cases {
            assert_eq!(header.emit(), bytes);
            assert_eq!(Header::parse(&[bytes, b"rest"].concat()), Ok((header, &b"rest"[..])));
        }
        // 8-bit ports, an unknown element, and a second concatenation that counts.
        let mixed = [0, 4, 2, 9, 8, 0x24, 1, 0, 0, 3, 1, 2, 1, 0, 3, 7, 2, 2];
        let length = u8::try_from(mixed.len() - 1).unwrap();
        let mixed = [&[length], &mixed[1..]].concat();
        let (header, rest) = Header::parse(&mixed).unwrap();
        assert_eq!(header.ports, Some(Ports { destination: 9, source: 8 }));
        assert_eq!(header.concatenation, Some(Concatenation { reference: 7, total: 2, sequence: 2 }));
        assert_eq!(rest, b"");
    }

    #[test]
    fn broken_headers_are_refused() {
        let cut = Err(SmsError::Truncated("header"));
        for bytes in [&[][..], &[1], &[1, 0], &[2, 0, 3], &[5, 0, 3, 1, 2], &[5, 0, 4, 1, 2, 1]] {
            assert_eq!(Header::parse(bytes), cut, "{bytes:?}");
        }
        assert_eq!(Header::parse(&[4, 0, 2, 1, 1]), Err(SmsError::Field("header")));
        for (total, sequence) in [(0, 0), (2, 0), (2, 3), (0, 1)] {
            let (header, _) = Header::parse(&[5, 0, 3, 1, total, sequence]).unwrap();
            assert_eq!(header.concatenation, None, "{sequence} of {total}");
        }
    }

    #[test]
    fn parts_fit_and_there_are_not_too_many() {
        let lengths = |length| split(&vec![7; length], 1).unwrap().iter().map(Vec::len).collect::<Vec<_>>();
        assert_eq!(lengths(0), [7]);
        assert_eq!(lengths(133), [140]);
        assert_eq!(lengths(134), [140, 18]);
        assert_eq!(lengths(384), [140, 140, 140], "three messages carry 384 bytes");
        assert_eq!(lengths(768).len(), 6);
        assert_eq!(split(&[7; 769], 1), Err(SmsError::TooLong { got: 769, max: 768 }));
    }

    proptest! {
        #[test]
        fn any_header_is_read_or_refused(bytes: Vec<u8>) {
            if let Ok((header, rest)) = Header::parse(&bytes) {
                let again = [header.emit(), rest.to_vec()].concat();
                prop_assert_eq!(Header::parse(&again), Ok((header, rest)));
            }
        }
    }
}
