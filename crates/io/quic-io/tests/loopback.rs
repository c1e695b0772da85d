//! Calls over the loopback interface. No assertion about how long anything takes: machines are busy.
#![expect(clippy::unwrap_used, reason = "a test that fails says where")]

use guestright_quic_io::{
    Algorithm, Carriage, Clock, QuicIoError, ReceivedPacket, SentReport, ServerKey, Spoken, VoiceReceiver,
    VoiceSender, VoiceSettings,
};
use guestright_units::Time;
use std::collections::BTreeSet;
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

fn socket() -> UdpSocket {
    UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap()
}

fn clock() -> Clock {
    let start = Instant::now();
    Arc::new(move || Time(u64::try_from(start.elapsed().as_micros()).unwrap()))
}

/// `count` packets, one each 2 ms.
fn speech(clock: &Clock, count: u32) -> Vec<Spoken> {
    let start = clock().0;
    (0..count)
        .map(|number| Spoken { at: Time(start + u64::from(number) * 2_000), number, bytes: 160 })
        .collect()
}

/// A receiver at work.
struct Listening {
    peer: SocketAddr,
    key: ServerKey,
    /// To be told when it is to end.
    hang_up: oneshot::Sender<()>,
    received: JoinHandle<Vec<ReceivedPacket>>,
}

fn listen(settings: &VoiceSettings, clock: &Clock) -> Listening {
    let receiver = VoiceReceiver::new(socket(), settings, Arc::clone(clock)).unwrap();
    let (peer, key) = (receiver.local_addr().unwrap(), receiver.key());
    let (hang_up, over) = oneshot::channel::<()>();
    let received = tokio::spawn(receiver.run(async {
        over.await.unwrap();
    }));
    Listening { peer, key, hang_up, received }
}

/// Two calls at once to one receiver.
async fn calls(settings: VoiceSettings, count: u32) -> (Vec<SentReport>, Vec<ReceivedPacket>) {
    let clock = clock();
    let Listening { peer, key, hang_up, received: listening } = listen(&settings, &clock);
    let mut speaking = Vec::new();
    for call in 0..2 {
        let clock = Arc::clone(&clock);
        speaking.push(tokio::spawn(async move {
            let sender = VoiceSender::connect(socket(), peer, key, &settings, Arc::clone(&clock), call);
            sender.await.unwrap().run(&speech(&clock, count)).await
        }));
    }
    let mut reports = Vec::new();
    for call in speaking {
        reports.push(call.await.unwrap());
    }
    hang_up.send(()).unwrap();
    (reports, listening.await.unwrap())
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
}

#[test]
fn everything_that_is_sent_is_heard_once_with_every_carriage() {
    for carriage in Carriage::ALL {
        // So many may wait that nothing is thrown away on a slow machine.
        let settings =
            VoiceSettings { send_buffer: 1_000, ..VoiceSettings::call(carriage, Algorithm::QuinnNewReno) };
        let (reports, received) = runtime().block_on(calls(settings, 150));
        for (call, report) in (0..).zip(&reports) {
            assert_eq!(
                (report.lost.as_deref(), report.thrown_away, report.too_large),
                (None, 0, 0),
                "{carriage:?}"
            );
            assert_eq!(
                report.sent.iter().map(|sent| sent.number).collect::<Vec<_>>(),
                (0..150).collect::<Vec<_>>()
            );
            assert!(report.sent.iter().all(|sent| sent.spoken_at <= sent.at));
            let numbers: Vec<u32> =
                received.iter().filter(|packet| packet.call == call).map(|packet| packet.number).collect();
            let distinct: BTreeSet<u32> = numbers.iter().copied().collect();
            assert_eq!(distinct.len(), numbers.len(), "{carriage:?}: nothing twice");
            match carriage {
                // The kernel may drop what nobody reads in time; on a loopback that is little.
                Carriage::Datagrams => assert!(numbers.len() >= 100, "{}", numbers.len()),
                Carriage::Stream => assert_eq!(numbers, (0..150).collect::<Vec<_>>(), "in order"),
                Carriage::StreamPerPacket => assert_eq!(numbers.len(), 150),
            }
            for packet in received.iter().filter(|packet| packet.call == call) {
                let sent = report.sent[usize::try_from(packet.number).unwrap()];
                assert!(sent.at <= packet.at, "one clock: {sent:?}, {packet:?}");
            }
        }
        assert!(received.is_sorted_by_key(|packet| packet.at));
    }
}

