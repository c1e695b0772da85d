//! Offers and answers on their way through a call (RFC 3264).

use super::call::Call;
use super::event::{Link, MediaSide, Source};
use super::legs::{Legs, Side};
use crate::peer::Peer;
use crate::sdp::{Description, Heard, Keys, Local, Mode, Network, Ports, SdpError, Secret, hear, say};
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
    heard: Heard,
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
    agreed: Legs<Option<Heard>>,
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
        let heard = hear(description, self.legs[side].network(), index)?;
        if let Some(was) = self.media.mode.filter(|was| *was != heard.mode) {
            return Err(SdpError::OtherProtection { was, now: heard.mode });
        }
        // A key for the side that this goes to, and for this one, whose answer will need one.
        for side in [side.other(), side] {
            let wants_key = heard.mode == Mode::Homes && self.legs[side].network() == Network::Between;
            if wants_key && self.media.ours[side].is_none() {
                self.media.ours[side] = Some(fresh.clone());
            }
        }
        (self.media.mode, self.media.index) = (Some(heard.mode), Some(heard.index));
        let said = self.speak(side.other(), kind, description, &heard).ok_or(SdpError::NoAudio)?;
        match kind {
            Exchange::Offer => {
                (self.media.offer, self.media.answered) = (Some(Offer { from: side, heard }), false);
            }
            Exchange::Answer => self.agree(side, heard),
        }
        Ok(said)
    }

    /// An answer has come from `side`: what it and the offer say holds from now on.
    fn agree(&mut self, side: Side, heard: Heard) {
        if let Some(offer) = self.media.offer.clone().filter(|offer| offer.from != side) {
            self.media.agreed[offer.from] = Some(offer.heard);
        }
        self.media.agreed[side] = Some(heard);
        self.media.answered = true;
    }

    /// What both sides have agreed on, for the relay; `None` until they have.
    pub(super) fn media_sides(&self, links: &BTreeMap<KeyId, Link>) -> Option<Legs<MediaSide>> {
        let side = |side: Side| {
            let (leg, heard) = (&self.legs[side], self.media.agreed[side].as_ref()?);
            let source = match (leg.network(), leg.route.peer) {
                (Network::Tunnel, Peer::Udp(address) | Peer::Tcp(address)) => Source::Tunnel(address.ip()),
                (_, Peer::Home(home)) => Source::Between(links.get(&home)?.address),
                (Network::Between, _) => return None,
            };
            Some(MediaSide {
                source,
                ports: heard.ports,
                mux: heard.mux,
                is_opaque: heard.mode == Mode::EndToEnd,
                keys: self.keys(side, heard),
                clock_hz: heard.clock_hz,
            })
        };
        Legs { caller: side(Side::Caller), callee: side(Side::Callee) }.transpose()
    }

    /// The keys of one side, if it is one between homes that protect.
    fn keys(&self, side: Side, heard: &Heard) -> Option<Keys> {
        Some(Keys { ours: self.media.ours[side].clone()?, theirs: heard.key.clone()? })
    }

    /// What a description says, said by the home to `side`.
    fn speak(&self, side: Side, kind: Exchange, description: &Description, heard: &Heard) -> Option<Vec<u8>> {
        let network = self.legs[side].network();
        // An answer says yes to what was offered on its own side; an offer offers what the other side has.
        let mux = match (kind, &self.media.offer) {
            (Exchange::Answer, Some(offer)) if offer.from == side => offer.heard.mux,
            (Exchange::Answer | Exchange::Offer, _) => heard.mux,
        };
        let open = description.streams.get(heard.index).is_some_and(|stream| stream.port != 0);
        let local = Local {
            network,
            ports: self.media.ports?[side],
            mux: mux || network == Network::Between,
            mode: heard.mode,
            key: self.media.ours[side].clone(),
            index: heard.index,
            is_answer: kind == Exchange::Answer,
            open,
            direction: heard.direction,
        };
        Some(say(description, &local))
    }
}
