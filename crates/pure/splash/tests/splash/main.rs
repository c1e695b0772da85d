//! The machine as its peers see it: bytes in, bytes out.

mod browser;
mod hostile;
mod pages;
mod peers;
mod routes;
mod states;
