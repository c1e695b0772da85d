//! ESP against the RFCs' vectors, against all that can be wrong, and before foreign judges: tshark and Scapy.

mod allocation;
mod judges;
mod overhead;
mod properties;
mod support;
mod vectors;
