//! Errors of links: their shares, their bursts, and that each link has its own chance.

use guestright_engine::{Pool, Queue, Streams};
use guestright_transport::{ErrorModel, Errors, Link, LinkNumber, LinkSettings, LinkStatus, SettingsError};
use guestright_units::Seed;

fn model(errors: &Errors, number: u64) -> ErrorModel {
    let chance = Streams::new(Seed::from_number(3)).stream("link errors", number);
    errors.model(LinkNumber(0), chance).expect("the errors can be")
}

fn losses(errors: &Errors, count: usize) -> Vec<bool> {
    let mut model = model(errors, 0);
    (0..count).map(|_| model.loses()).collect()
}

/// The lengths of the bursts of lost packets, and of the gaps between them; what is cut off at the ends is left out.
fn runs(losses: &[bool]) -> (Vec<usize>, Vec<usize>) {
    let chunks: Vec<&[bool]> = losses.chunk_by(|one, other| one == other).collect();
    let inner = &chunks[1..chunks.len() - 1];
    let of = |lost: bool| inner.iter().filter(|run| run[0] == lost).map(|run| run.len()).collect();
    (of(true), of(false))
}

fn mean(values: &[usize]) -> f64 {
    values.iter().sum::<usize>() as f64 / values.len() as f64
}

const COUNT: usize = 1_000_000;

#[test]
fn bernoulli_loses_its_share_each_for_itself() {
    let losses = losses(&Errors::Bernoulli { per_million: 30_000 }, COUNT);
    let share = mean(&losses.iter().map(|lost| usize::from(*lost)).collect::<Vec<usize>>());
    // Five standard errors of sqrt(0.03 * 0.97 / 10^6).
    assert!((share - 0.03).abs() < 5.0 * 1.706e-4, "{share}");
    // After a loss, the next is as likely: bursts of 1 / 0.97 on average.
    let (bursts, _) = runs(&losses);
    assert!(
        (mean(&bursts) - 1.0 / 0.97).abs() < 5.0 * 0.18 / (bursts.len() as f64).sqrt(),
        "{}",
        mean(&bursts)
    );
}

#[test]
fn gilbert_loses_its_share_in_bursts_of_geometric_length() {
    for (per_million, burst_thousandths) in [(10_000, 3_000), (50_000, 5_000), (200_000, 1_500)] {
        let losses = losses(&Errors::Gilbert { per_million, burst_thousandths }, COUNT);
        let (share, burst) = (f64::from(per_million) / 1e6, f64::from(burst_thousandths) / 1e3);
        let (bursts, gaps) = runs(&losses);
        let count = bursts.len() as f64;
        // A geometric length with mean m has a standard deviation of sqrt(m * (m - 1)).
        let error = 5.0 * (burst * (burst - 1.0) / count).sqrt();
        assert!((mean(&bursts) - burst).abs() < error, "{burst}: {}", mean(&bursts));
        let gap = burst * (1.0 - share) / share;
        let error = 5.0 * (gap * (gap - 1.0) / count).sqrt();
        assert!((mean(&gaps) - gap).abs() < error, "{gap}: {}", mean(&gaps));
        for length in 1..8 {
            let at_least = (1.0 - 1.0 / burst).powi(length);
            let got = bursts.iter().filter(|burst| **burst > length as usize).count() as f64 / count;
            let error = 5.0 * (at_least * (1.0 - at_least) / count).sqrt() + 1.0 / count;
            assert!((got - at_least).abs() < error, "{burst}, above {length}: {got} {at_least}");
        }
    }
}

#[test]
fn the_first_packet_meets_the_long_run() {
    let errors = Errors::Gilbert { per_million: 300_000, burst_thousandths: 50_000 };
    let lost = (0..4_000).filter(|number| model(&errors, *number).loses()).count();
    // 1200 and five standard deviations of 29.
    assert!((1_055..=1_345).contains(&lost), "{lost}");
}

#[test]
fn a_script_loses_the_packets_that_it_names() {
    let losses = losses(&Errors::Scripted(vec![7, 0, 3, 3]), 10);
    let lost: Vec<usize> = (0..10).filter(|index| losses[*index]).collect();
    assert_eq!(lost, [0, 3, 7]);
}

