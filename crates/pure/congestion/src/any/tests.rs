use super::*;
use crate::aimd::AimdSettings;
use crate::bbr::BbrSettings;
use crate::controller::{Ack, Flight, RateSample, Sent, WINDOW_MAX, WaveReport};
use crate::cubic::CubicSettings;
use crate::millionths::Millionths;
use crate::real::RealSettings;
use crate::reno::RenoSettings;
use crate::vegas::VegasSettings;
use crate::westwood::{WestwoodFilter, WestwoodSettings};
use guestright_units::{Micros, Time};
use proptest::prelude::*;

/// One of each, and of their variants, for segments of that size.
fn all(segment: u32) -> Vec<(&'static str, AnyController)> {
    let mut all: Vec<(&'static str, AnyController)> =
        vec![("fixed", Fixed::new(10 * u64::from(segment), segment).unwrap().into())];
    let renos = [
        RenoSettings::rfc5681(segment),
        RenoSettings::linux_2_6_8(segment),
        RenoSettings::modern(segment),
        RenoSettings::ns2(segment, 20),
    ];
    for reno in renos {
        all.push(("reno", Reno::new(reno).unwrap().into()));
        all.push(("aimd", Aimd::new(AimdSettings::smooth(reno)).unwrap().into()));
        let fast = AimdSettings {
            alpha: Millionths(100_000_000),
            beta: Millionths(999_999),
            ..AimdSettings::standard(reno)
        };
        all.push(("fast aimd", Aimd::new(fast).unwrap().into()));
        all.push(("westwood", Westwood::new(WestwoodSettings::algorithm_1(reno)).unwrap().into()));
        all.push(("ns-2's westwood", Westwood::new(WestwoodSettings::ns2(reno)).unwrap().into()));
        let filter = WestwoodFilter::TimeConstant { tau: Micros(500_000) };
        let type_3 = WestwoodSettings { filter, ..WestwoodSettings::algorithm_1(reno) };
        all.push(("westwood of type 3", Westwood::new(type_3).unwrap().into()));
        all.push(("westwood-plus", Westwood::new(WestwoodSettings::plus(reno)).unwrap().into()));
        all.push(("real", Real::new(RealSettings::new(reno)).unwrap().into()));
        let hasty = RealSettings {
            gamma: Millionths(999_999),
            ignore_application_limited: false,
            ..RealSettings::new(reno)
        };
        all.push(("hasty real", Real::new(hasty).unwrap().into()));
        all.push(("cubic", Cubic::new(CubicSettings::rfc9438(reno)).unwrap().into()));
    }
    all.push(("vegas", Vegas::new(VegasSettings::paper(segment)).unwrap().into()));
    all.push(("ns-2's vegas", Vegas::new(VegasSettings::ns2(segment, 20)).unwrap().into()));
    all.push(("bbr", Bbr::new(BbrSettings::linux(segment, 7)).unwrap().into()));
    all
}

#[derive(Clone, Debug)]
struct Hook {
    kind: u8,
    wait: u64,
    bytes: u64,
    in_flight: u64,
    round_trip: Option<u64>,
    flags: u8,
    rate: Option<(u64, u64)>,
}

fn hooks() -> impl Strategy<Value = Vec<Hook>> {
    let size = prop_oneof![0_u64..200_000, Just(0), 0..=WINDOW_MAX];
    let time = prop_oneof![0_u64..200_000, Just(0), 0_u64..100_000_000_000];
    let hook = (
        0_u8..16,
        time.clone(),
        size.clone(),
        size.clone(),
        proptest::option::of(time.clone()),
        any::<u8>(),
        proptest::option::of((size, time)),
    );
    let hook = hook.prop_map(|(kind, wait, bytes, in_flight, round_trip, flags, rate)| Hook {
        kind,
        wait,
        bytes,
        in_flight,
        round_trip,
        flags,
        rate,
    });
    proptest::collection::vec(hook, 1..120)
}

/// What a sender may know, made of a hook.
struct Story {
    now: Time,
    acknowledged: u64,
    wave: u32,
}

impl Story {
    fn ack(&mut self, hook: &Hook) -> Ack {
        let before = self.acknowledged;
        self.acknowledged += hook.bytes;
        self.wave = self.wave.wrapping_add(u32::from(hook.flags & 1));
        Ack {
            now: self.now,
            bytes: hook.bytes,
            acknowledged: self.acknowledged,
            next: self.acknowledged + hook.in_flight,
            in_flight: hook.in_flight,
            round_trip: hook.round_trip.map(Micros),
            window_limited: hook.flags & 2 != 0,
            segments: u32::from(hook.flags >> 4),
            rate: hook.rate.map(|(bytes, interval)| RateSample {
                bytes,
                interval: Micros(interval),
                prior_delivered: if hook.flags & 4 != 0 { before } else { 0 },
                delivered: self.acknowledged,
                application_limited: hook.flags & 8 != 0,
            }),
            wave: hook.rate.map(|(bytes, interval)| WaveReport {
                number: self.wave,
                bytes,
                interval: Micros(interval),
            }),
            marked: hook.bytes.min(hook.in_flight),
            deflated: if hook.flags & 4 != 0 { hook.in_flight } else { 0 },
        }
    }

    fn flight(&self, hook: &Hook) -> Flight {
        Flight {
            now: self.now,
            in_flight: hook.in_flight,
            next: self.acknowledged + hook.in_flight,
            repeated: hook.flags & 1 != 0,
            first_sent: Time(self.now.0.saturating_sub(hook.bytes)),
            transmissions: u32::from(hook.flags >> 5),
            duplicates: u32::from(hook.flags >> 4),
        }
    }

    fn notify(&mut self, controller: &mut impl Controller, hook: &Hook) {
        self.now = self.now + Micros(hook.wait);
        match hook.kind {
            0 => controller.on_loss(&self.flight(hook)),
            1 => controller.on_recovery_ack(&self.ack(hook)),
            2 => controller.on_recovered(&self.ack(hook)),
            3 => controller.on_timeout(&self.flight(hook)),
            4 => controller.on_duplicate_ack(&self.flight(hook)),
            5 => controller.on_mark(&self.flight(hook)),
            6 => controller.on_idle(Micros(hook.wait)),
            7 => controller.on_idle_timeout(),
            8 => controller.on_late_open(),
            9..=11 => controller.on_sent(&Sent {
                now: self.now,
                offset: self.acknowledged + hook.in_flight,
                bytes: hook.bytes,
                in_flight: hook.in_flight,
                again: hook.flags & 1 != 0,
                last: hook.flags & 2 != 0,
            }),
            _ => controller.on_ack(&self.ack(hook)),
        }
    }
}

proptest! {
    #[test]
    fn no_story_breaks_a_controller(segment in 1_u32..=65_495, hooks in hooks()) {
        for (name, mut controller) in all(segment) {
            let mut story = Story { now: Time(0), acknowledged: 0, wave: 0 };
            for hook in &hooks {
                story.notify(&mut controller, hook);
                let window = controller.window();
                // ns-2's Vegas stands still at times, until its timer goes off.
                let least = if name == "ns-2's vegas" { 0 } else { u64::from(segment) };
                prop_assert!(
                    (least..=WINDOW_MAX).contains(&window),
                    "{name}: a window of {window} after {hook:?}"
                );
                prop_assert!(controller.pacing().is_none_or(|rate| rate.0.get() > 0), "{name}");
                controller.slow_start_threshold();
                controller.backs_off();
                controller.goes_back();
                controller.fine_timeout();
                controller.wave();
            }
        }
    }

    #[test]
    fn the_same_story_has_the_same_end(hooks in hooks()) {
        for ((name, mut one), (_, mut other)) in all(1_000).into_iter().zip(all(1_000)) {
            let mut story = Story { now: Time(0), acknowledged: 0, wave: 0 };
            let mut again = Story { now: Time(0), acknowledged: 0, wave: 0 };
            for hook in &hooks {
                story.notify(&mut one, hook);
                again.notify(&mut other, hook);
            }
            prop_assert_eq!(format!("{one:?}"), format!("{other:?}"), "{}", name);
        }
    }
}

type Step<'a> = &'a dyn Fn(&mut dyn Controller);

#[test]
fn each_call_reaches_the_controller() {
    // What `AnyController` answers is what the controller inside answers, whatever it was told.
    let story = |controller: &mut dyn Controller| {
        let ack = Ack {
            now: Time(100_000),
            bytes: 1_000,
            acknowledged: 1_000,
            next: 9_000,
            in_flight: 8_000,
            round_trip: Some(Micros(100_000)),
            segments: 1,
            window_limited: true,
            rate: Some(RateSample {
                bytes: 1_000,
                interval: Micros(100_000),
                delivered: 1_000,
                ..RateSample::default()
            }),
            wave: Some(WaveReport { number: 1, bytes: 1_000, interval: Micros(1_000) }),
            ..Ack::default()
        };
        let flight = Flight { now: Time(200_000), in_flight: 8_000, ..Flight::default() };
        let mut answers = Vec::new();
        let mut answer = |controller: &dyn Controller| {
            answers.push((
                controller.window(),
                controller.slow_start_threshold(),
                controller.pacing(),
                controller.backs_off(),
                controller.goes_back(),
                controller.fine_timeout(),
                controller.wave(),
                controller.wants_rate(),
            ));
        };
        let steps: [Step<'_>; 12] = [
            &|controller| controller.on_late_open(),
            &|controller| controller.on_sent(&Sent { bytes: 1_000, in_flight: 1_000, ..Sent::default() }),
            &|controller| controller.on_ack(&ack),
            &|controller| controller.on_duplicate_ack(&flight),
            &|controller| controller.on_loss(&flight),
            &|controller| controller.on_recovery_ack(&ack),
            &|controller| controller.on_recovered(&ack),
            &|controller| controller.on_mark(&flight),
            &|controller| controller.on_ack(&ack),
            &|controller| controller.on_timeout(&flight),
            &|controller| controller.on_idle(Micros(5_000_000)),
            &|controller| controller.on_idle_timeout(),
        ];
        for step in steps {
            step(controller);
            answer(controller);
        }
        answers
    };
    for (name, any) in all(1_000) {
        let mut inside: Box<dyn Controller> = match any.clone() {
            AnyController::Fixed(inside) => Box::new(inside),
            AnyController::Reno(inside) => Box::new(inside),
            AnyController::Aimd(inside) => Box::new(inside),
            AnyController::Vegas(inside) => Box::new(inside),
            AnyController::Westwood(inside) => Box::new(inside),
            AnyController::Real(inside) => Box::new(inside),
            AnyController::Cubic(inside) => Box::new(inside),
            AnyController::Bbr(inside) => Box::new(inside),
        };
        let mut any = any;
        assert_eq!(story(&mut any), story(&mut *inside), "{name}");
    }
}
