//! Whose tunnel ends where, and what was counted there: of those who know it, each is asked in its own time.

use super::ipsec::{Looks, Tunnels};
use super::meter::Readings;
use super::{Answer, Lookup, Question};
use guestright_identity::KeyId;
use guestright_receipt::Bundle;
use guestright_roaming::delegate::{Mandate, Reading};
use guestright_units::Bytes;
use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddrV4};
use tokio::sync::{mpsc, oneshot};

/// Whose tunnel ends at an address.
pub(super) enum Found {
    Nobody,
    Member {
        mandate: Box<Mandate>,
        bundle: Bundle,
        reading: Reading,
        /// By what name charon knows it, if the tunnel is IPsec's.
        named: Option<String>,
    },
}

/// Who can be asked.
#[derive(Clone)]
pub(super) struct Sources {
    pub(super) lookups: mpsc::Sender<Lookup>,
    pub(super) meter: Readings,
    pub(super) ipsec: Option<Looks>,
}

impl Sources {
    /// Asks the home's loop; nothing if that has ended.
    async fn ask(&self, question: Question) -> Option<Answer> {
        let (reply, answer) = oneshot::channel();
        self.lookups.send(Lookup { question, reply }).await.ok()?;
        Some(answer.await.unwrap_or(Answer::Nobody))
    }

    async fn tunnels(&self) -> Tunnels {
        match &self.ipsec {
            Some(looks) => looks.read().await,
            None => None,
        }
    }

    /// Whose tunnel ends there. Nothing: the home's loop has ended.
    pub(super) async fn look_up(&self, at: SocketAddrV4) -> Option<Found> {
        if let Answer::Member(mandate, bundle, authentic) = self.ask(Question::TunnelAt(at)).await? {
            let reading = reading(&self.meter.read().await.ports, *at.ip(), authentic);
            return Some(Found::Member { mandate, bundle, reading, named: None });
        }
        let tunnels = self.tunnels().await;
        let found = tunnels.iter().flat_map(|tunnels| tunnels.iter()).find(|(_, tunnel)| tunnel.at == at);
        let Some((name, tunnel)) = found else { return Some(Found::Nobody) };
        match self.ask(Question::Named(name.clone())).await? {
            Answer::Member(mandate, bundle, _) => {
                let reading = reading(&self.meter.read().await.ipsec, *at.ip(), Some(tunnel.authentic));
                Some(Found::Member { mandate, bundle, reading, named: Some(name.clone()) })
            }
            Answer::Endpoint(..) | Answer::Nobody => Some(Found::Nobody),
        }
    }

    /// Where the tunnel of a member ends, and what the meters say; `named` if it is IPsec's. Nothing: that is not known now.
    pub(super) async fn meter_of(
        &self,
        member: KeyId,
        named: Option<String>,
        ip: Ipv4Addr,
    ) -> Option<(Option<SocketAddrV4>, Reading)> {
        // What was counted first: what is authentic of that is known afterwards.
        let counts = self.meter.read();
        let Some(name) = named else {
            let answer = self.ask(Question::EndpointOf(member)).await?;
            let Answer::Endpoint(endpoint, authentic) = answer else { return None };
            return Some((endpoint, reading(&counts.await.ports, ip, authentic)));
        };
        let counts = counts.await;
        let tunnel = self.tunnels().await?.get(&name).copied();
        let authentic = tunnel.map(|tunnel| tunnel.authentic);
        Some((tunnel.map(|tunnel| tunnel.at), reading(&counts.ipsec, ip, authentic)))
    }
}

/// What was counted at this address, and what is authentic of it.
fn reading(counts: &BTreeMap<SocketAddrV4, u64>, ip: Ipv4Addr, authentic: Option<Bytes>) -> Reading {
    let of = counts.iter().filter(|(peer, _)| *peer.ip() == ip);
    Reading { counted: of.map(|(peer, bytes)| (peer.port(), Bytes(*bytes))).collect(), authentic }
}
