//! Tables of `home.toml` and `ap.toml` that only programs with a feature read: whoever writes one for a program without it is told so, with
//! its line. `cargo xtask router` looks whether it is.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};

/// `[voice]`, where there are no calls.
#[cfg(not(feature = "exchange"))]
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) enum VoiceSettings {}

#[cfg(not(feature = "exchange"))]
impl<'de> Deserialize<'de> for VoiceSettings {
    fn deserialize<D: Deserializer<'de>>(_: D) -> Result<Self, D::Error> {
        Err(D::Error::custom(
            "this program was built without calls; leave [voice] out, or take a build with the feature exchange",
        ))
    }
}

#[cfg(not(feature = "exchange"))]
impl VoiceSettings {
    pub(super) fn listen(&self) -> Option<super::SocketAddr> {
        match *self {}
    }

    pub(super) fn forget_listen(&mut self) {
        match *self {}
    }

    pub(super) fn for_loop(&self, _: &super::Path) -> Result<guestright_exchange::Settings, super::Failure> {
        match *self {}
    }
}

/// `[dynamic_dns]`, where nothing asks the DNS.
#[cfg(not(feature = "dns"))]
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) enum DynamicDnsSettings {}

#[cfg(not(feature = "dns"))]
impl<'de> Deserialize<'de> for DynamicDnsSettings {
    fn deserialize<D: Deserializer<'de>>(_: D) -> Result<Self, D::Error> {
        Err(D::Error::custom(
            "this needs a program that was built with the feature dns; leave [dynamic_dns] out",
        ))
    }
}

#[cfg(not(feature = "dns"))]
impl DynamicDnsSettings {
    pub(super) fn for_loop(
        &self,
        _: &super::Path,
    ) -> Result<guestright_host::home::own_name::Settings, super::Failure> {
        match *self {}
    }
}

/// `[web]`, where there is no page.
#[cfg(not(feature = "page"))]
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) enum WebSettings {}

#[cfg(not(feature = "page"))]
impl<'de> Deserialize<'de> for WebSettings {
    fn deserialize<D: Deserializer<'de>>(_: D) -> Result<Self, D::Error> {
        Err(D::Error::custom(
            "this program was built without the household's page; leave [web] out, or take a build with the feature page",
        ))
    }
}

/// `[metrics]`, where there are none.
#[cfg(not(feature = "metrics"))]
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) enum MetricsSettings {}

#[cfg(not(feature = "metrics"))]
impl<'de> Deserialize<'de> for MetricsSettings {
    fn deserialize<D: Deserializer<'de>>(_: D) -> Result<Self, D::Error> {
        Err(D::Error::custom(
            "this program was built without metrics; leave [metrics] out, or take a build with the feature metrics",
        ))
    }
}
