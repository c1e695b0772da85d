//! What was asked for, as plain values: made once, of a command line.

use crate::Profile;
use guestright_directory::Contacts;
use guestright_telephone::{Controls, LineSettings, Playout};
use std::fmt;
use std::io::Write;
use std::net::IpAddr;
use std::path::PathBuf;

/// A telephone for calls with one profile.
#[derive(Clone, Debug)]
pub struct StudySettings {
    pub profile: Profile,
    pub tool: ToolSettings,
    pub line: LineSettings,
    /// This computer's own address; without it, whichever the way to the peer begins with.
    pub address: Option<IpAddr>,
    /// 0 takes any to call, and that of the tool to wait for calls.
    pub port: u16,
    pub contacts: Contacts,
}

/// What is wanted of the tool.
#[derive(Clone, Debug, Default)]
pub struct ToolSettings {
    /// Run it although its protection is broken.
    pub insecure_for_study: bool,
    /// The file with the phrase that both sides know, on its first line.
    pub pass_phrase_file: Option<PathBuf>,
    /// One of its ciphers; otherwise its first.
    pub cipher: Option<String>,
    /// One of its codecs; otherwise its first.
    pub codecs: Vec<String>,
    /// When what arrives is played; otherwise as NetEQ does. Only BoAT leaves the choice.
    pub playout: Option<Playout>,
    /// Where whoever is called is at present, as a person says it.
    pub at: Option<String>,
    /// Speak to nobody but this contact or key. Only with BoAT.
    pub expect: Option<String>,
}

/// The person at the telephone, and where things are said.
pub struct Terminal<'a, W> {
    pub controls: Controls,
    /// What happens, for a person or a program.
    pub out: &'a mut W,
    /// What has to be seen even if nobody reads `out`.
    pub warnings: &'a mut dyn Write,
}

impl<W> fmt::Debug for Terminal<'_, W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Terminal").finish_non_exhaustive()
    }
}
