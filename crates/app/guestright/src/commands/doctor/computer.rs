//! What a person's computer can: the demo, and calls.

use super::page::Page;
use guestright_cli::failure::Failure;
use guestright_codec::{CodecError, Kind};
use guestright_host::examine::{Finding, tool};
use guestright_netns::{Mode, Sandbox};

pub(super) fn demo(page: &mut Page<'_, '_>) -> Result<(), Failure> {
    let sandbox = Sandbox::probe();
    page.add(Finding {
        what: "the demo (namespaces)",
        good: sandbox.is_ok(),
        needed: true,
        says: sandbox.map_or_else(
            |error| error.to_string(),
            |mode| match mode {
                Mode::Root => "they work, as root".to_owned(),
                Mode::UserNamespace => "they work, without root".to_owned(),
            },
        ),
        to_do: "run as root, or allow user namespaces as the message says".into(),
    })?;
    page.add(tool("the demo: ethtool", "ethtool", "--version", "install the package ethtool"))?;
    page.add(tool("the demo: curl", "curl", "--version", "install the package curl"))
}

/// What a call can be made of.
pub(super) fn sound(page: &mut Page<'_, '_>) -> Result<(), Failure> {
    page.add(codecs())?;
    page.add(card())
}

/// Which codecs a call can have. G.711, G.722 and ADPCM are always there.
fn codecs() -> Finding {
    let (there, lacking): (Vec<_>, Vec<_>) =
        Kind::ALL.into_iter().map(|kind| (kind, kind.is_available())).partition(|(_, result)| result.is_ok());
    let names = there.iter().map(|(kind, _)| kind.to_string()).collect::<Vec<_>>().join(" ");
    let absent = lacking.iter().filter_map(|(_, result)| result.as_ref().err());
    // What was left out on purpose is no lack.
    let absent: Vec<_> = absent.filter(|error| !matches!(error, CodecError::NotBuilt { .. })).collect();
    let says = absent.iter().fold(names, |says, error| format!("{says}; {error}"));
    let to_do = "install what is named, or do without these codecs".into();
    Finding { what: "calls: codecs", good: absent.is_empty(), needed: false, says, to_do }
}

#[cfg(feature = "sound-card")]
fn card() -> Finding {
    use guestright_audio::card::devices;
    let devices = devices();
    let usable =
        |device: &guestright_audio::card::Device| device.name != "null" && (device.hears || device.speaks);
    let names =
        devices.map(|all| all.into_iter().filter(usable).map(|device| device.name).collect::<Vec<_>>());
    let good = names.as_ref().is_ok_and(|names| !names.is_empty());
    let says = match names {
        Ok(names) if names.is_empty() => "there is none here".to_owned(),
        Ok(names) => format!("{} devices, first {}", names.len(), names[0]),
        Err(error) => error.to_string(),
    };
    let to_do = "calls from and to WAV files work without one".into();
    Finding { what: "calls: sound card", good, needed: false, says, to_do }
}

#[cfg(not(feature = "sound-card"))]
fn card() -> Finding {
    Finding {
        what: "calls: sound card",
        good: false,
        needed: false,
        says: "this program was built without".to_owned(),
        to_do: "calls from and to WAV files work; build with --features sound-card for more".into(),
    }
}
