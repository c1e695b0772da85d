//! What a modem says, line by line.

/// No line is longer: a message of 160 septets with its message centre has some 350 digits.
const LINE_MAX: usize = 1_024;

/// A line, or the sign that a message's text may follow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Token {
    Line(String),
    Prompt,
}

/// Cuts what comes into lines. What is too long, or no text, is thrown away up to the next end of line.
#[derive(Debug, Default)]
pub(super) struct Lines {
    line: Vec<u8>,
    spoilt: bool,
}

impl Lines {
    /// Takes a byte in; gives what it completes. `prompt` says whether `> ` at the beginning of a line is a token.
    pub(super) fn push(&mut self, byte: u8, prompt: bool) -> Option<Token> {
        if byte == b'\r' || byte == b'\n' {
            let line = std::mem::take(&mut self.line);
            let spoilt = std::mem::take(&mut self.spoilt);
            let text = String::from_utf8(line).ok().filter(|_| !spoilt)?;
            let text = text.trim();
            return (!text.is_empty()).then(|| Token::Line(text.to_owned()));
        }
        if self.line.len() >= LINE_MAX {
            self.line.clear();
            self.spoilt = true;
        }
        // Noise on the line has bytes that no modem says.
        if !(b' '..=b'~').contains(&byte) {
            self.spoilt = self.spoilt || !self.line.is_empty() || byte >= 0x80;
            return None;
        }
        self.line.push(byte);
        if prompt && self.line == b"> " && !self.spoilt {
            self.line.clear();
            return Some(Token::Prompt);
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokens(text: &[u8], prompt: bool) -> Vec<Token> {
        let mut lines = Lines::default();
        text.iter().filter_map(|&byte| lines.push(byte, prompt)).collect()
    }

    #[test]
    fn cuts_lines_whatever_their_ends() {
        let line = |text: &str| Token::Line(text.to_owned());
        assert_eq!(
            tokens(b"\r\nOK\r\n+CSQ: 9,0\r\rERROR\n", false),
            [line("OK"), line("+CSQ: 9,0"), line("ERROR")]
        );
        assert_eq!(tokens(b"\r\n> ", true), [Token::Prompt]);
        assert_eq!(tokens(b"\r\n> x\r", false), [line("> x")]);
        assert_eq!(tokens(b"AT\r\n> \r\nOK\r\n", true), [line("AT"), Token::Prompt, line("OK")]);
    }

    #[test]
    fn noise_costs_one_line() {
        let line = |text: &str| Token::Line(text.to_owned());
        assert_eq!(tokens(b"\xff\xfeOK\r\nOK\r\n", false), [line("OK")]);
        assert_eq!(tokens(b"A\0B\r\nOK\r\n", false), [line("OK")]);
        let mut long = vec![b'7'; 5_000];
        long.extend(b"\r\nOK\r\n");
        assert_eq!(tokens(&long, false), [line("OK")]);
    }
}
