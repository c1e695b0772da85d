use super::*;
use guestright_identity::KeyId;
use std::sync::atomic::{AtomicUsize, Ordering};

const WAIT: Duration = Duration::from_millis(50);

/// A way that is asked, and never answers.
#[derive(Default)]
struct Silent(AtomicUsize);

impl Way for Silent {
    fn source(&self) -> Source {
        Source::Dns
    }

    fn wait_max(&self) -> Duration {
        WAIT
    }

    fn suits(&self, contact: &Contact) -> bool {
        contact.dns.is_some()
    }

    fn find<'a>(&'a self, _: &'a Contact, _: Option<&'a Record>) -> Finding<'a> {
        self.0.fetch_add(1, Ordering::Relaxed);
        Box::pin(std::future::pending())
    }

    fn set_own(&self, _: &[(String, Record)]) {}
}

fn contact(number: u8) -> Contact {
    let dns = guestright_directory::HostName::new("bob.example").ok();
    Contact { dns, ..Contact::new("Bob", KeyId([number; 24])).unwrap() }
}

fn ways(silent: &Arc<Silent>) -> (Ways, mpsc::Receiver<WayEvent>) {
    let (events, receiver) = mpsc::channel(EVENTS_MAX);
    (Ways { all: vec![Arc::clone(silent) as Arc<dyn Way>], events, searches: Vec::new() }, receiver)
}

#[tokio::test]
async fn a_way_that_is_silent_is_given_up_and_asked_once_for_all_calls() {
    let silent = Arc::new(Silent::default());
    let (mut ways, mut events) = ways(&silent);
    assert!(
        ways.search((CallId(1), false), &contact(1), None)
            && ways.search((CallId(2), true), &contact(1), None)
    );
    let without = Contact { dns: None, ..contact(2) };
    assert!(!ways.search((CallId(3), false), &without, None), "nothing to look for it by");
    let Some(WayEvent::Searched(contact, None)) = events.recv().await else { panic!("something was found") };
    assert_eq!(ways.finish(&contact), [(CallId(1), false), (CallId(2), true)]);
    assert_eq!((silent.0.load(Ordering::Relaxed), ways.searches.len()), (1, 0));
}

#[tokio::test]
async fn no_more_than_so_many_are_looked_for_at_a_time() {
    let silent = Arc::new(Silent::default());
    let (mut ways, _events) = ways(&silent);
    let searches =
        (0..40).filter(|number| ways.search((CallId(u64::from(*number)), false), &contact(*number), None));
    assert_eq!(searches.count(), SEARCHES_MAX);
}

#[test]
fn nobodys_number_is_logged() {
    let whom = "+12025550142".to_owned();
    let described = describe(&FindError::NoAnswer { whom, seconds: 60 });
    assert!(!described.contains("2025550142") && described.contains("60 s"), "{described}");
}
