//! QR codes (ISO/IEC 18004): as lines of text, as SVG, as PNG.

use fast_qr::{ECL, QRBuilder, QRCode};
use guestright_error::RunError;
use zeroize::Zeroizing;

/// Light modules around a code (ISO/IEC 18004 section 5.3.8 asks for 4).
const MARGIN: usize = 4;
/// Pixels for each module of an image.
const SCALE: usize = 6;

/// A QR code.
#[expect(missing_debug_implementations, reason = "it may hold a secret")]
pub struct Code(QRCode);

impl Code {
    /// The code of a text.
    ///
    /// # Errors
    /// It is too long.
    pub fn new(text: &str) -> Result<Self, RunError> {
        let code = QRBuilder::new(text.as_bytes()).ecl(ECL::L).build();
        let wrong = |error| RunError::config(format!("{} bytes make no QR code: {error}", text.len()));
        code.map(Self).map_err(wrong)
    }

    /// Modules on each side, with the margin.
    fn side(&self) -> usize {
        self.0.size + 2 * MARGIN
    }

    fn is_dark(&self, row: usize, column: usize) -> bool {
        let inside = |position: usize| position.checked_sub(MARGIN).filter(|index| *index < self.0.size);
        inside(row).zip(inside(column)).is_some_and(|(row, column)| self.0[row][column].value())
    }

    /// As lines of half blocks, two rows each: light is what is printed, for a dark background.
    pub fn lines(&self) -> impl Iterator<Item = Zeroizing<String>> {
        (0..self.side()).step_by(2).map(|row| {
            let half = |column| match (self.is_dark(row, column), self.is_dark(row + 1, column)) {
                (true, true) => ' ',
                (true, false) => '▄',
                (false, true) => '▀',
                (false, false) => '█',
            };
            Zeroizing::new((0..self.side()).map(half).collect::<String>())
        })
    }

    /// As an SVG image.
    pub fn svg(&self) -> Zeroizing<String> {
        let side = self.side();
        let mut path = Zeroizing::new(String::with_capacity(side * side * 16));
        for row in 0..side {
            for column in (0..side).filter(|column| self.is_dark(row, *column)) {
                path.push_str(&format!("M{column} {row}h1v1h-1z"));
            }
        }
        Zeroizing::new(format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {side} {side}\" shape-rendering=\"crispEdges\">\
             <rect width=\"{side}\" height=\"{side}\" fill=\"#fff\"/><path d=\"{}\" fill=\"#000\"/></svg>\n",
            path.as_str()
        ))
    }

    /// As a PNG image (W3C PNG, second edition): one bit a pixel, in blocks that are not compressed.
    pub fn png(&self) -> Zeroizing<Vec<u8>> {
        let pixels = self.side() * SCALE;
        let side = u32::try_from(pixels).expect("a code has at most 185 modules on a side");
        let mut rows = Zeroizing::new(Vec::with_capacity(pixels * (pixels / 8 + 2)));
        for row in 0..pixels {
            rows.push(0); // No filter (section 9).
            for byte in 0..pixels.div_ceil(8) {
                let bit = |bit: usize| {
                    let column = byte * 8 + bit;
                    u8::from(column < pixels && !self.is_dark(row / SCALE, column / SCALE)) << (7 - bit)
                };
                rows.push((0..8).map(bit).sum());
            }
        }
        let mut image = Zeroizing::new(b"\x89PNG\r\n\x1a\n".to_vec());
        // Width, height, one bit, grey, the only methods of compression and filtering, no interlace (section 11.2.2).
        let header = [&side.to_be_bytes()[..], &side.to_be_bytes(), &[1, 0, 0, 0, 0]].concat();
        chunk(&mut image, *b"IHDR", &header);
        chunk(&mut image, *b"IDAT", &stored(&rows));
        chunk(&mut image, *b"IEND", &[]);
        image
    }
}

/// A chunk of a PNG (section 5.3): length, type, content, check sum.
fn chunk(image: &mut Vec<u8>, kind: [u8; 4], content: &[u8]) {
    let length = u32::try_from(content.len()).expect("an image of a code is small");
    image.extend(length.to_be_bytes());
    let start = image.len();
    image.extend(kind);
    image.extend(content);
    let sum = crc(&image[start..]);
    image.extend(sum.to_be_bytes());
}

/// A zlib stream (RFC 1950) of stored blocks (RFC 1951 section 3.2.4).
fn stored(bytes: &[u8]) -> Zeroizing<Vec<u8>> {
    let mut stream = Zeroizing::new(vec![0x78, 0x01]);
    let mut blocks = bytes.chunks(65_535).peekable();
    while let Some(block) = blocks.next() {
        let length = u16::try_from(block.len()).expect("a chunk of at most 65,535");
        stream.push(u8::from(blocks.peek().is_none()));
        stream.extend(length.to_le_bytes());
        stream.extend((!length).to_le_bytes());
        stream.extend(block);
    }
    let (mut a, mut b) = (1_u32, 0_u32); // Adler-32 (RFC 1950 section 8.2).
    for byte in bytes {
        a = (a + u32::from(*byte)) % 65_521;
        b = (b + a) % 65_521;
    }
    stream.extend((b << 16 | a).to_be_bytes());
    stream
}

/// CRC-32 as PNG has it (annex D).
fn crc(bytes: &[u8]) -> u32 {
    let step = |sum: u32, byte: &u8| {
        (0..8).fold(sum ^ u32::from(*byte), |sum, _| sum >> 1 ^ if sum & 1 == 1 { 0xedb8_8320 } else { 0 })
    };
    !bytes.iter().fold(u32::MAX, step)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn check_sums_are_those_of_the_standards() {
        assert_eq!(crc(b"IEND"), 0xae42_6082); // Every PNG ends in it.
        let stream = stored(b"Wikipedia");
        assert_eq!(stream[stream.len() - 4..], 0x11e6_0398_u32.to_be_bytes()); // Adler-32's usual example.
    }

    #[test]
    fn a_text_that_is_too_long_is_an_error() {
        assert!(Code::new(&"x".repeat(2_953)).is_ok());
        assert!(Code::new(&"x".repeat(2_954)).is_err());
    }

    #[test]
    fn every_form_shows_the_same_modules() {
        let code = Code::new("guestright").unwrap();
        let printed: String = code.lines().map(|line| format!("{}\n", line.as_str())).collect();
        let dark: usize = printed
            .chars()
            .map(|half| match half {
                ' ' => 2,
                '▄' | '▀' => 1,
                _ => 0,
            })
            .sum();
        let modules = (0..code.side()).flat_map(|row| (0..code.side()).map(move |column| (row, column)));
        let want = modules.filter(|&(row, column)| code.is_dark(row, column)).count();
        // The last line has one row of modules; the row below it counts as light.
        assert_eq!(dark, want);
        assert_eq!(code.svg().matches("h1v1").count(), want);
    }
}
