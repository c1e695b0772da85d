//! The subcommands.

pub(crate) mod call;
