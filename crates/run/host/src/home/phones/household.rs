//! The household's own phones: with TLS if it is built in (feature `phones`), else there are none.

use guestright_identity::KeyId;
use std::net::SocketAddr;
use std::path::PathBuf;
use zeroize::Zeroizing;

/// Phones of the household.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// What people call the household: it stands on their phones. Otherwise the beginning of the team's id.
    pub name: Option<String>,
    /// Where the page is served while somebody is to see it; otherwise at this computer's address in the household's network.
    pub page: Option<SocketAddr>,
    /// How long a link of the page works.
    pub page_seconds: u64,
    /// The household's own Wi-Fi networks, in which a phone makes no tunnel.
    pub wifi_at_home: Vec<String>,
    /// Whether a phone tunnels home from other Wi-Fi too.
    pub tunnel_elsewhere: bool,
}

/// What of the rest of the home a phone's files name.
#[derive(Clone, Debug)]
#[cfg_attr(not(feature = "phones"), expect(dead_code, reason = "nothing is made where no phones join"))]
pub(in super::super) struct Surroundings {
    pub(in super::super) settings: Settings,
    /// The home's state directory.
    pub(in super::super) state: PathBuf,
    /// Where tunnels come in, if that is an address.
    pub(in super::super) endpoint: Option<SocketAddr>,
    /// Whether IKEv2 clients are let in.
    pub(in super::super) ike: bool,
}

/// A phone that is to be made, or to be given a new certificate.
#[derive(Clone, Debug)]
#[cfg_attr(not(feature = "phones"), expect(dead_code, reason = "nothing is made where no phones join"))]
pub(in super::super) struct Request {
    /// The member, as the household calls it.
    pub(in super::super) member: String,
    /// The member's key in the team.
    pub(in super::super) key: KeyId,
    pub(in super::super) ike: Option<IkeAccess>,
    /// What the WireGuard app reads, if it is to be on the page.
    pub(in super::super) wireguard: Option<Zeroizing<String>>,
    /// Whether it is to be fetched from the home's page; otherwise its files are the answer.
    pub(in super::super) page: bool,
    /// Whether its earlier certificates count no longer.
    pub(in super::super) anew: bool,
}

/// The member's place at the gateway for IKEv2.
#[derive(Clone, Debug)]
#[cfg_attr(not(feature = "phones"), expect(dead_code, reason = "nothing is made where no phones join"))]
pub(in super::super) struct IkeAccess {
    pub(in super::super) gateway: String,
    pub(in super::super) gateway_identity: String,
    pub(in super::super) secret: Zeroizing<String>,
}

#[cfg(feature = "phones")]
pub(in super::super) use super::kept::Household;

#[cfg(not(feature = "phones"))]
pub(in super::super) use without_tls::Household;

#[cfg(not(feature = "phones"))]
mod without_tls {
    use super::{Request, Surroundings};
    use crate::home::overview::Phone;
    use guestright_error::RunError;
    use guestright_identity::RevocationList;
    use guestright_radius::relay::{Answer, Question};
    use guestright_units::{TeamId, Time, UnixSeconds};
    use rand::rngs::StdRng;
    use serde_json::Value;

    /// There is none.
    #[derive(Debug)]
    pub(in super::super::super) enum Household {}

    impl Household {
        pub(in super::super::super) fn open(
            _: Surroundings,
            _: TeamId,
            _: &mut StdRng,
            _: Time,
        ) -> Result<Option<Self>, RunError> {
            Ok(None)
        }

        pub(in super::super) fn answer(
            &mut self,
            _: TeamId,
            _: &Question,
            _: &mut StdRng,
            _: Time,
        ) -> Option<Answer> {
            match *self {}
        }

        pub(in super::super) fn poll_timeout(&self) -> Option<Time> {
            match *self {}
        }

        pub(in super::super) fn handle_timeout(&mut self, _: &mut StdRng, _: Time) {
            match *self {}
        }

        pub(in super::super) fn status(&self, _: Time) -> Value {
            match *self {}
        }

        pub(in super::super) fn phones(&self, _: UnixSeconds) -> Vec<Phone> {
            match *self {}
        }

        pub(in super::super::super) fn add(
            &mut self,
            _: Request,
            _: &mut StdRng,
            _: Time,
        ) -> Result<Value, RunError> {
            match *self {}
        }

        pub(in super::super::super) fn revoke(&mut self, _: &str, _: Time) -> Result<Value, RunError> {
            match *self {}
        }

        pub(in super::super::super) fn handle_revocations(&mut self, _: &RevocationList, _: Time) {
            match *self {}
        }
    }
}
