//! What a stock phone or computer imports so that it joins participating Wi-Fi by EAP-TLS and tunnels home.
//!
//! In: a [`Phone`], certificates and keys as bytes, and chance as a [`Seed`](guestright_units::Seed). Out: the text or the
//! bytes of a file for each system ([`Download`] names them): [`apple::mobileconfig`], [`android::wifi_config`],
//! [`onc::configuration`], [`supplicant::configuration`], [`network_manager::connection`], [`pkcs12::encode`]. Beside
//! them [`hostapd::AccessPoint`] and [`openwrt::WifiInterface`], the other side of the same air; [`page::render`], the
//! page with the buttons; and [`Links`], which lets each button be pressed once.
//!
//! Invariants: the same phone and seed give the same bytes; what a [`Phone`] may hold is checked once
//! ([`Phone::check`]), and every text that passes is read back from every file as it was, but for what a format cannot
//! hold, which is named there; secrets are wiped when they are dropped and are in no `Debug`. Design note 0014.

#![cfg_attr(not(feature = "files"), allow(dead_code, reason = "hostapd's side needs little of it"))]

#[cfg(feature = "files")]
pub mod android;
#[cfg(feature = "files")]
pub mod apple;
mod der;
#[cfg(feature = "files")]
mod download;
mod error;
pub mod hostapd;
#[cfg(feature = "files")]
mod links;
#[cfg(feature = "files")]
pub mod network_manager;
#[cfg(feature = "files")]
pub mod onc;
pub mod openwrt;
#[cfg(feature = "files")]
pub mod page;
mod phone;
#[cfg(feature = "files")]
pub mod pkcs12;
#[cfg(feature = "files")]
mod plist;
mod secret;
mod ssid;
#[cfg(feature = "files")]
pub mod supplicant;
mod text;
mod uuid;
#[cfg(feature = "files")]
mod xml;

#[cfg(feature = "files")]
pub use download::Download;
pub use error::ProfileError;
#[cfg(feature = "files")]
pub use links::{Links, LinksConfig, LinksError, Token};
pub use phone::{Elsewhere, IKE_PORTS, Ike, IkeAuthentication, OnDemand, Phone, TlsVersions};
pub use secret::{PrivateKey, Secret};
pub use ssid::{SSID, Ssid};
pub use text::ConsortiumId;
pub use uuid::Uuid;
