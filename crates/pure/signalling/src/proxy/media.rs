//! Offers and answers on their way through a call (RFC 3264).

use super::call::Call;
use super::event::{Link, MediaSide, Source};
use super::legs::{Legs, Side};
use crate::peer::Peer;
use crate::sdp::{
    Description, Keys, LocalMedia, Mode, Network, Ports, RemoteMedia, SdpError, Secret, read_media,
    rewrite_description,
};
use guestright_identity::KeyId;
use std::collections::BTreeMap;

/// What a body is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Exchange {
    Offer,
    Answer,
}

/// An offer, and who has made it.
#[derive(Clone, Debug)]
pub(super) struct Offer {
    pub(super) from: Side,
    remote: RemoteMedia,
}

/// What is agreed on about a call's media.
#[derive(Debug, Default)]
pub(super) struct Media {
    pub(super) ports: Option<Legs<Ports>>,
    pub(super) mode: Option<Mode>,
    index: Option<usize>,
    /// The last offer.
    offer: Option<Offer>,
    /// Whether the last offer was answered.
    answered: bool,
    /// What both have agreed on last.
    agreed: Legs<Option<RemoteMedia>>,
    /// Our keys on each side.
    ours: Legs<Option<Secret>>,
}

impl Media {
    /// Who waits for an answer to an offer.
    pub(super) fn unanswered(&self) -> Option<Side> {
        self.offer.as_ref().filter(|_| !self.answered).map(|offer| offer.from)
    }
}

impl Call {
    /// Takes in a description from `side` and writes it for the other one. `fresh` becomes our key if one is wanted.
    pub(super) fn exchange(
        &mut self,
        side: Side,
        kind: Exchange,
        description: &Description,
        fresh: &Secret,
    ) -> Result<Vec<u8>, SdpError> {
        let index = if kind == Exchange::Answer { self.media.index } else { None };
        let remote = read_media(description, self.legs[side].network(), index)?;
        if let Some(was) = self.media.mode.filter(|was| *was != remote.mode) {
            return Err(SdpError::OtherProtection { was, now: remote.mode });
        }
        // A key for the side that this goes to, and for this one, whose answer will need one.
        for side in [side.other(), side] {
            let wants_key = remote.mode == Mode::Homes && self.legs[side].network() == Network::Between;
            if wants_key && self.media.ours[side].is_none() {
                self.media.ours[side] = Some(fresh.clone());
            }
        }
        (self.media.mode, self.media.index) = (Some(remote.mode), Some(remote.index));
        let rewritten = self.rewrite(side.other(), kind, description, &remote).ok_or(SdpError::NoAudio)?;
        match kind {
            Exchange::Offer => {
                (self.media.offer, self.media.answered) = (Some(Offer { from: side, remote }), false);
            }
            Exchange::Answer => self.agree(side, remote),
        }
        Ok(rewritten)
    }

    /// An answer has come from `side`: what it and the offer say holds from now on.
    fn agree(&mut self, side: Side, remote: RemoteMedia) {
        if let Some(offer) = self.media.offer.clone().filter(|offer| offer.from != side) {
            self.media.agreed[offer.from] = Some(offer.remote);
        }
        self.media.agreed[side] = Some(remote);
        self.media.answered = true;
    }

    /// What both sides have agreed on, for the relay; `None` until they have.
    pub(super) fn media_sides(&self, links: &BTreeMap<KeyId, Link>) -> Option<Legs<MediaSide>> {
        let side = |side: Side| {
            let (leg, remote) = (&self.legs[side], self.media.agreed[side].as_ref()?);
            let source = match (leg.network(), leg.route.peer) {
                (Network::Tunnel, Peer::Udp(address) | Peer::Tcp(address)) => Source::Tunnel(address.ip()),
                (_, Peer::Home(home)) => Source::Between(links.get(&home)?.address),
                (Network::Between, _) => return None,
            };
            Some(MediaSide {
                source,
                ports: remote.ports,
                mux: remote.mux,
                is_opaque: remote.mode == Mode::EndToEnd,
                keys: self.keys(side, remote),
                clock_hz: remote.clock_hz,
            })
        };
        Legs { caller: side(Side::Caller), callee: side(Side::Callee) }.transpose()
    }

    /// The keys of one side, if it is one between homes that protect.
    fn keys(&self, side: Side, remote: &RemoteMedia) -> Option<Keys> {
        Some(Keys { ours: self.media.ours[side].clone()?, theirs: remote.key.clone()? })
    }

    /// The description in the home's own name, for `side`.
    fn rewrite(
        &self,
        side: Side,
        kind: Exchange,
        description: &Description,
        remote: &RemoteMedia,
    ) -> Option<Vec<u8>> {
        let network = self.legs[side].network();
        // An answer says yes to what was offered on its own side; an offer offers what the other side has.
        let mux = match (kind, &self.media.offer) {
            (Exchange::Answer, Some(offer)) if offer.from == side => offer.remote.mux,
            (Exchange::Answer | Exchange::Offer, _) => remote.mux,
        };
        let open = description.media.get(remote.index).is_some_and(|stream| stream.port != 0);
        let local = LocalMedia {
            network,
            ports: self.media.ports?[side],
            mux: mux || network == Network::Between,
            mode: remote.mode,
            key: self.media.ours[side].clone(),
            index: remote.index,
            is_answer: kind == Exchange::Answer,
            open,
            direction: remote.direction,
        };
        Some(rewrite_description(description, &local))
    }
}
