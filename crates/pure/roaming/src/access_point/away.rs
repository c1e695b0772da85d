use guestright_identity::{Certificate, KeyId};
use guestright_ordered::OrderedMap;
use guestright_reciprocity::ServiceClass;
use guestright_units::{Bytes, Micros, TeamId, Time};

/// How many answers are remembered for members, and for teams; beyond that the oldest is forgotten.
const ANSWERS_MAX: usize = 4_096;
/// Less than this carries nothing: a packet.
const PACKET: Bytes = Bytes(1_500);
/// Nobody is let in for less than this part of a day's.
const BEGIN_SHARE: u64 = 64;
/// An answer says nothing any more about who asks later.
const DAY: Micros = Micros::from_seconds(86_400);

/// Why nobody is let in without the team server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Denied {
    /// By the settings.
    ByRule,
    /// The team server refused when it could last be asked.
    RefusedBefore,
    /// What may be carried without it is used up.
    UsedUp,
}

impl Denied {
    pub(super) fn reason(self) -> &'static str {
        match self {
            Self::ByRule => "this household cannot decide now: its team server does not answer",
            Self::RefusedBefore => "its team server does not answer now, and refused when it last did",
            Self::UsedUp => {
                "its team server does not answer, and what this household gives away meanwhile is used up; it comes \
                 back within a day"
            }
        }
    }
}

#[derive(Clone, Copy, Debug)]
struct Answer {
    grant: Option<ServiceClass>,
    at: Time,
}

/// What an access point decides by while its team server cannot be asked: the answers that it gave before, and so many
/// bytes a day in all. So nobody gains by keeping the team server busy.
#[derive(Debug)]
pub(super) struct Away {
    per_day: Bytes,
    /// What may still be carried.
    left: Bytes,
    /// Until when it was filled up.
    filled: Option<Time>,
    members: OrderedMap<KeyId, Answer>,
    teams: OrderedMap<TeamId, Answer>,
}

impl Away {
    /// With all that may be carried in a day.
    pub(super) fn new(per_day: Bytes) -> Self {
        Self { per_day, left: per_day, filled: None, members: OrderedMap::new(), teams: OrderedMap::new() }
    }

    /// From now on so much may be carried in a day; what was used today stays used.
    pub(super) fn set_per_day(&mut self, per_day: Bytes) {
        let used = self.per_day.saturating_sub(self.left);
        (self.per_day, self.left) = (per_day, per_day.saturating_sub(used));
    }

    /// The team server has answered about this member.
    pub(super) fn answered(&mut self, certificate: &Certificate, grant: Option<ServiceClass>, now: Time) {
        let answer = Answer { grant, at: now };
        remember(&mut self.members, certificate.subject_id(), answer);
        remember(&mut self.teams, certificate.team_id(), answer);
    }

    /// How this member was served when the team server last answered about it.
    pub(super) fn last_answer(&self, certificate: &Certificate, now: Time) -> Option<ServiceClass> {
        let answer = self.members.get(&certificate.subject_id()).filter(|answer| now - answer.at < DAY)?;
        answer.grant
    }

    /// How this member may be served without the team server, where others are served as `usual`.
    ///
    /// What was said of one member of another team counts for all of them: names are free. Of the own team, each is asked
    /// about for itself.
    pub(super) fn decide(
        &self,
        certificate: &Certificate,
        own: TeamId,
        usual: Option<ServiceClass>,
        now: Time,
    ) -> Result<ServiceClass, Denied> {
        let usual = usual.ok_or(Denied::ByRule)?;
        let team = certificate.team_id();
        let of_team = self.teams.get(&team).filter(|_| team != own);
        let answers = self.members.get(&certificate.subject_id()).into_iter().chain(of_team);
        let class = answers.filter(|answer| now - answer.at < DAY).try_fold(usual, |class, answer| {
            answer.grant.map(|grant| class.min(grant)).ok_or(Denied::RefusedBefore)
        })?;
        let enough = Bytes(self.per_day.0 / BEGIN_SHARE).max(PACKET);
        if self.left < enough { Err(Denied::UsedUp) } else { Ok(class) }
    }

    /// So much was carried for somebody who was let in without the team server.
    pub(super) fn draw(&mut self, carried: Bytes) {
        self.left = self.left.saturating_sub(carried);
    }

    /// What may still be carried.
    pub(super) fn left(&self) -> Bytes {
        self.left
    }

    /// Whether nothing more is carried for those who were let in.
    pub(super) fn is_used_up(&self) -> bool {
        self.left < PACKET
    }