#[test]
fn all_or_nothing() {
    assert!(losses(&Errors::Bernoulli { per_million: 1_000_000 }, 10_000).iter().all(|lost| *lost));
    assert!(!losses(&Errors::Bernoulli { per_million: 0 }, 10_000).contains(&true));
    assert!(!losses(&Errors::Gilbert { per_million: 0, burst_thousandths: 1_000 }, 10_000).contains(&true));
    assert!(!losses(&Errors::None, 10_000).contains(&true));
    // Every second one: from bad to good with 1, from good to bad with 1.
    let half = losses(&Errors::Gilbert { per_million: 500_000, burst_thousandths: 1_000 }, 10_000);
    assert!(half.windows(2).all(|pair| pair[0] != pair[1]));
}

/// The numbers of those that link `number` loses, of `count` packets that are `pause` apart on the link.
fn lost_on(number: u32, errors: &Errors, bytes: u32) -> Vec<u32> {
    let streams = Streams::new(Seed::from_number(3));
    let mut link = Link::with_errors(LinkNumber(number), LinkSettings::bare(1_000_000), errors, &streams)
        .expect("the errors can be");
    let (mut queue, mut pool, mut lost) = (Queue::new(), Pool::new(), Vec::new());
    for packet in 0..1_000 {
        assert!(link.enqueue(pool.insert(packet), bytes, &mut queue));
    }
    while let Some((_, event)) = queue.pop() {
        link.handle(event, &mut queue);
        let packet = link.poll_output().expect("a packet has arrived");
        if packet.lost {
            lost.push(*pool.get(packet.key));
        }
    }
    assert_eq!(link.stats().lost, lost.len() as u64);
    lost
}

#[test]
fn the_nth_packet_of_a_link_meets_the_same_chance_whatever_it_is() {
    let errors = Errors::Bernoulli { per_million: 100_000 };
    let lost = lost_on(1, &errors, 100);
    assert_eq!(lost_on(1, &errors, 700), lost);
    assert_ne!(lost_on(2, &errors, 100), lost, "another link has another chance");
    // More errors are the same ones and others besides.
    let more = lost_on(1, &Errors::Bernoulli { per_million: 150_000 }, 100);
    assert!(more.len() > lost.len() && lost.iter().all(|number| more.contains(number)));
}

#[test]
fn a_share_in_the_settings_is_the_same_as_errors() {
    let share = LinkSettings { loss_per_million: 100_000, ..LinkSettings::bare(1_000_000) };
    let streams = Streams::new(Seed::from_number(3));
    let twice = Link::with_errors(LinkNumber(1), share, &Errors::Scripted(vec![1]), &streams).err();
    assert_eq!(twice, Some(SettingsError::ErrorsTwice { link: 1 }));
    let mut one = Link::with_errors(LinkNumber(1), share, &Errors::None, &streams).expect("they can be");
    let mut other = Link::lossy(LinkNumber(1), share, streams.stream("link errors", 1)).expect("they can be");
    let mut queues = [Queue::new(), Queue::new()];
    let mut pool = Pool::new();
    for _ in 0..500 {
        let key = pool.insert(());
        let arrive = |link: &mut Link, queue: &mut Queue<_>| {
            assert!(link.enqueue(key, 100, queue));
            let (_, event) = queue.pop().expect("it arrives");
            link.handle(event, queue);
            link.poll_output()
        };
        assert_eq!(arrive(&mut one, &mut queues[0]), arrive(&mut other, &mut queues[1]));
    }
    assert!(one.stats().lost > 0);
}

#[test]
fn refuses_errors_that_cannot_be() {
    let burst = |got, min| SettingsError::Burst { link: 0, got, min, max: 1_000_000_000 };
    let cases = [
        (
            Errors::Bernoulli { per_million: 1_000_001 },
            SettingsError::Loss { link: 0, got_per_million: 1_000_001 },
        ),
        (
            Errors::Gilbert { per_million: 1_000_000, burst_thousandths: 9_000 },
            SettingsError::Loss { link: 0, got_per_million: 1_000_000 },
        ),
        (Errors::Gilbert { per_million: 10_000, burst_thousandths: 999 }, burst(999, 1_000)),
        (Errors::Gilbert { per_million: 750_000, burst_thousandths: 2_999 }, burst(2_999, 3_000)),
        (Errors::Gilbert { per_million: 1, burst_thousandths: 1_000_000_001 }, burst(1_000_000_001, 1_000)),
        (
            Errors::Scripted(vec![0; (1 << 20) + 1]),
            SettingsError::Script { link: 0, got: (1 << 20) + 1, max: 1 << 20 },
        ),
    ];
    for (errors, want) in cases {
        let chance = Streams::new(Seed::from_number(3)).stream("link errors", 0);
        assert_eq!(errors.model(LinkNumber(0), chance).err(), Some(want));
    }
}
