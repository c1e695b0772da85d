//! What can go wrong between us and the kernel, in words that say what to do.

use std::net::Ipv4Addr;

use guestright_command::CommandError;
use thiserror::Error;

use crate::MacAddress;

/// Why the firewall, or the visitor's meter, could not do what it was told.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum FirewallError {
    /// A setting that cannot be.
    #[error("setting {name} is {got}; expected {want}")]
    Setting {
        /// The field of the settings.
        name: &'static str,
        got: String,
        /// What it may be.
        want: &'static str,
    },
    /// A hardware address that cannot be read, or cannot be a visitor's.
    #[error(
        "{got:?} is no visitor's hardware address; expected six bytes such as 02:00:5e:10:00:01, not a group's"
    )]
    Mac { got: String },
    /// A program that we drive is missing, or failed.
    #[error(transparent)]
    Command(#[from] CommandError),
    /// The kernel did not do what it was asked over netlink.
    #[error("the kernel would not {what}: {reason}")]
    Kernel {
        /// What it was to do.
        what: String,
        /// Its words.
        reason: String,
    },
    /// A program answered in a form that we do not know.
    #[error("`{command}` answered what we cannot read ({reason}); its version may be too old or too new")]
    Answer {
        /// The command line.
        command: String,
        /// What is wrong with the answer.
        reason: String,
    },
    /// A table of our name that we did not make.
    #[error(
        "there is an nftables table `inet {table}` already, and no state file of ours says that we made it; if \
         nothing else uses it, remove it with `nft delete table inet {table}`, or set another table name"
    )]
    TableTaken {
        /// The table's name.
        table: String,
    },
    /// Another process of ours is using this state file.
    #[error("process {pid} is running this firewall ({path}); stop it first")]
    Busy {
        /// Its process id.
        pid: u32,
        /// The state file.
        path: String,
    },
    /// This process wrote the state file, from a thread in another network namespace.
    #[error(
        "this thread is in another network namespace than the one that {path} tells of; call from a thread in the \
         network where the firewall was put up"
    )]
    OtherNetwork {
        /// The state file.
        path: String,
    },
    /// No such interface.
    #[error("there is no interface {name:?} on this computer")]
    NoInterface { name: String },
    /// The access point's address is not on the visitors' interface.
    #[error(
        "{address} is not an address of interface {interface:?}; add it with `ip address add \
         {address}/{prefix} dev {interface}`"
    )]
    NoAddress {
        address: Ipv4Addr,
        /// The prefix length of the visitors' network.
        prefix: u8,
        interface: String,
    },
    /// Packets of running flows would pass by every gate and count.
    #[error(
        "the nftables flowtable {flowtable:?} of table {table} offloads flows on interface {interface}, where they would pass \
         by what guards guests and counts them: turn flow offloading off (OpenWrt: `uci set firewall.@defaults[0].\
         flow_offloading=0`, then `fw4 restart`)"
    )]
    Offloaded {
        flowtable: String,
        /// Its family and name.
        table: String,
        interface: String,
    },
    /// An address that no visitor can have here.
    #[error("{got} cannot be a visitor's address: not in the visitors' network, or reserved in it")]
    NotAVisitor { got: Ipv4Addr },
    /// The address is granted to somebody else.
    #[error("{address} is granted to {holder}; close that visit before granting it to {got}")]
    AddressTaken {
        address: Ipv4Addr,
        holder: MacAddress,
        /// Who wants it.
        got: MacAddress,
    },
    /// No such visitor is granted.
    #[error("{address} is not granted{}", got.map(|mac| format!(" to {mac}")).unwrap_or_default())]
    NotGranted {
        address: Ipv4Addr,
        /// The hardware address, where one was given.
        got: Option<MacAddress>,
    },
    /// As many visitors as the settings allow.
    #[error("{max} visitors are granted already, which is the limit (limits.visitors_max)")]
    Full { max: u16 },
    /// The kernel does not tell us of changes.
    #[error("the kernel does not tell of changes of the network: {reason}")]
    Changes {
        /// The system's words.
        reason: String,
    },
    /// A file of ours, or one the kernel keeps, could not be used.
    #[error("{path}: {reason}")]
    File {
        path: String,
        /// The system's words, and what to do.
        reason: String,
    },
}
