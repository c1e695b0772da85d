//! Putting parts of messages together, with limits for those that never become whole.

use super::{Concatenation, Header, PORT, SmsError};
use guestright_ordered::OrderedMap;
use guestright_units::{Micros, Time};

/// What a [`Reassembly`] holds at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReassemblyLimits {
    /// Messages of which parts are missing.
    pub messages_max: usize,
    /// Such messages of one sender.
    pub per_sender_max: usize,
    /// Parts of a message.
    pub parts_max: u8,
    /// How long to wait for the missing parts.
    pub hold: Micros,
}

/// Messages of which parts are missing.
#[derive(Clone, Debug)]
pub struct Reassembly {
    limits: ReassemblyLimits,
    messages: OrderedMap<(String, u16), Partial>,
}

#[derive(Clone, Debug)]
struct Partial {
    total: u8,
    parts: OrderedMap<u8, Vec<u8>>,
    until: Time,
}

impl Default for ReassemblyLimits {
    /// 64 messages, four of one sender, six parts each, for ten minutes.
    fn default() -> Self {
        Self { messages_max: 64, per_sender_max: 4, parts_max: 6, hold: Micros::from_seconds(600) }
    }
}

impl Reassembly {
    /// Nothing yet.
    pub fn new(limits: ReassemblyLimits) -> Self {
        Self { limits, messages: OrderedMap::new() }
    }

    /// Takes the user data of a short message in, which begins with a header; gives the whole message when this was
    /// its last missing part. `sender` is who has sent it, in any form that stays the same.
    ///
    /// A part that comes twice changes nothing. Where a sender has too many messages, its oldest one goes.
    ///
    /// # Errors
    /// [`SmsError::NotOurs`] if it is for no port or another one than [`PORT`], else what is wrong with it.
    pub fn push(&mut self, sender: &str, user_data: &[u8], now: Time) -> Result<Option<Vec<u8>>, SmsError> {
        let (header, content) = Header::parse(user_data)?;
        if header.ports.is_none_or(|ports| ports.destination != PORT) {
            return Err(SmsError::NotOurs);
        }
        let Some(Concatenation { reference, total, sequence }) = header.concatenation else {
            return Ok(Some(content.to_vec()));
        };
        if total > self.limits.parts_max {
            return Err(SmsError::Field("number of parts"));
        }
        self.expire(now);
        let key = (sender.to_owned(), reference);
        if !self.messages.contains_key(&key) {
            self.make_room(sender)?;
            let until = now + self.limits.hold;
            self.messages.insert(key.clone(), Partial { total, parts: OrderedMap::new(), until });
        }
        let Some(message) = self.messages.get_mut(&key) else { return Err(SmsError::Full) };
        let known = message.parts.get(&sequence);
        if message.total != total || known.is_some_and(|known| known != content) {
            // Another message with the same number has begun: the old one will not become whole any more.
            let parts = OrderedMap::from([(sequence, content.to_vec())]);
            *message = Partial { total, parts, until: now + self.limits.hold };
            return if total == 1 { Ok(Some(content.to_vec())) } else { Err(SmsError::Contradiction) };
        }
        message.parts.insert(sequence, content.to_vec());
        if message.parts.len() < usize::from(total) {
            return Ok(None);
        }
        let whole = self.messages.remove(&key).map(|message| message.parts.into_values().flatten().collect());
        Ok(whole)
    }

    fn make_room(&mut self, sender: &str) -> Result<(), SmsError> {
        let of_sender = || self.messages.iter().filter(|((from, _), _)| from == sender);
        if of_sender().count() >= self.limits.per_sender_max {
            let oldest = of_sender().min_by_key(|(_, message)| message.until).map(|(key, _)| key.clone());
            oldest.map(|key| self.messages.remove(&key));
        }
        if self.messages.len() >= self.limits.messages_max { Err(SmsError::Full) } else { Ok(()) }
    }

