use super::*;

const START: UnixSeconds = UnixSeconds(1_800_000_000);

fn team(number: u8) -> TeamId {
    TeamId([number; 24])
}

#[test]
fn a_refusal_is_counted_in_its_hour_and_once_while_it_is_repeated() {
    let mut overviews = Overviews::new(None, false, START.time());
    for seconds in 0..30 {
        overviews.note_refusal(team(1), RefusedBy::AllowanceUsedUp, "used up", START.plus(seconds));
    }
    overviews.note_refusal(team(2), RefusedBy::Other, "no", START.plus(1));
    overviews.note_refusal(team(1), RefusedBy::AllowanceUsedUp, "used up", START.plus(3_600));
    let at_access_point = Refusal {
        at: Moment::from(START),
        team: None,
        refused_by: RefusedBy::Other,
        reason: Sentence::default(),
        to_do: None,
    };
    let hours = overviews.refused_hours(&[at_access_point]);
    let counts: Vec<Vec<_>> = hours
        .iter()
        .map(|hour| hour.refused.iter().map(|(name, count)| (name.as_str(), count.get())).collect())
        .collect();
    assert_eq!(counts, [vec![("allowance-used-up", 1), ("other", 2)], vec![("allowance-used-up", 1)]]);
    assert_eq!(hours[0].start.get(), START.0 - START.0 % 3_600);
    assert!(overviews.refusals.iter().all(|it| it.to_do.is_some() == (it.team == Some(Team(team(1))))));
}

#[test]
fn hours_are_remembered_for_a_month_and_no_longer() {
    let mut overviews = Overviews::new(None, false, START.time());
    for hour in 0..1_000 {
        overviews.note_refusal(team(1), RefusedBy::Other, "no", START.plus(hour * 3_600));
    }
    assert_eq!(overviews.refused_hours(&[]).len(), guestright_overview::HOURS_MAX);
}

#[test]
fn what_is_owed_has_one_side() {
    let account = |owed| Account { owed, ..Account::default() };
    assert_eq!(net(account(7)), (Bytes(7), Bytes(0)));
    assert_eq!(net(account(-7)), (Bytes(0), Bytes(7)));
    assert_eq!(net(account(i64::MIN)), (Bytes(0), Bytes(1 << 63)));
}

#[test]
fn only_what_is_left_makes_a_guest_a_sponsored_one() {
    let serving = include_bytes!("../../../../../pure/overview/tests/fixtures/serving.json");
    let guests = Overview::from_json(serving).unwrap().guests;
    let allowance = guests.iter().find(|it| it.served_by == ServedBy::Allowance).unwrap();
    let owed = guests.iter().find(|it| it.served_by == ServedBy::Owed).unwrap();
    let by = |guest: &Guest, left: u64| {
        let mut guest = guest.clone();
        let sponsored = [(guest.team.unwrap().0, Bytes(left))].into();
        refine(&mut guest, &sponsored);
        guest.served_by
    };
    assert_eq!(by(allowance, 5), ServedBy::Sponsored);
    assert_eq!(by(allowance, 0), ServedBy::Allowance);
    assert_eq!(by(owed, 5), ServedBy::Owed);
    let for_all = Guest { served_by: ServedBy::Everybody, ..allowance.clone() };
    assert_eq!(by(&for_all, 5), ServedBy::Everybody, "what is set aside for its team stays");
}

#[tokio::test]
async fn whoever_asks_a_home_that_has_stopped_is_told_so() {
    let (handle, questions) = channel();
    drop(questions);
    assert!(handle.overview(None).await.is_err());
}
