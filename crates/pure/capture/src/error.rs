use thiserror::Error;

/// Why a file of packets cannot be read, or not any further.
///
/// Every variant says where (bytes from the start of the file) and what to do.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum CaptureError {
    /// The file is no capture that we know.
    #[error(
        "this is no pcap or pcapng file: it begins with {got:02x?}; convert it with `editcap -F pcapng IN OUT`"
    )]
    Format {
        /// The first bytes.
        got: [u8; 4],
    },
    /// The file is compressed.
    #[error("the file is compressed with {with}; unpack it first with `{command}`")]
    Compressed {
        /// The name of the compression.
        with: &'static str,
        /// What unpacks it.
        command: &'static str,
    },
    /// The file ends within a packet or block.
    #[error(
        "the file ends within the packet or block at byte {offset}: {got} of {want} bytes are there; \
         what came before is good, the program that wrote it was probably stopped"
    )]
    CutOff {
        /// Where the packet or block begins.
        offset: u64,
        /// How much of it is there.
        got: u64,
        /// How much there should be.
        want: u64,
    },
    /// A packet or block is larger than anybody makes them.
    #[error(
        "the packet or block at byte {offset} says it has {got} bytes; more than {max} are not believed; \
         the file is damaged there, `editcap` can cut out the part before it"
    )]
    TooLong {
        /// Where it begins.
        offset: u64,
        /// The length it claims.
        got: u64,
        /// The most that is taken.
        max: u64,
    },
    /// A block of a pcapng file is not as the format wants it.
    #[error("the block at byte {offset} is damaged: {what}; `editcap` can cut out the part before it")]
    Block {
        /// Where it begins.
        offset: u64,
        /// What is wrong with it.
        what: &'static str,
    },
    /// A packet is from an interface that the file has not described.
    #[error(
        "the packet at byte {offset} is from interface {got}, but the file has described only {known} by then"
    )]
    Interface {
        /// Where the packet's block begins.
        offset: u64,
        got: u32,
        /// How many there are.
        known: u32,
    },
    /// A version that is not known.
    #[error(
        "the file says version {major}.{minor} at byte {offset}; convert it with `editcap -F pcapng IN OUT`"
    )]
    Version {
        /// Where it says so.
        offset: u64,
        /// The major version.
        major: u16,
        /// The minor version.
        minor: u16,
    },
}

impl CaptureError {
    /// Whether everything before this place was read and is good.
    pub fn is_cut_off(&self) -> bool {
        matches!(self, Self::CutOff { .. })
    }
}