    /// Drops what has waited too long.
    pub fn expire(&mut self, now: Time) {
        self.messages.retain(|_, message| message.until > now);
    }

    /// How many messages wait for parts.
    pub fn len(&self) -> usize {
        self.messages.len()
    }

    /// Whether none does.
    pub fn is_empty(&self) -> bool {
        self.messages.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::super::split;
    use super::*;
    use proptest::prelude::*;

    const NOW: Time = Time(1_000_000);

    fn fresh() -> Reassembly {
        Reassembly::new(ReassemblyLimits {
            messages_max: 3,
            per_sender_max: 2,
            ..ReassemblyLimits::default()
        })
    }

    #[test]
    fn parts_come_in_any_order_and_twice() {
        let message: Vec<u8> = (0..=255).cycle().take(400).collect();
        let parts = split(&message, 9).unwrap();
        let mut reassembly = fresh();
        for index in [3, 0, 3, 1, 0] {
            assert_eq!(reassembly.push("a", &parts[index], NOW), Ok(None));
        }
        assert_eq!(reassembly.push("b", &parts[2], NOW), Ok(None), "another sender's part is no part of it");
        assert_eq!(reassembly.push("a", &parts[2], NOW), Ok(Some(message)));
        assert_eq!(reassembly.len(), 1);
        reassembly.expire(NOW + Micros::from_seconds(600));
        assert!(reassembly.is_empty());
    }

    #[test]
    fn a_reused_reference_begins_anew() {
        let [old, new] = [7, 8].map(|byte| split(&[byte; 200], 1).unwrap());
        let mut reassembly = fresh();
        assert_eq!(reassembly.push("a", &old[0], NOW), Ok(None));
        assert_eq!(reassembly.push("a", &new[0], NOW), Err(SmsError::Contradiction));
        assert_eq!(reassembly.push("a", &new[1], NOW), Ok(Some(vec![8; 200])));
    }

    #[test]
    fn limits_hold() {
        let mut reassembly = fresh();
        let first = |reference| split(&[1; 200], reference).unwrap()[0].clone();
        for (sender, reference) in [("a", 1), ("a", 2), ("b", 1)] {
            assert_eq!(reassembly.push(sender, &first(reference), NOW), Ok(None));
        }
        assert_eq!(reassembly.push("c", &first(1), NOW), Err(SmsError::Full));
        assert_eq!(reassembly.push("a", &first(3), NOW), Ok(None), "its own oldest goes");
        assert_eq!(reassembly.len(), 3);
        let many = [5, 0, 3, 1, 200, 1, 5, 4, 0x3f, 0x93, 0, 0];
        let many = [&[11], &many[1..]].concat();
        assert_eq!(reassembly.push("a", &many, NOW), Err(SmsError::Field("number of parts")));
        assert_eq!(reassembly.push("a", &[0], NOW), Err(SmsError::NotOurs));
        assert_eq!(reassembly.push("a", &[6, 5, 4, 0, 80, 0, 80], NOW), Err(SmsError::NotOurs));
    }

    proptest! {
        #[test]
        fn whatever_is_split_is_put_together(message in prop::collection::vec(any::<u8>(), 0..768), reference: u8,
            order in Just((0..6_usize).collect::<Vec<_>>()).prop_shuffle()) {
            let parts = split(&message, reference).unwrap();
            prop_assert!(parts.iter().all(|part| part.len() <= super::super::USER_DATA_MAX));
            let mut reassembly = fresh();
            let ends: Vec<_> = order.into_iter().filter_map(|index| parts.get(index))
                .map(|part| reassembly.push("a", part, NOW).unwrap()).collect();
            let (last, before) = ends.split_last().unwrap();
            prop_assert!(before.iter().all(Option::is_none));
            prop_assert_eq!(last, &Some(message));
            prop_assert!(reassembly.is_empty());
        }
    }
}
