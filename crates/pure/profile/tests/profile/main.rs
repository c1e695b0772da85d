//! Files for phones, as others read them.

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
