//! Paper A's Figure 3 with two kernels' TCP: the testbed `tcp` on real sockets.
//!
//! Cables, switches and the router's processor are the simulator's, in real time ([`guestright_world::tcp::Wires`]). On
//! them are packets of kernels. What goes through a tunnel is really sealed and opened, and receipts are really
//! verified; the processor's time for both is the router's, since this computer's would be a hundredth of it.

mod network;
mod request;
mod run;
mod tunnel;

pub(super) use request::Request;
pub(super) use run::run;
