use super::*;
use proptest::prelude::*;

const SEGMENT: u32 = 1_000;

fn recovery(kind: RecoveryKind) -> Recovery {
    Recovery::new(RecoverySettings::new(kind, SEGMENT)).unwrap()
}

/// `count` duplicates of `acknowledged`.
fn duplicates(recovery: &mut Recovery, count: u32, acknowledged: u64, next: u64) -> Vec<Duplicate> {
    (0..count).map(|_| recovery.on_duplicate(acknowledged, next)).collect()
}

#[test]
fn the_third_duplicate_tells_of_a_loss_and_further_ones_inflate() {
    use Duplicate::{Loss, Nothing};
    for kind in [RecoveryKind::Reno, RecoveryKind::NewReno] {
        let mut recovery = recovery(kind);
        assert_eq!(duplicates(&mut recovery, 2, 0, 8_000), [Nothing, Nothing]);
        // Limited transmit: one segment for each.
        assert_eq!((recovery.inflation(), recovery.departed()), (2_000, 2_000));
        assert_eq!(recovery.on_duplicate(0, 10_000), Loss);
        assert_eq!((recovery.inflation(), recovery.departed()), (3_000, 3_000));
        assert_eq!(duplicates(&mut recovery, 3, 0, 10_000), [Nothing; 3]);
        assert_eq!(recovery.inflation(), 6_000);
        assert!(recovery.is_active());
    }
}

#[test]
fn new_data_takes_back_what_limited_transmit_gave() {
    let mut recovery = recovery(RecoveryKind::NewReno);
    duplicates(&mut recovery, 2, 0, 8_000);
    assert_eq!(recovery.on_ack(1_000, 1_000), Progress::Open);
    assert_eq!(recovery.inflation(), 0);
    // And the count starts anew.
    assert!(!duplicates(&mut recovery, 2, 1_000, 8_000).contains(&Duplicate::Loss));
}

#[test]
fn newreno_stays_until_everything_is_acknowledged() {
    // Ten segments on their way, the first and the fifth are lost.
    let mut recovery = recovery(RecoveryKind::NewReno);
    duplicates(&mut recovery, 8, 0, 10_000);
    assert_eq!(recovery.inflation(), 8_000);
    // Partial: four segments; 8000 - 4000 + 1000.
    assert_eq!(recovery.on_ack(4_000, 4_000), Progress::Partial { restart_timer: true });
    assert_eq!(recovery.inflation(), 5_000);
    // A small one takes back what it acknowledged, and adds nothing; impatient: the timer goes on.
    assert_eq!(recovery.on_ack(4_500, 500), Progress::Partial { restart_timer: false });
    assert_eq!(recovery.inflation(), 4_500);
    assert_eq!(recovery.on_ack(10_000, 5_500), Progress::Recovered);
    assert_eq!((recovery.inflation(), recovery.is_active()), (0, false));
}

#[test]
fn reno_leaves_with_the_first_acknowledgement_and_may_enter_again() {
    let mut recovery = recovery(RecoveryKind::Reno);
    duplicates(&mut recovery, 8, 0, 10_000);
    assert_eq!(recovery.on_ack(4_000, 4_000), Progress::Recovered);
    assert_eq!(duplicates(&mut recovery, 3, 4_000, 12_000)[2], Duplicate::Loss);
    // Unless told not to.
    let settings =
        RecoverySettings { once_a_window: true, ..RecoverySettings::new(RecoveryKind::Reno, SEGMENT) };
    let mut recovery = Recovery::new(settings).unwrap();
    duplicates(&mut recovery, 8, 0, 10_000);
    assert_eq!(recovery.on_ack(4_000, 4_000), Progress::Recovered);
    assert!(!duplicates(&mut recovery, 9, 4_000, 12_000).contains(&Duplicate::Loss));
}

#[test]
fn newreno_halves_once_for_a_window() {
    let mut recovery = recovery(RecoveryKind::NewReno);
    duplicates(&mut recovery, 3, 0, 10_000);
    assert_eq!(recovery.on_ack(10_000, 10_000), Progress::Recovered);
    // Duplicates of exactly `recover` come of what was sent twice.
    assert!(!duplicates(&mut recovery, 5, 10_000, 14_000).contains(&Duplicate::Loss));
    assert_eq!(recovery.on_ack(11_000, 1_000), Progress::Open);
    assert_eq!(duplicates(&mut recovery, 3, 11_000, 14_000)[2], Duplicate::Loss);
}

