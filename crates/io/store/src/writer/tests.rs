use super::*;
use crate::Outcome;
use crate::sample::{Member, NOW, store};
use std::sync::mpsc::channel;
use tempfile::TempDir;

const LIMITS: WriterLimits = WriterLimits { queue_max: 8, group_max: 100 };

/// A writer that does nothing until the sender is used or dropped.
fn held(limits: WriterLimits) -> (TempDir, Writer, mpsc::Sender<()>) {
    let (directory, store) = store(1_000);
    let writer = Writer::start(store, limits).unwrap();
    let (release, wait) = channel::<()>();
    let (started, starts) = channel();
    let job = move |_: &mut Store| {
        started.send(()).unwrap();
        let _ = wait.recv();
    };
    writer.handle().run(job).unwrap();
    starts.recv().unwrap();
    (directory, writer, release)
}

#[test]
fn requests_that_wait_are_committed_together_and_answered_in_order() {
    let (_directory, writer, release) = held(LIMITS);
    let (answer, answers) = channel();
    for weight in [5, 9, 7] {
        let answer = answer.clone();
        let items = vec![Member::new(1).item(9, NOW, weight)];
        let reply =
            move |report: Result<PutReport, _>| answer.send((weight, report.unwrap().outcomes)).unwrap();
        writer.handle().put(items, NOW, reply).unwrap();
    }
    let (count, counts) = channel();
    writer.handle().run(move |store| count.send(store.count()).unwrap()).unwrap();
    drop((release, answer));
    assert_eq!(counts.recv(), Ok(1));
    let lower = Outcome::Lower { got: guestright_units::Bytes(7), known: guestright_units::Bytes(9) };
    let raised = Outcome::Raised(guestright_units::Bytes(4));
    let got: Vec<_> = answers.iter().collect();
    assert_eq!(got, [(5, vec![Outcome::New]), (9, vec![raised]), (7, vec![lower])]);
    assert_eq!(writer.stop().unwrap().count(), 1);
}

#[test]
fn a_bad_request_does_not_spoil_the_group() {
    let (_directory, writer, release) = held(LIMITS);
    let (one, two) = (Member::new(1), Member::new(2));
    let mixed = (one.item(9, NOW, 5).0, two.certificate.clone());
    let (answer, answers) = channel();
    for items in [vec![one.item(9, NOW, 5)], vec![mixed], vec![two.item(9, NOW, 5)]] {
        let answer = answer.clone();
        let reply = move |report: Result<PutReport, _>| answer.send(report.is_ok()).unwrap();
        writer.handle().put(items, NOW, reply).unwrap();
    }
    drop((release, answer));
    let mut got: Vec<_> = answers.iter().collect();
    got.sort_unstable();
    assert_eq!(got, [false, true, true]);
    assert_eq!(writer.stop().unwrap().count(), 2);
}

#[test]
fn a_full_queue_says_busy_and_never_calls_the_reply() {
    let limits = WriterLimits { queue_max: 2, ..LIMITS };
    let (_directory, writer, release) = held(limits);
    let (answer, answers) = channel();
    let put = |weight| {
        let answer = answer.clone();
        let reply = move |_| answer.send(weight).unwrap();
        writer.handle().put(vec![Member::new(1).item(9, NOW, weight)], NOW, reply)
    };
    assert_eq!([put(1), put(2)], [Ok(()), Ok(())]);
    assert_eq!(put(3), Err(StoreError::Busy { queue_max: 2 }));
    assert_eq!(writer.handle().run(|_| ()), Err(StoreError::Busy { queue_max: 2 }));
    drop((release, answer));
    assert_eq!(answers.iter().collect::<Vec<_>>(), [1, 2]);
}

#[test]
fn every_accepted_request_is_answered_also_when_the_writer_stops() {
    let (_directory, writer, release) = held(LIMITS);
    let handle = writer.handle();
    let (answer, answers) = channel();
    let put = |name: &'static str| {
        let answer = answer.clone();
        let reply = move |report: Result<PutReport, _>| answer.send((name, report.map(|_| ()))).unwrap();
        handle.put(vec![Member::new(1).item(9, NOW, 1)], NOW, reply)
    };
    put("before").unwrap();
    writer.handle.queue.send(Request::Stop).unwrap();
    put("after").unwrap();
    drop(release);
    assert_eq!(writer.stop().unwrap().count(), 1);
    assert_eq!(put("too late"), Err(StoreError::Stopped));
    drop(answer);
    let got: Vec<_> = answers.iter().collect();
    assert_eq!(got, [("before", Ok(())), ("after", Err(StoreError::Stopped))]);
}

#[test]
fn a_panic_in_a_job_leaves_no_request_unanswered() {
    let (_directory, writer, release) = held(LIMITS);
    let (answer, answers) = channel();
    writer.handle().run(|_| panic!("on purpose")).unwrap();
    let items = vec![Member::new(1).item(9, NOW, 1)];
    writer.handle().put(items, NOW, move |report| answer.send(report).unwrap()).unwrap();
    drop(release);
    assert_eq!(answers.recv(), Ok(Err(StoreError::Stopped)));
    assert_eq!(writer.stop().unwrap_err(), StoreError::Stopped);
}