    /// Time passes: what was used comes back within a day.
    pub(super) fn handle_timeout(&mut self, now: Time) {
        let per_day = self.per_day;
        let filled = *self.filled.get_or_insert(now);
        let passed = (now - filled).min(DAY);
        let share = |of: u64, part: u64, whole: u64| {
            u64::try_from(u128::from(of) * u128::from(part) / u128::from(whole.max(1))).unwrap_or(u64::MAX)
        };
        let back = share(per_day.0, passed.0, DAY.0);
        if passed == DAY {
            (self.left, self.filled) = (per_day, Some(now));
        } else if back > 0 {
            self.left = self.left.saturating_add(Bytes(back)).min(per_day);
            // Whole bytes only: the rest of the time counts for the next.
            self.filled = Some(filled + Micros(share(DAY.0, back, per_day.0)));
        }
    }
}

fn remember<K: Ord + Copy>(answers: &mut OrderedMap<K, Answer>, who: K, answer: Answer) {
    answers.insert(who, answer);
    if answers.len() > ANSWERS_MAX {
        let oldest = answers.iter().min_by_key(|(_, answer)| answer.at).map(|(&who, _)| who);
        oldest.map(|oldest| answers.remove(&oldest));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use guestright_identity::{Role, SecretKey, Suite};
    use guestright_units::UnixSeconds;
    use rand::SeedableRng;
    use rand::rngs::StdRng;

    const NOW: Time = Time(1_000_000_000);
    const MEGABYTE: Bytes = Bytes(1_000_000);
    const USUAL: Option<ServiceClass> = Some(ServiceClass::Low);

    /// Two members of one team, and one of another.
    fn members() -> [Certificate; 3] {
        let mut rng = StdRng::seed_from_u64(1);
        let mut key = || SecretKey::generate(Suite::Ed25519, &mut rng);
        let (one, other) = (key(), key());
        [&one, &one, &other].map(|team| {
            let member = key();
            Certificate::issue(team, member.public(), Role::Member, UnixSeconds(0), UnixSeconds(9))
        })
    }

    fn nobody() -> TeamId {
        TeamId([0; 24])
    }

    #[test]
    fn nobody_is_served_better_than_by_the_last_answer() {
        let [first, second, other] = members();
        let mut away = Away::new(MEGABYTE);
        let decide = |away: &Away, who, now| away.decide(who, nobody(), USUAL, now);
        assert_eq!(decide(&away, &first, NOW), Ok(ServiceClass::Low));
        away.answered(&first, Some(ServiceClass::High), NOW);
        assert_eq!(decide(&away, &first, NOW), Ok(ServiceClass::Low));
        away.answered(&first, Some(ServiceClass::Lowest), NOW);
        assert_eq!(decide(&away, &second, NOW), Ok(ServiceClass::Lowest), "it is of the same team");
        away.answered(&second, None, NOW);
        assert_eq!(decide(&away, &first, NOW), Err(Denied::RefusedBefore), "its team was refused since");
        assert_eq!(decide(&away, &other, NOW), Ok(ServiceClass::Low));
        assert_eq!(decide(&away, &first, NOW + DAY), Ok(ServiceClass::Low), "that is long ago");
        assert_eq!(away.decide(&other, nobody(), None, NOW), Err(Denied::ByRule));
    }

    #[test]
    fn of_the_own_team_each_is_asked_about_for_itself() {
        let [first, second, _] = members();
        let own = first.team_id();
        let mut away = Away::new(MEGABYTE);
        away.answered(&first, None, NOW);
        assert_eq!(away.decide(&first, own, USUAL, NOW), Err(Denied::RefusedBefore));
        assert_eq!(away.decide(&second, own, USUAL, NOW), Ok(ServiceClass::Low));
    }

    #[test]
    fn what_is_used_up_comes_back_within_a_day() {
        let [first, ..] = members();
        let mut away = Away::new(MEGABYTE);
        away.handle_timeout(NOW);
        away.draw(Bytes(1_500_000));
        assert_eq!(away.decide(&first, nobody(), USUAL, NOW), Err(Denied::UsedUp));
        // However often time is looked at.
        for second in 1..=3_600 {
            away.handle_timeout(NOW + Micros::from_seconds(second));
        }
        let hour = away.left().0;
        assert!((41_000..=41_667).contains(&hour), "{hour}");
        assert_eq!(away.decide(&first, nobody(), USUAL, NOW), Ok(ServiceClass::Low));
        away.handle_timeout(NOW + Micros(3 * DAY.0));
        assert_eq!(away.left(), MEGABYTE);
    }

    #[test]
    fn so_many_answers_are_remembered() {
        let mut answers = OrderedMap::new();
        for number in 0..=ANSWERS_MAX as u64 {
            remember(&mut answers, number, Answer { grant: None, at: NOW + Micros(number) });
        }
        assert!(answers.len() == ANSWERS_MAX && !answers.contains_key(&0));
    }
}
