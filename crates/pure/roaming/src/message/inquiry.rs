//! What a home asks of its own access points, and what one answers that was to do something (design note 0015).

use crate::message::frame::Frame;
use crate::message::{MessageError, Writer, printable};
use guestright_ordered::OrderedSet;
use std::fmt;
use std::str::FromStr;

/// A device, by its hardware address.
pub type Device = [u8; 6];

/// What an ASKS is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Inquiry {
    /// Guests, refusals, and whether all is well.
    Overview,
    /// End this guest's session. The answer is a [`Message::SaysOutcome`](crate::Message::SaysOutcome).
    EndGuest(GuestId),
    /// Serve these devices no longer, and all others again. The answer is a
    /// [`Message::SaysOutcome`](crate::Message::SaysOutcome).
    BlockDevices(BlockedDevices),
}

impl Inquiry {
    pub(super) fn parse(frame: &Frame<'_>) -> Result<Self, MessageError> {
        match frame.text("What")? {
            "overview" => Ok(Self::Overview),
            "end-guest" => Ok(Self::EndGuest(frame.value("Guest")?)),
            "block-devices" => BlockedDevices::parse(frame.body()).map(Self::BlockDevices),
            _ => Err(MessageError::Header { name: "What", why: "no such question".to_owned() }),
        }
    }

    pub(super) fn write(&self, out: &mut Writer) {
        match self {
            Self::Overview => out.header("What", "overview"),
            Self::EndGuest(guest) => {
                out.header("What", "end-guest");
                out.header("Guest", guest);
            }
            Self::BlockDevices(devices) => {
                out.header("What", "block-devices");
                out.body = devices.emit();
            }
        }
    }
}

/// The name that an access point's overview gives to a guest's session, for as long as that lasts: 16 hexadecimal digits, chosen by
/// chance, because whoever may only look is not to learn an address from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct GuestId(pub u64);

impl fmt::Display for GuestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

impl FromStr for GuestId {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let id = u64::from_str_radix(text, 16).ok().map(Self);
        id.filter(|id| id.to_string() == text).ok_or_else(|| "not 16 small hexadecimal digits".to_owned())
    }
}

/// The devices that a household does not serve: at most [`Self::MAX`], each once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BlockedDevices(OrderedSet<Device>);

impl BlockedDevices {
    /// How many there may be. In a message each has six bytes.
    pub const MAX: usize = 256;

    /// A list of these devices; nothing if there are more than [`Self::MAX`].
    pub fn new(devices: impl IntoIterator<Item = Device>) -> Option<Self> {
        let mut list = OrderedSet::new();
        for device in devices {
            list.insert(device);
            if list.len() > Self::MAX {
                return None;
            }
        }
        Some(Self(list))
    }

    /// The devices, in the order of their addresses.
    pub fn iter(&self) -> impl Iterator<Item = Device> + '_ {
        self.0.iter().copied()
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Six bytes for each, in the order of their addresses.
    fn emit(&self) -> Vec<u8> {
        self.iter().flatten().collect()
    }

    /// There is one way to write a list.
    fn parse(body: &[u8]) -> Result<Self, MessageError> {
        let (devices, rest) = body.as_chunks::<6>();
        if devices.len() > Self::MAX {
            let max = Self::MAX * 6;
            return Err(MessageError::TooLong { part: "list of devices", got: body.len(), max });
        }
        let is_ascending = devices.windows(2).all(|pair| pair[0] < pair[1]);
        if !rest.is_empty() || !is_ascending {
            return Err(MessageError::Devices { got: body.len() });
        }
        Ok(Self(devices.iter().copied().collect()))
    }
}

/// What became of an ASKS that changes something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It is done, and so many sessions and trials end by it.
    Done { ended: u32 },
    /// It is not, or not for long. One sentence for a person.
    Failed { reason: String },
}

impl Outcome {
    pub(super) fn parse(frame: &Frame<'_>) -> Result<Self, MessageError> {
        match frame.text("Outcome")? {
            "done" => Ok(Self::Done { ended: frame.value("Ended")? }),
            "failed" => Ok(Self::Failed { reason: frame.text("Reason")?.to_owned() }),
            _ => Err(MessageError::Header { name: "Outcome", why: "neither done nor failed".to_owned() }),
        }
    }

    pub(super) fn write(&self, out: &mut Writer) {
        match self {
            Self::Done { ended } => {
                out.header("Outcome", "done");
                out.header("Ended", ended);
            }
            Self::Failed { reason } => {
                out.header("Outcome", "failed");
                out.header("Reason", printable(reason));
            }
        }
    }
}
