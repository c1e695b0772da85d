//! Offers and answers on their way through a call (RFC 3264).

use super::call::Call;
use super::config::Source;
use super::{CallId, Event, MediaSide, Proxy};
use crate::sdp::{Description, Heard, Local, Mode, Network, SdpError, Secret, hear, say};
use rand::Rng;

/// What a body is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Exchange {
    Offer,
    Answer,
}

impl Proxy {
    /// Takes in a description from `leg` and writes it for the other one.
    pub(super) fn exchange(
        &mut self,
        id: CallId,
        leg: usize,
        kind: Exchange,
        body: &[u8],
    ) -> Result<Vec<u8>, SdpError> {
        let description = Description::parse(body)?;
        let mut fresh = [0; 28];
        self.rng.fill_bytes(&mut fresh);
        let Some(call) = self.calls.get_mut(&id) else { return Err(SdpError::NoAudio) };
        let index = if kind == Exchange::Answer { call.media.index } else { None };
        let heard = hear(&description, call.network(leg), index)?;
        if let Some(was) = call.media.mode.filter(|was| *was != heard.mode) {
            return Err(SdpError::OtherProtection { was, now: heard.mode });
        }
        let far = 1 - leg;
        if heard.mode == Mode::Homes
            && call.network(far) == Network::Between
            && call.media.ours[far].is_none()
        {
            call.media.ours[far] = Some(Secret(fresh));
        }
        if heard.mode == Mode::Homes
            && call.network(leg) == Network::Between
            && call.media.ours[leg].is_none()
        {
            // The answer will need one.
            call.media.ours[leg] = Some(Secret(fresh));
        }
        zeroize::Zeroize::zeroize(&mut fresh);
        (call.media.mode, call.media.index) = (Some(heard.mode), Some(heard.index));
        let said = speak(call, far, kind, &description, &heard).ok_or(SdpError::NoAudio)?;
        match kind {
            Exchange::Offer => (call.media.offer, call.media.answered) = (Some((leg, heard)), false),
            Exchange::Answer => self.agree(id, leg, heard),
        }
        Ok(said)
    }

    /// An answer has come from `leg`: what it and the offer say holds from now on.
    fn agree(&mut self, id: CallId, leg: usize, heard: Heard) {
        let Some(call) = self.calls.get_mut(&id) else { return };
        if let Some((from, offer)) = call.media.offer.clone().filter(|(from, _)| *from != leg) {
            call.media.agreed[from] = Some(offer);
        }
        call.media.agreed[leg] = Some(heard);
        call.media.answered = true;
        let [Some(one), Some(other)] = &call.media.agreed else { return };
        let side = |leg: usize, heard: &Heard| {
            let source = match (call.network(leg), call.legs[leg].peer) {
                (Network::Tunnel, super::Peer::Udp(address) | super::Peer::Tcp(address)) => {
                    Source::Tunnel(address.ip())
                }
                (_, super::Peer::Home(home)) => Source::Between(self.links.get(&home)?.address),
                (Network::Between, _) => return None,
            };
            Some(MediaSide {
                source,
                ports: heard.ports,
                mux: heard.mux,
                is_opaque: heard.mode == Mode::EndToEnd,
                keys: call.keys(leg, heard),
                clock_hz: heard.clock_hz,
            })
        };
        if let (Some(one), Some(other)) = (side(0, one), side(1, other)) {
            self.events.push_back(Event::Update { call: id, sides: Box::new([one, other]) });
        }
    }
}

/// What a description says, said by the home on leg `far`.
fn speak(
    call: &Call,
    far: usize,
    kind: Exchange,
    description: &Description,
    heard: &Heard,
) -> Option<Vec<u8>> {
    let network = call.network(far);
    // An answer says yes to what was offered on its own side; an offer offers what the other side has.
    let mux = match (kind, &call.media.offer) {
        (Exchange::Answer, Some((from, offer))) if *from == far => offer.mux,
        (Exchange::Answer | Exchange::Offer, _) => heard.mux,
    };
    let open = description.streams.get(heard.index).is_some_and(|stream| stream.port != 0);
    let local = Local {
        network,
        ports: call.media.ports?[far],
        mux: mux || network == Network::Between,
        mode: heard.mode,
        key: call.media.ours[far].clone(),
        index: heard.index,
        is_answer: kind == Exchange::Answer,
        open,
        direction: heard.direction,
    };
    Some(say(description, &local))
}

/// What goes to a caller whose description was refused, in Warning (RFC 3261 section 20.43).
pub(super) fn warning(error: &SdpError) -> (&'static str, String) {
    let code = match error {
        SdpError::Malformed(_) => 399,
        SdpError::NoAudio => 304,
        SdpError::Unprotected | SdpError::NoKey | SdpError::OtherProtection { .. } => 302,
    };
    ("Warning", format!("{code} home \"{error}\""))
}
