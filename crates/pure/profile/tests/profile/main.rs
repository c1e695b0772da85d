//! Files for phones, as others read them.

#![expect(clippy::unwrap_used, reason = "tests fail where they are wrong")]

mod android;
mod apple;
mod chromeos;
mod golden;
mod hostapd;
mod hostile;
mod judge;
mod linux;
mod phone;
mod pkcs12;
