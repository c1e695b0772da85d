//! Which compressions a client takes (RFC 9110, section 12.5.3).

/// How a file is compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    Plain,
    Gzip,
    Brotli,
}

/// What a client takes besides plain bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Accepts {
    pub gzip: bool,
    pub brotli: bool,
}

impl Accepts {
    pub(crate) fn parse(header: Option<&str>) -> Self {
        let mut accepts = Self::default();
        let mut any = None;
        let (mut gzip, mut brotli) = (None, None);
        for part in header.unwrap_or_default().split(',') {
            let mut words = part.split(';');
            let name = words.next().unwrap_or_default().trim();
            let is_wanted = words.all(|word| !is_zero(word.trim()));
            match name.to_ascii_lowercase().as_str() {
                "gzip" | "x-gzip" => gzip = Some(is_wanted),
                "br" => brotli = Some(is_wanted),
                "*" => any = Some(is_wanted),
                _ => {}
            }
        }
        accepts.gzip = gzip.or(any).unwrap_or(false);
        accepts.brotli = brotli.or(any).unwrap_or(false);
        accepts
    }
}

/// `q=0`, `q=0.000`.
fn is_zero(word: &str) -> bool {
    word.strip_prefix("q=")
        .or_else(|| word.strip_prefix("Q="))
        .is_some_and(|q| q.starts_with('0') && q.bytes().all(|byte| matches!(byte, b'0' | b'.')))
}

impl Encoding {
    pub(crate) fn name(self) -> Option<&'static str> {
        match self {
            Self::Plain => None,
            Self::Gzip => Some("gzip"),
            Self::Brotli => Some("br"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_refused_by_a_zero_is_not_sent() {
        #[rustfmt::skip]
        let cases = [
            (None,                          (false, false)),
            (Some(""),                      (false, false)),
            (Some("gzip"),                  (true,  false)),
            (Some("gzip, deflate, br"),     (true,  true)),
            (Some("GZIP;q=0.5"),            (true,  false)),
            (Some("gzip;q=0, br; q=0.000"), (false, false)),
            (Some("*"),                     (true,  true)),
            (Some("*;q=0"),                 (false, false)),
            (Some("br;q=0,*"),              (true,  false)),
            (Some("identity"),              (false, false)),
        ];
        for (header, (gzip, brotli)) in cases {
            assert_eq!(Accepts::parse(header), Accepts { gzip, brotli }, "{header:?}");
        }
    }
}
