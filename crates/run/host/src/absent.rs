//! Parts that this program is built without, and settings for them.

use crate::access_point::retention::Keep;
use guestright_error::RunError;
use serde::de::{Deserialize, Deserializer, Error as _};
use serde::ser::{Serialize, Serializer};
use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;
use std::net::SocketAddr;

/// Whatever has one of these cannot be made, and so the compiler leaves out all that would serve it. It stands in the types of a
/// part where the part's feature is off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Absent {}

/// What a table of a settings file would set, and what is said to whoever writes one.
pub trait Part {
    const REFUSAL: &'static str;
}

/// A table for a part that is not there: reading one is refused with its line, and so there is never a value.
pub struct Table<P>(Absent, PhantomData<P>);

impl<P> Clone for Table<P> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<P> Copy for Table<P> {}

impl<P> fmt::Debug for Table<P> {
    fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {}
    }
}

impl<P> Serialize for Table<P> {
    fn serialize<S: Serializer>(&self, _: S) -> Result<S::Ok, S::Error> {
        match self.0 {}
    }
}

impl<'de, P: Part> Deserialize<'de> for Table<P> {
    fn deserialize<D: Deserializer<'de>>(_: D) -> Result<Self, D::Error> {
        Err(D::Error::custom(P::REFUSAL))
    }
}

#[expect(clippy::missing_errors_doc, reason = "there is no value to call them with")]
impl<P> Table<P> {
    /// What a loop is told, by whatever the part itself would ask for.
    pub fn for_loop<T>(&self, _: impl Sized) -> Result<T, RunError> {
        match self.0 {}
    }

    pub fn listen(&self) -> Option<SocketAddr> {
        match self.0 {}
    }

    pub fn forget_listen(&mut self) {
        match self.0 {}
    }
}

/// `[voice]`.
pub type VoiceSettings = Table<Voice>;

#[derive(Clone, Copy, Debug)]
pub enum Voice {}

impl Part for Voice {
    const REFUSAL: &'static str =
        "this program was built without calls; leave [voice] out, or take a build with the feature exchange";
}

/// `[dynamic_dns]`.
pub type DynamicDnsSettings = Table<DynamicDns>;

#[derive(Clone, Copy, Debug)]
pub enum DynamicDns {}

impl Part for DynamicDns {
    const REFUSAL: &'static str =
        "this needs a program that was built with the feature dns; leave [dynamic_dns] out";
}

/// `[web]`.
pub type WebSettings = Table<Web>;

#[derive(Clone, Copy, Debug)]
pub enum Web {}

impl Part for Web {
    const REFUSAL: &'static str = "this program was built without the household's page; leave [web] out, or take a build with the feature page";
}

/// `[metrics]`.
pub type MetricsSettings = Table<Metrics>;

#[derive(Clone, Copy, Debug)]
pub enum Metrics {}

impl Part for Metrics {
    const REFUSAL: &'static str = "this program was built without metrics; leave [metrics] out, or take a build with the feature metrics";
}

/// `[phones]` of an access point.
pub type ApPhonesSettings = Table<Phones>;

#[derive(Clone, Copy, Debug)]
pub enum Phones {}

impl Part for Phones {
    const REFUSAL: &'static str = "this program was built without phones that join by 802.1X; leave [phones] out, or take a build with the feature hostapd";
}

/// `[splash]`.
pub type SplashSettings = Table<Splash>;

#[derive(Clone, Copy, Debug)]
pub enum Splash {}

impl Part for Splash {
    const REFUSAL: &'static str = "this program was built without the page for guests; leave [splash] out, or take a build with the feature splash";
}

/// `[radio]`.
pub type RadioSettings = Table<Radio>;

#[derive(Clone, Copy, Debug)]
pub enum Radio {}

impl Part for Radio {
    const REFUSAL: &'static str = "this program was built without the meter of calls; leave [radio] out, or take a build with the feature radio";
}

/// `[gateway.ikev2]`.
pub type Ikev2Settings = Table<Ikev2>;

#[derive(Clone, Copy, Debug)]
pub enum Ikev2 {}

impl Part for Ikev2 {
    const REFUSAL: &'static str = "this program was built without IKEv2; leave [gateway.ikev2] out, or take a build with the feature ikev2";
}

/// `[gateway.l2tp]`.
pub type L2tpSettings = Table<L2tp>;

#[derive(Clone, Copy, Debug)]
pub enum L2tp {}

impl Part for L2tp {
    const REFUSAL: &'static str = "this program was built without L2TP; leave [gateway.l2tp] out, or take a build with the feature ikev2";
}

/// `[retention]`, which may say that nothing is kept.
#[derive(Clone, Copy, Debug, Default)]
pub struct RetentionSettings;

impl Serialize for RetentionSettings {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        BTreeMap::from([("addresses", "off")]).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for RetentionSettings {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let written = BTreeMap::<String, String>::deserialize(deserializer)?;
        if written.iter().all(|(name, value)| name == "addresses" && value == "off") {
            return Ok(Self);
        }
        Err(D::Error::custom(
            "this program was built without records of addresses; write addresses = \"off\", or take a build with the feature retention",
        ))
    }
}

impl RetentionSettings {
    /// # Errors
    /// None.
    pub fn for_loop(self) -> Result<Option<Keep>, RunError> {
        Ok(None)
    }
}

/// `port_mapping`, where nobody asks a router.
///
/// # Errors
/// It is wanted.
pub fn no_port_mapping<'de, D: Deserializer<'de>>(deserializer: D) -> Result<bool, D::Error> {
    if bool::deserialize(deserializer)? {
        return Err(D::Error::custom(
            "this program was built without port mapping; leave port_mapping out, or take a build with the feature port-mapping",
        ));
    }
    Ok(false)
}
