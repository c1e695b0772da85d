use super::*;

const CLEAN: Measured = Measured {
    network_loss: Some(0.0),
    dejitter_loss: 0.0,
    burst_ratio: None,
    network_delay_ms: Some(Interval { low: 30.0, high: 30.0 }),
    delay_assumed: false,
};

fn judge(codec: Codec, measured: Measured) -> Judgement {
    Judge::paper_a(codec).judge(&measured)
}

#[test]
fn terminal_delay_is_paper_a_s_85_ms() {
    assert_eq!(Judge::paper_a(Codec::G729a).terminal_delay_ms(), Some(85.0));
    let opinion = judge(Codec::G729a, CLEAN).conversation.unwrap();
    let Parts::Narrow(rating) = opinion.worst else { panic!("G.729A is narrowband") };
    assert_eq!((rating.inputs.ta_ms, rating.inputs.t_ms, rating.inputs.tr_ms), (115.0, 115.0, 230.0));
}

#[test]
fn clock_error_becomes_an_interval_of_r_and_mos() {
    let opinion = |error| {
        let measured = Measured { network_delay_ms: Some(Interval::around(150.0, error)), ..CLEAN };
        judge(Codec::G729a, measured)
    };
    let (sure, unsure) = (opinion(0.0), opinion(50.0));
    let (sure, unsure) = (sure.conversation.unwrap(), unsure.conversation.unwrap());
    assert_eq!(sure.r.width(), 0.0);
    assert!(unsure.r.width() > 5.0);
    assert!(unsure.r.contains(sure.r.low) && unsure.mos.contains(sure.mos.low));
    assert_eq!(unsure.worst.r(), unsure.r.low);
    assert_eq!(unsure.best.r(), unsure.r.high);
}

#[test]
fn says_why_there_is_no_figure() {
    let no_delay = judge(Codec::G729a, Measured { network_delay_ms: None, ..CLEAN });
    assert_eq!(no_delay.conversation, Err(Unknown::NoDelay));
    assert_eq!(no_delay.paper_a, Err(Unknown::NoDelay));
    assert!(no_delay.listening.is_ok(), "listening needs no delay");

    let nothing = judge(Codec::G729a, Measured { network_loss: None, ..CLEAN });
    assert_eq!(nothing.conversation, Err(Unknown::NoPackets));
    assert_eq!(nothing.listening, Err(Unknown::NoPackets));

    assert_eq!(judge(Codec::Opus, CLEAN).conversation, Err(Unknown::NoIe(Codec::Opus)));
    assert!(judge(Codec::GsmFr, CLEAN).conversation.is_ok(), "without loss GSM's Ie is enough");
    let lossy = Measured { network_loss: Some(0.001), ..CLEAN };
    assert_eq!(judge(Codec::GsmFr, lossy).conversation, Err(Unknown::NoBpl(Codec::GsmFr)));
    let late = Measured { dejitter_loss: 0.001, ..CLEAN };
    assert_eq!(judge(Codec::GsmFr, late).listening, Err(Unknown::NoBpl(Codec::GsmFr)));

    let unknown = Judge { codec: None, ..Judge::paper_a(Codec::G729a) }.judge(&CLEAN);
    assert_eq!(unknown.conversation, Err(Unknown::NoCodec));
    assert_eq!(unknown.paper_a, Err(Unknown::NoCodec));
    assert_eq!(judge(Codec::G711u, CLEAN).paper_a, Err(Unknown::NotPaperA));

    let broken = Measured { network_delay_ms: Some(Interval::exact(f64::NAN)), ..CLEAN };
    assert!(matches!(judge(Codec::G729a, broken).conversation, Err(Unknown::Input(_))));
}

#[test]
fn a_negative_delay_is_taken_as_zero_and_said() {
    let opinion = judge(Codec::G729a, Measured { network_delay_ms: Some(Interval::new(-4.0, 2.0)), ..CLEAN });
    let conversation = opinion.conversation.unwrap();
    assert!(conversation.caveats.contains(&Caveat::DelayBelowZero));
    let zero = judge(Codec::G729a, Measured { network_delay_ms: Some(Interval::ZERO), ..CLEAN });
    assert_eq!(conversation.r.high, zero.conversation.unwrap().r.high);
    assert_eq!(opinion.paper_a.unwrap().r.high, zero.paper_a.unwrap().r.high);
}

#[test]
fn dejitter_loss_adds_to_network_loss() {
    let measured = Measured { network_loss: Some(0.1), dejitter_loss: 0.5, ..CLEAN };
    assert_eq!(measured.playout_loss(), Some(0.55));
    let opinion = judge(Codec::G729a, measured).listening.unwrap();
    let Parts::Narrow(rating) = &opinion.worst else { panic!("G.729A is narrowband") };
    assert!((rating.inputs.ppl_percent - 55.0).abs() < 1e-9);
    assert!(
        opinion.caveats.iter().any(|c| matches!(c, Caveat::Outside(o) if o.name == "Ppl")),
        "{opinion:?}"
    );
}

#[test]
fn even_loss_is_no_better_than_random_loss() {
    let lossy = |burst_ratio| {
        judge(Codec::G729a, Measured { network_loss: Some(0.05), burst_ratio, ..CLEAN }).listening.unwrap()
    };
    assert_eq!(lossy(Some(0.95)).r, lossy(None).r);
    assert!(lossy(Some(0.95)).caveats.contains(&Caveat::BurstRatioBelowOne(0.95)));
    assert!(lossy(Some(2.0)).r.low < lossy(None).r.low);
}

#[test]
fn wideband_codecs_are_on_their_own_scale() {
    let opinion = judge(Codec::AmrWb2385, CLEAN).listening.unwrap();
    assert!(opinion.r.low > 100.0);
    assert!(opinion.mos.low <= 4.5);
    assert!(opinion.caveats.contains(&Caveat::Wideband));
    assert_eq!(
        judge(Codec::G722, Measured { network_loss: Some(0.01), ..CLEAN }).listening,
        Err(Unknown::NoBpl(Codec::G722))
    );
}

#[test]
fn a_reason_is_written_in_the_place_of_a_figure() {
    let judgement = judge(Codec::G711u, Measured { network_delay_ms: None, ..CLEAN });
    let json = serde_json::to_value(&judgement).unwrap();
    assert_eq!(json["conversation"]["unknown"], "no-delay");
    assert!(json["conversation"]["why"].as_str().unwrap().starts_with("the one-way delay is not known"));
    assert_eq!(json["listening"]["worst"]["scale"], "narrow");
    assert_eq!(json["listening"]["worst"]["inputs"]["bpl"], 4.3);
    assert_eq!(json["paper_a"]["unknown"], "not-paper-a");
}

#[test]
fn a_stated_delay_is_marked() {
    let opinion = judge(Codec::G711u, Measured { delay_assumed: true, ..CLEAN });
    assert_eq!(opinion.conversation.unwrap().caveats, [Caveat::DelayAssumed]);
    assert_eq!(opinion.listening.unwrap().caveats, []);
}