#[test]
fn every_congestion_control_carries_a_call() {
    for algorithm in Algorithm::ALL {
        let settings =
            VoiceSettings { send_buffer: 1_000, ..VoiceSettings::call(Carriage::Stream, algorithm) };
        let (reports, received) = runtime().block_on(calls(settings, 40));
        assert!(
            reports.iter().all(|report| report.lost.is_none() && report.sent.len() == 40),
            "{algorithm:?}"
        );
        assert_eq!(received.len(), 80, "{algorithm:?}");
    }
}

#[test]
fn the_oldest_is_thrown_away_where_too_much_waits() {
    // 64 kB at once, a window of 12 kB, and room for ten packets to wait.
    let settings =
        VoiceSettings { send_buffer: 10, ..VoiceSettings::call(Carriage::Stream, Algorithm::Reno) };
    let (report, received) = runtime().block_on(async {
        let clock = clock();
        let Listening { peer, key, hang_up, received: listening } = listen(&settings, &clock);
        let sender =
            VoiceSender::connect(socket(), peer, key, &settings, Arc::clone(&clock), 0).await.unwrap();
        let spoken: Vec<Spoken> = (0..400).map(|number| Spoken { at: Time(0), number, bytes: 160 }).collect();
        let report = sender.run(&spoken).await;
        hang_up.send(()).unwrap();
        (report, listening.await.unwrap())
    });
    assert_eq!(report.thrown_away, 390, "all were spoken before anything could be sent");
    let numbers: Vec<u32> = received.iter().map(|packet| packet.number).collect();
    assert_eq!(numbers, (390..400).collect::<Vec<_>>());
    assert_eq!(report.sent.len(), 10);
}

#[test]
fn nobody_else_is_spoken_to() {
    let settings = VoiceSettings::call(Carriage::Datagrams, Algorithm::Reno);
    let error = runtime().block_on(async {
        let clock = clock();
        let Listening { peer, key: mut other, hang_up, received: listening } = listen(&settings, &clock);
        other.0[0] ^= 1;
        let error = VoiceSender::connect(socket(), peer, other, &settings, clock, 0).await.unwrap_err();
        hang_up.send(()).unwrap();
        assert_eq!(listening.await.unwrap(), []);
        error
    });
    assert!(matches!(error, QuicIoError::Connect { .. }), "{error}");
}

#[test]
fn a_call_to_nobody_ends() {
    let settings = VoiceSettings {
        idle_timeout: Duration::from_secs(1),
        keep_alive: Duration::from_millis(300),
        ..VoiceSettings::call(Carriage::Datagrams, Algorithm::Reno)
    };
    let silent = socket();
    let peer: SocketAddr = silent.local_addr().unwrap();
    let key = ServerKey([7; 32]);
    let result = runtime().block_on(VoiceSender::connect(socket(), peer, key, &settings, clock(), 0));
    assert!(matches!(result, Err(QuicIoError::Connect { .. })));
}

#[test]
fn a_call_whose_receiver_goes_away_says_so() {
    let settings = VoiceSettings::call(Carriage::Datagrams, Algorithm::Reno);
    let report = runtime().block_on(async {
        let clock = clock();
        let Listening { peer, key, hang_up, received: listening } = listen(&settings, &clock);
        let sender =
            VoiceSender::connect(socket(), peer, key, &settings, Arc::clone(&clock), 0).await.unwrap();
        // An hour of speech.
        let late = Time(clock().0 + 3_600_000_000);
        let spoken = [Spoken { at: late, number: 0, bytes: 160 }, Spoken { at: late, number: 1, bytes: 160 }];
        let speaking = tokio::spawn(async move { sender.run(&spoken).await });
        hang_up.send(()).unwrap();
        listening.await.unwrap();
        speaking.await.unwrap()
    });
    assert!(report.lost.is_some());
    assert_eq!((report.thrown_away, report.sent.len()), (2, 0));
}
