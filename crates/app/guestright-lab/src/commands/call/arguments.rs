//! The arguments of `call` and `call listen`, and the plain settings that they become.

use guestright_channel::Credentials;
use guestright_cli::call::LineArgs;
use guestright_cli::failure::Failure;
use guestright_cli::files::MemberArgs;
use guestright_directory::Contacts;
use guestright_study::{Profile, StudySettings, ToolSettings};
use std::net::IpAddr;
use std::path::PathBuf;

/// A tool with a wire format of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum ProfileName {
    /// Protected from end to end by the members' keys; handshakes measure the way and heal the keys
    Boat,
    /// As paper D prints it: RC4 and MD5 under a pass phrase. Insecure
    BoatLegacy,
    /// LPC-10 under Blowfish, IDEA or triple DES. Insecure
    Nautilus,
    /// GSM or ADPCM under DES, IDEA or Blowfish. Insecure
    SpeakFreely,
    /// GSM or ADPCM at 4.41 kHz under CAST5, Blowfish or triple DES. Insecure
    Pgpfone,
}

/// What `call` and `call listen` have in common.
#[derive(Clone, Debug, clap::Args)]
pub(super) struct StraightArgs {
    /// Call straight, by this tool's own wire format, without homes and SIP. All but boat are insecure
    // Not needed where a subcommand has one of its own.
    #[arg(long, value_enum, value_name = "NAME", required = true)]
    profile: Option<ProfileName>,
    /// Run a tool whose protection is broken; say nothing that others may not hear
    #[arg(long)]
    insecure_for_study: bool,
    /// File with the phrase that both sides know, on its first line
    #[arg(long, value_name = "FILE")]
    pass_phrase_file: Option<PathBuf>,
    /// One of the tool's ciphers; otherwise its first
    #[arg(long, value_name = "NAME", long_help = choices("ciphers", |profile| profile.ciphers().to_vec()))]
    cipher: Option<String>,
    /// Where the contact that is called is at present
    #[arg(long, value_name = "HOST[:PORT]")]
    at: Option<String>,
    /// Speak to nobody but this one: a contact, or the name of a key (48 hexadecimal digits). Only with boat
    #[arg(long, value_name = "CONTACT")]
    expect: Option<String>,
    #[command(flatten)]
    member: MemberArgs,
    /// These calls are always direct
    #[arg(long, hide = true)]
    direct: bool,
    /// This computer's own address; otherwise the one that the way to the other side begins with
    #[arg(long, value_name = "ADDRESS")]
    address: Option<IpAddr>,
    /// The tool's port; 0 takes any, or, to listen, the one that the tool has always had
    #[arg(long, default_value_t = 0)]
    port: u16,
    /// One of the tool's codecs; otherwise its first
    #[arg(long, value_name = "NAME", value_delimiter = ',', long_help = choices("codecs", codecs))]
    codec: Vec<String>,
    #[command(flatten)]
    line: LineArgs,
    /// Take commands from standard input even if it is no terminal: quit
    #[arg(long)]
    control: bool,
}

/// What each tool has, for the help.
fn choices(what: &str, of: impl Fn(Profile) -> Vec<&'static str>) -> String {
    let line = |profile: &Profile| format!("\n- {}: {}", profile.text(), of(*profile).join(", "));
    format!(
        "One of the tool's {what}; otherwise its first:{}",
        Profile::ALL.iter().map(line).collect::<String>()
    )
}

fn codecs(profile: Profile) -> Vec<&'static str> {
    profile.codecs().into_iter().map(|codec| codec.name()).collect()
}

impl StraightArgs {
    pub(super) fn profile(&self) -> Option<Profile> {
        self.profile.map(Profile::from)
    }

    pub(super) fn is_controlled(&self) -> bool {
        self.control
    }

    pub(super) fn credentials(&self) -> Result<Credentials, Failure> {
        self.member.credentials()
    }

    pub(super) fn contacts(&self) -> Result<Contacts, Failure> {
        self.line.contacts()
    }

    pub(super) fn settings(&self, profile: Profile, contacts: Contacts) -> StudySettings {
        StudySettings {
            profile,
            tool: ToolSettings {
                insecure_for_study: self.insecure_for_study,
                pass_phrase_file: self.pass_phrase_file.clone(),
                cipher: self.cipher.clone(),
                codecs: self.codec.clone(),
                playout: self.line.playout(),
                at: self.at.clone(),
                expect: self.expect.clone(),
            },
            line: self.line.settings(),
            address: self.address,
            port: self.port,
            contacts,
        }
    }
}

impl From<ProfileName> for Profile {
    fn from(name: ProfileName) -> Self {
        match name {
            ProfileName::Boat => Self::Boat,
            ProfileName::BoatLegacy => Self::BoatLegacy,
            ProfileName::Nautilus => Self::Nautilus,
            ProfileName::SpeakFreely => Self::SpeakFreely,
            ProfileName::Pgpfone => Self::Pgpfone,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::ValueEnum as _;

    #[test]
    fn a_profile_has_one_name() {
        assert_eq!(ProfileName::value_variants().len(), Profile::ALL.len());
        for name in ProfileName::value_variants() {
            assert_eq!(name.to_possible_value().unwrap().get_name(), Profile::from(*name).text());
        }
    }
}
