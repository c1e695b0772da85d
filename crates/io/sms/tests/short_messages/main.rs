//! Short messages over a message centre and over two modems, both played by the test.

#![expect(clippy::unwrap_used, reason = "a test")]

mod household;
mod pty;
mod smsc;
mod with_gateway;
mod with_modems;
