use super::*;

fn stats(r: f64, lost: f64, late: f64, longest_ms: f64) -> DirectionStats {
    DirectionStats { made: 500, lost, late, playout_ms: 60.0, longest_ms: Some(longest_ms), r, mos: 4.0 }
}

fn trial(name: &str, carrier: Carrier, directions: &[DirectionStats]) -> Trial {
    Trial { name: name.to_owned(), carrier, result: Ok(directions.to_vec()) }
}

#[test]
fn of_equals_the_simplest_is_taken() {
    let clean = stats(91.0, 0.0, 0.0, 30.0);
    let trials = [
        trial("tcp-cubic", Carrier::Tcp, &[stats(92.0, 0.0, 0.0, 30.0)]),
        trial("udp", Carrier::Udp, &[clean]),
        trial("quic-datagrams", Carrier::QuicDatagrams, &[stats(80.0, 0.0, 0.1, 300.0)]),
    ];
    let advice = advise(&trials);
    assert_eq!(advice.recommended.as_deref(), Some("udp"));
    assert_eq!(
        advice.reasons,
        [Reason::Simplest { equals: vec!["tcp-cubic".to_owned()] }, Reason::NothingToRepair]
    );
}

#[test]
fn a_transport_is_as_good_as_its_worse_direction() {
    let trials = [
        trial("udp", Carrier::Udp, &[stats(90.0, 0.0, 0.0, 30.0), stats(50.0, 0.2, 0.0, 30.0)]),
        trial("tcp-bbr", Carrier::Tcp, &[stats(75.0, 0.0, 0.02, 190.0), stats(76.0, 0.0, 0.02, 180.0)]),
    ];
    let advice = advise(&trials);
    assert_eq!(advice.recommended.as_deref(), Some("tcp-bbr"));
    assert_eq!(
        advice.reasons[1],
        Reason::RepairingPays { other: "udp".to_owned(), lost: 0.2, longest_ms: 190.0 }
    );
}

#[test]
fn where_repairing_is_slow_the_loss_is_taken() {
    let trials = [
        trial("udp", Carrier::Udp, &[stats(85.0, 0.01, 0.0, 110.0)]),
        trial("tcp-cubic", Carrier::Tcp, &[stats(55.0, 0.0, 0.12, 900.0)]),
    ];
    let advice = advise(&trials);
    assert_eq!(advice.recommended.as_deref(), Some("udp"));
    let text: Vec<String> = advice.reasons.iter().map(ToString::to_string).collect();
    assert!(text[0].starts_with("it is heard best: R 85"), "{text:?}");
    assert!(
        text[1].contains("12.0 %") && text[1].contains("900 ms") && text[1].contains("1.0 %"),
        "{text:?}"
    );
}

#[test]
fn what_does_not_work_is_named_and_not_taken() {
    let blocked =
        Trial { name: "udp".to_owned(), carrier: Carrier::Udp, result: Err("nothing came back".to_owned()) };
    let advice = advise(&[blocked.clone(), trial("tcp-cubic", Carrier::Tcp, &[stats(80.0, 0.0, 0.0, 90.0)])]);
    assert_eq!(advice.recommended.as_deref(), Some("tcp-cubic"));
    assert_eq!(
        advice.reasons.last(),
        Some(&Reason::Fails { name: "udp".to_owned(), why: "nothing came back".to_owned() })
    );
    let nothing = advise(&[blocked]);
    assert_eq!(nothing.recommended, None);
    assert_eq!(nothing.reasons.len(), 1);
    assert_eq!(advise(&[]), Advice { recommended: None, reasons: Vec::new() });
}

#[test]
fn a_full_path_is_told_of() {
    let trials = [
        trial("udp", Carrier::Udp, &[stats(40.0, 0.15, 0.0, 300.0)]),
        trial("quic-datagrams", Carrier::QuicDatagrams, &[stats(20.0, 0.3, 0.0, 300.0)]),
    ];
    let reasons = advise(&trials).reasons;
    assert!(reasons.contains(&Reason::Harmful { lost: 0.15, instead: Some("quic-datagrams".to_owned()) }));
    assert!(reasons.iter().any(|reason| matches!(reason, Reason::NothingIsGood { .. })), "{reasons:?}");
}

#[test]
fn a_trial_without_directions_did_not_work() {
    let advice = advise(&[trial("udp", Carrier::Udp, &[])]);
    assert_eq!(advice.recommended, None);
}
