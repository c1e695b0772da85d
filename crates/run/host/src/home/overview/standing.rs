//! How the household stands, in one state and one sentence.

use guestright_overview::{AccessPoint, Guest, Moment, Sentence, Standing, State};
use guestright_units::UnixSeconds;

/// What the sentence is made from.
#[derive(Debug)]
pub(super) struct Facts<'a> {
    pub(super) now: UnixSeconds,
    /// When the own certificate begins and ends.
    pub(super) certificate: (UnixSeconds, UnixSeconds),
    /// Why accounts cannot be kept, if they cannot.
    pub(super) unkept: Option<&'a str>,
    pub(super) access_points: &'a [AccessPoint],
    pub(super) guests: &'a [Guest],
    /// How many more there are.
    pub(super) guests_left_out: u64,
    /// Since when no access point reaches the home, if that is known.
    pub(super) alone_since: Option<UnixSeconds>,
}

/// The worst that holds.
pub(super) fn standing(facts: &Facts<'_>) -> Standing {
    let (begins, ends) = facts.certificate;
    if facts.now < begins {
        let says = format!(
            "The clock of this computer is wrong: it says {}. Nobody can be served, because no certificate holds then.",
            facts.now
        );
        let to_do = "Connect the computer to the Internet and wait a minute, or set the clock.";
        return off(State::ClockWrong, &says, to_do, None);
    }
    if let Some(reason) = facts.unkept {
        let says = format!("Accounts cannot be kept, so nobody is served on credit: {reason}.");
        return off(State::Trouble, &says, "Look whether the disk is full or broken.", None);
    }
    if facts.now > ends {
        let says = format!("The home's certificate has ended on {ends}, so no access point believes it.");
        let to_do = "Have it renewed: guestright team member renew, or let the home renew it: guestright team renewal init.";
        return off(State::Trouble, &says, to_do, Some(Moment::from(ends)));
    }
    let mut up = facts.access_points.iter().filter(|it| it.up).peekable();
    if up.peek().is_none() {
        return alone(facts);
    }
    if let Some(trouble) = up.clone().find_map(|it| it.trouble.as_ref())
        && up.all(|it| it.trouble.is_some())
    {
        let says = format!("The access point is on, and something is wrong with it: {trouble}");
        let to_do = "Ask on the access point's computer: guestright doctor --for ap.";
        return off(State::Trouble, &says, to_do, None);
    }
    serving(facts)
}

/// No access point answers: it has gone, or it is one that does not know the question.
fn alone(facts: &Facts<'_>) -> Standing {
    let since = facts.alone_since.map(Moment::from);
    if since.is_none() && !facts.access_points.is_empty() {
        let says = "The access point is connected, and does not say how it stands.";
        let to_do = "Update the access point, or look whether it is overloaded: guestright ap status.";
        return Standing { on: true, ..off(State::Trouble, says, to_do, None) };
    }
    let says = "No access point reaches the home: guests are served from what may be given away without it, and after that \
                nobody is.";
    let to_do = "Look whether the access point is switched on and in the same network as this computer.";
    off(State::HomeAway, says, to_do, since)
}

fn serving(facts: &Facts<'_>) -> Standing {
    let count = facts.guests.iter().filter(|guest| guest.open).count() as u64 + facts.guests_left_out;
    let (state, says) = match count {
        0 => (State::Nobody, "Your Wi-Fi is shared. Nobody is served at the moment.".to_owned()),
        1 => (State::Serving, "Your Wi-Fi is shared, and 1 guest is served.".to_owned()),
        count => (State::Serving, format!("Your Wi-Fi is shared, and {count} guests are served.")),
    };
    let first = facts.guests.iter().filter(|guest| guest.open).map(|guest| guest.started).min();
    Standing { state, on: true, says: Sentence::shortened(&says), to_do: None, since: first }
}

fn off(state: State, says: &str, to_do: &str, since: Option<Moment>) -> Standing {
    let to_do = Some(Sentence::shortened(to_do));
    Standing { state, on: false, says: Sentence::shortened(says), to_do, since }
}

#[cfg(test)]
mod tests {
    use super::*;
    use guestright_overview::Overview;

    const NOW: UnixSeconds = UnixSeconds(1_795_804_920);

    fn serving_household() -> Overview {
        let json = include_bytes!("../../../../../pure/overview/tests/fixtures/serving.json");
        Overview::from_json(json).unwrap()
    }

    fn facts(overview: &Overview) -> Facts<'_> {
        Facts {
            now: NOW,
            certificate: (NOW.minus(9), NOW.plus(9)),
            unkept: None,
            access_points: &overview.access_points,
            guests: &overview.guests,
            guests_left_out: 0,
            alone_since: None,
        }
    }

    #[test]
    fn the_worst_that_holds_is_shown() {
        let mut overview = serving_household();
        let state = |facts: Facts<'_>| standing(&facts).state;
        assert_eq!(state(facts(&overview)), State::Serving);
        assert_eq!(
            standing(&facts(&overview)).says.as_str(),
            "Your Wi-Fi is shared, and 6 guests are served."
        );
        let nobody = Facts { guests: &[], ..facts(&overview) };
        assert_eq!(state(nobody), State::Nobody);
        let ended = Facts { certificate: (NOW.minus(9), NOW.minus(1)), ..facts(&overview) };
        assert_eq!(state(ended), State::Trouble);
        let early = Facts { certificate: (NOW.plus(1), NOW.plus(9)), unkept: Some("no"), ..facts(&overview) };
        assert_eq!(state(early), State::ClockWrong);
        assert_eq!(state(Facts { unkept: Some("no space"), ..facts(&overview) }), State::Trouble);
        overview.access_points[0].trouble = Some(Sentence::shortened("nft is missing"));
        assert_eq!(state(facts(&overview)), State::Trouble);
        assert!(standing(&facts(&overview)).says.as_str().ends_with("nft is missing"));
    }

    #[test]
    fn a_household_without_an_access_point_says_so() {
        let mut overview = serving_household();
        let none = Facts { access_points: &[], ..facts(&overview) };
        assert_eq!(standing(&none).state, State::HomeAway);
        overview.access_points[0].up = false;
        let gone = Facts { alone_since: Some(NOW.minus(60)), ..facts(&overview) };
        let standing_alone = standing(&gone);
        assert_eq!((standing_alone.state, standing_alone.on), (State::HomeAway, false));
        assert_eq!(standing_alone.since, Some(Moment::from(NOW.minus(60))));
        let silent = standing(&facts(&overview));
        assert_eq!((silent.state, silent.on), (State::Trouble, true), "it serves, and does not say whom");
    }

    #[test]
    fn whoever_is_not_let_through_is_not_served() {
        let mut overview = serving_household();
        overview.guests.iter_mut().for_each(|guest| guest.open = false);
        overview.guests[1].open = true;
        assert_eq!(standing(&facts(&overview)).says.as_str(), "Your Wi-Fi is shared, and 1 guest is served.");
    }
}