#[test]
fn duplicates_of_what_was_sent_before_a_timeout_say_nothing() {
    for kind in [RecoveryKind::Reno, RecoveryKind::NewReno] {
        let mut recovery = recovery(kind);
        duplicates(&mut recovery, 4, 0, 10_000);
        recovery.on_timeout(10_000);
        assert_eq!((recovery.is_active(), recovery.inflation()), (false, 0));
        assert!(!duplicates(&mut recovery, 9, 5_000, 10_000).contains(&Duplicate::Loss));
        assert_eq!(recovery.inflation(), 0);
        assert_eq!(duplicates(&mut recovery, 3, 11_000, 20_000)[2], Duplicate::Loss);
    }
}

#[test]
fn switches_do_what_they_say() {
    let settings = RecoverySettings::new(RecoveryKind::NewReno, SEGMENT);
    let mut plain = Recovery::new(RecoverySettings { limited_transmit: false, ..settings }).unwrap();
    duplicates(&mut plain, 2, 0, 8_000);
    assert_eq!(plain.inflation(), 0);
    let mut steady = Recovery::new(RecoverySettings { impatient: false, ..settings }).unwrap();
    duplicates(&mut steady, 3, 0, 8_000);
    for part in 1..=3 {
        assert_eq!(steady.on_ack(part * 1_000, 1_000), Progress::Partial { restart_timer: true });
    }
    let mut eager = Recovery::new(RecoverySettings { duplicates: 1, ..settings }).unwrap();
    assert_eq!(eager.on_duplicate(0, 8_000), Duplicate::Loss);
    assert_eq!(eager.inflation(), 1_000);
}

#[test]
fn ns2_counts_duplicates_and_inflates_its_dupwnd() {
    use Duplicate::{Loss, Nothing, SendOne};
    let ns2 = |kind| Recovery::new(RecoverySettings::ns2(kind, SEGMENT)).unwrap();
    let mut recovery = ns2(RecoveryKind::Reno);
    assert_eq!(duplicates(&mut recovery, 5, 5_000, 13_000), [SendOne, SendOne, Loss, Nothing, Nothing]);
    assert_eq!((recovery.inflation(), recovery.duplicates(), recovery.burst()), (5_000, 5, None));
    assert_eq!(recovery.on_ack(8_000, 3_000), Progress::Recovered);
    // What was sent before the loss tells of no other one, but is counted: nothing is sent for two of them.
    assert_eq!(duplicates(&mut recovery, 2, 8_000, 13_000), [SendOne; 2]);
    assert_eq!(recovery.burst(), Some(0));
    assert_eq!(duplicates(&mut recovery, 9, 8_000, 13_000), [Nothing; 9]);
    assert_eq!((recovery.inflation(), recovery.burst()), (0, None));
    // With nothing but the SYN acknowledged a loss is always one.
    recovery.on_timeout(8_000);
    assert_eq!(duplicates(&mut recovery, 3, 0, 8_000)[2], Loss);
    // NewReno sends two at most for each.
    let mut recovery = ns2(RecoveryKind::NewReno);
    duplicates(&mut recovery, 3, 5_000, 13_000);
    assert_eq!(recovery.burst(), Some(2));
}

#[test]
fn ns2_takes_the_window_back_for_partial_acknowledgements() {
    let mut recovery = Recovery::new(RecoverySettings::ns2(RecoveryKind::NewReno, SEGMENT)).unwrap();
    duplicates(&mut recovery, 8, 5_000, 20_000);
    // Five segments: 8 - 5 + 1, and nothing off the window.
    assert_eq!(recovery.on_ack(10_000, 5_000), Progress::Partial { restart_timer: true });
    assert_eq!((recovery.inflation(), recovery.deflated(), recovery.duplicates()), (4_000, 0, 8));
    // Six: all of it, one is left, and two come off the window.
    assert_eq!(recovery.on_ack(16_000, 6_000), Progress::Partial { restart_timer: false });
    assert_eq!((recovery.inflation(), recovery.deflated()), (1_000, 2_000));
    assert_eq!(recovery.on_ack(20_000, 4_000), Progress::Recovered);
    assert_eq!((recovery.inflation(), recovery.deflated(), recovery.duplicates()), (0, 0, 0));
}

