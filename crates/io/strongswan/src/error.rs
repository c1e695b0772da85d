//! What can go wrong with a strongSwan of our own, in words that say what to do.

use std::path::PathBuf;

use thiserror::Error;

use crate::MessageError;

/// Why strongSwan could not be started, or did not do what it was told.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum StrongswanError {
    /// A program or a plugin that we need is not on this computer.
    #[error("{what} is not installed; install the package {package} (`apt install {package}`)")]
    Missing {
        /// The program or plugin.
        what: String,
        /// The Debian and Ubuntu package that has it.
        package: &'static str,
    },
    /// The kernel lacks what a way in needs.
    #[error("this kernel cannot serve L2TP: {reason}; IKEv2 needs none of it")]
    Kernel {
        /// What is missing.
        reason: &'static str,
    },
    /// A setting that cannot be.
    #[error("{what} is {got:?}; expected {want}")]
    Setting {
        what: &'static str,
        /// Its value; never a secret.
        got: String,
        /// What it may be.
        want: &'static str,
    },
    /// A program would not start.
    #[error("could not start {program}: {reason}")]
    Start {
        program: String,
        /// The system's words.
        reason: String,
    },
    /// charon ended, or did not open its control socket in time.
    #[error("charon does not work: {reason}{hint}; it said last: {log}")]
    Dead {
        reason: String,
        /// What to do about it, when we know; starts with a semicolon.
        hint: &'static str,
        /// Its last words.
        log: String,
    },
    /// A process that we cannot account for holds our state.
    #[error("process {pid} of an earlier start does not end; end it, then start again")]
    Leftover {
        /// Its process id.
        pid: i32,
    },
    /// The connection to charon's control socket broke.
    #[error("lost charon's control socket: {reason}")]
    Socket {
        /// The system's words.
        reason: String,
    },
    /// charon sent bytes that are no message.
    #[error("charon sent what we cannot read: {0}")]
    Message(#[from] MessageError),
    /// charon answered with something else than what was asked for.
    #[error("charon answered {command} with a packet of type {got}")]
    Answer {
        /// What was asked.
        command: &'static str,
        /// The packet's type.
        got: u8,
    },
    /// charon would not do it.
    #[error("charon refused {command} for {name:?}: {reason}")]
    Refused {
        /// What was asked.
        command: &'static str,
        /// For which connection, secret or pool.
        name: String,
        reason: String,
    },
    /// A file of ours could not be used.
    #[error("{}: {reason}", path.display())]
    File {
        path: PathBuf,
        /// The system's words.
        reason: String,
    },
}
