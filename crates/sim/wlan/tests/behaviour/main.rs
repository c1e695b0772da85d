//! The radio cell by hand, by properties, and against Bianchi, tshark and ns-3.

mod air;
mod allocation;
mod edca;
mod ns3;
mod promises;
mod reference;
mod saturation;
mod sense;
mod timeline;
mod tshark;