#[test]
fn vegas_finds_losses_by_age_and_by_number() {
    use Duplicate::{Ignore, Loss, Nothing};
    let vegas = || Recovery::new(RecoverySettings::ns2(RecoveryKind::Vegas, SEGMENT)).unwrap();
    let mut recovery = vegas();
    let late: Vec<Duplicate> = (0..4).map(|_| recovery.on_vegas_duplicate(1_000, 9_000, false, 9)).collect();
    assert_eq!(late, [Nothing, Nothing, Loss, Nothing]);
    let mut recovery = vegas();
    assert_eq!(recovery.on_vegas_duplicate(1_000, 9_000, true, 9), Loss);
    assert_eq!((recovery.duplicates(), recovery.burst()), (1, Some(0)));
    recovery.on_vegas_resent();
    assert_eq!((recovery.duplicates(), recovery.burst()), (3, None));
    // The next two acknowledgements may find another one, if the first of them does.
    assert_eq!(recovery.on_ack(3_000, 2_000), Progress::Open);
    assert!(recovery.is_worried() && recovery.on_worried_ack(true));
    assert!(recovery.is_worried() && recovery.on_worried_ack(true));
    assert!(!recovery.is_worried() && !recovery.on_worried_ack(true));
    recovery.on_vegas_duplicate(3_000, 9_000, true, 7);
    assert!(!recovery.on_worried_ack(false) && !recovery.is_worried());
    // After a timeout what was sent before it tells of no loss.
    recovery.on_timeout(9_000);
    assert_eq!(recovery.on_vegas_duplicate(9_000, 12_000, true, 4), Ignore);
    assert_eq!(recovery.on_ack(10_000, 1_000), Progress::Open);
    assert_eq!(recovery.on_vegas_duplicate(10_000, 12_000, true, 3), Loss);
}

#[test]
fn an_overdue_segment_is_lost_with_the_first_duplicate() {
    let mut recovery = recovery(RecoveryKind::NewReno);
    assert_eq!(recovery.on_overdue(1_000, 8_000), Duplicate::Loss);
    assert_eq!((recovery.inflation(), recovery.is_active()), (1_000, true));
    assert_eq!(recovery.on_overdue(1_000, 8_000), Duplicate::Nothing, "it is being repaired");
    assert_eq!(recovery.on_ack(8_000, 7_000), Progress::Recovered);
    assert_eq!(recovery.on_overdue(8_000, 9_000), Duplicate::Nothing, "of the same window");
    assert!(!recovery.is_past(8_000) && recovery.is_past(8_001));
}

#[test]
fn refuses_settings_that_cannot_be() {
    let settings = RecoverySettings::new(RecoveryKind::Reno, SEGMENT);
    for got in [0, 256] {
        let error = Recovery::new(RecoverySettings { duplicates: got, ..settings });
        assert_eq!(error, Err(SettingsError::Duplicates { got }));
    }
    let error = Recovery::new(RecoverySettings { segment: 0, ..settings });
    assert_eq!(error, Err(SettingsError::Segment { got: 0 }));
}

proptest! {
    #[test]
    fn a_recovery_always_ends_when_everything_is_acknowledged(
        newreno: bool,
        steps in proptest::collection::vec((any::<bool>(), 1_u64..20), 0..200),
    ) {
        let mut recovery = recovery(if newreno { RecoveryKind::NewReno } else { RecoveryKind::Reno });
        let (mut acknowledged, mut next) = (0_u64, 20_000_u64);
        for (duplicate, segments) in steps {
            if duplicate {
                let was_active = recovery.is_active();
                if recovery.on_duplicate(acknowledged, next) == Duplicate::Loss {
                    prop_assert!(!was_active && recovery.is_active());
                }
                next += 1_000;
            } else {
                let bytes = (segments * 1_000).min(next - acknowledged);
                acknowledged += bytes;
                recovery.on_ack(acknowledged, bytes);
                if acknowledged == next {
                    prop_assert!(!recovery.is_active());
                    next += 20_000;
                }
            }
            prop_assert!(recovery.is_active() || (0..=2_000).contains(&recovery.inflation()));
        }
    }
}
