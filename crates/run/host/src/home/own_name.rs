//! The home's own name in the DNS, which follows its address (dynamic update, RFC 2136).
//!
//! A provider gives many households another address now and then. Members, and homes of others, know a name.

use guestright_directory::HostName;
use guestright_error::RunError;
use serde_json::Value;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use tokio::sync::watch;

/// `[dynamic_dns]`.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The home's name.
    pub name: HostName,
    /// The primary server of the zone.
    pub server: SocketAddr,
    /// The zone that the name is in.
    pub zone: String,
    /// The key for updates, as `tsig-keygen` writes it: the owner's file alone (mode 600).
    pub key_file: PathBuf,
    /// How long others may keep the address, in seconds.
    pub ttl_seconds: u32,
    /// The address, if it is not to be found out.
    pub address: Option<Ipv4Addr>,
}

#[cfg(feature = "dns")]
pub(super) use with_dns::OwnName;
#[cfg(not(feature = "dns"))]
pub(super) use without_dns::OwnName;

#[cfg(feature = "dns")]
mod with_dns {
    use super::{Ipv4Addr, RunError, Settings, SocketAddr, Value, watch};
    use guestright_dns::{UpdateSettings, Updater};
    use guestright_exchange::update_key;
    use guestright_portmap::Reach;
    use serde_json::json;
    use std::net::IpAddr;
    use std::sync::{Arc, Mutex, PoisonError};
    use std::time::{Duration, Instant};
    use tokio::task::JoinHandle;

    /// How often the own address is looked at, which asks the kernel and nobody else.
    const LOOK_EVERY: Duration = Duration::from_secs(5);
    /// How often the server is asked whether the address is still there.
    const ASK_EVERY: Duration = Duration::from_secs(3_600);
    /// How long after a failure it is tried again: at first, and at most.
    const AGAIN: (Duration, Duration) = (Duration::from_secs(10), Duration::from_secs(1_800));
    const UPDATE_MAX: Duration = Duration::from_secs(20);

    /// How it stands.
    #[derive(Clone, Debug, Default, PartialEq, Eq)]
    struct Standing {
        /// What the DNS says, as far as we know.
        published: Option<Ipv4Addr>,
        problem: Option<String>,
    }

    /// Keeps the name, until it is dropped. What is in the DNS then stays there.
    pub(in crate::home) struct OwnName {
        name: String,
        standing: Arc<Mutex<Standing>>,
        task: JoinHandle<()>,
    }

    impl OwnName {
        /// Starts to keep the name. `mapped` is the address that the household's router says it has. Needs a tokio runtime.
        ///
        /// # Errors
        /// The key for updates cannot be read.
        pub(in crate::home) fn start(
            settings: &Settings,
            mapped: watch::Receiver<Option<Ipv4Addr>>,
        ) -> Result<Self, RunError> {
            let updater = Updater::new(UpdateSettings {
                server: settings.server,
                zone: settings.zone.clone(),
                key: update_key(&settings.key_file)?,
                ttl: settings.ttl_seconds,
                for_people: false,
                timeout: UPDATE_MAX,
            });
            let standing = Arc::<Mutex<Standing>>::default();
            let task = tokio::spawn(keep(updater, settings.clone(), mapped, Arc::clone(&standing)));
            Ok(Self { name: settings.name.to_string(), standing, task })
        }

        /// For `home status`.
        pub(in crate::home) fn status(&self) -> Value {
            let Standing { published, problem } =
                self.standing.lock().unwrap_or_else(PoisonError::into_inner).clone();
            json!({ "name": self.name, "address": published, "problem": problem })
        }
    }

    impl Drop for OwnName {
        fn drop(&mut self) {
            self.task.abort();
        }
    }

    async fn keep(
        updater: Updater,
        settings: Settings,
        mapped: watch::Receiver<Option<Ipv4Addr>>,
        shown: Arc<Mutex<Standing>>,
    ) {
        let mut due = Due::default();
        let mut standing = Standing::default();
        loop {
            let router = *mapped.borrow();
            match choose(settings.address, own_address(settings.server), router) {
                Ok(address) if due.is_due(address, Instant::now()) => {
                    match updater.publish_address(&settings.name, address).await {
                        Ok(published) => {
                            due.succeeded(address, Instant::now());
                            tracing::info!(name = %settings.name, %address, ?published, "the home's name is in the DNS");
                            standing = Standing { published: Some(address), problem: None };
                        }
                        Err(error) => {
                            due.failed(address, Instant::now());
                            let error = error.to_string();
                            tracing::warn!(name = %settings.name, %address, error, "the home's name could not be put into the DNS");
                            standing.problem = Some(error);
                        }
                    }
                }
                Ok(_) => {}
                Err(why) => {
                    if standing.problem.as_deref() != Some(why.as_str()) {
                        tracing::warn!(name: "own_name_unknown", name = %settings.name, "the home's name is not put into the DNS: {why}");
                    }
                    standing.problem = Some(why);
                    // Whatever address comes next is told at once, also the one from before.
                    due = Due::default();
                }
            }
            shown.lock().unwrap_or_else(PoisonError::into_inner).clone_from(&standing);
            tokio::time::sleep(LOOK_EVERY).await;
        }
    }

    /// When the server is to be told.
    #[derive(Debug)]
    struct Due {
        address: Option<Ipv4Addr>,
        at: Option<Instant>,
        pause: Duration,
    }

    impl Default for Due {
        fn default() -> Self {
            Self { address: None, at: None, pause: AGAIN.0 }
        }
    }

    impl Due {
        /// Whether this address is to be put there now.
        fn is_due(&mut self, address: Ipv4Addr, now: Instant) -> bool {
            if self.address != Some(address) {
                *self = Self { address: Some(address), ..Self::default() };
            }
            self.at.is_none_or(|at| now >= at)
        }

        fn succeeded(&mut self, address: Ipv4Addr, now: Instant) {
            *self = Self { address: Some(address), at: Some(now + ASK_EVERY), pause: AGAIN.0 };
        }

        fn failed(&mut self, address: Ipv4Addr, now: Instant) {
            let pause = (self.pause * 2).min(AGAIN.1);
            *self = Self { address: Some(address), at: Some(now + self.pause), pause };
        }
    }

    /// This computer's address towards the server.
    fn own_address(server: SocketAddr) -> Option<Ipv4Addr> {
        match server.ip() {
            IpAddr::V4(server) => guestright_portmap::own_address(server).ok(),
            IpAddr::V6(_) => None,
        }
    }

    /// The address at which others reach this home, or why there is none: what the household says, this computer's own, or
    /// its router's.
    fn choose(
        fixed: Option<Ipv4Addr>,
        own: Option<Ipv4Addr>,
        router: Option<Ipv4Addr>,
    ) -> Result<Ipv4Addr, String> {
        let found = [own, router].into_iter().flatten().find(|address| Reach::of(*address) == Reach::Public);
        if let Some(address) = fixed.or(found) {
            return Ok(address);
        }
        Err(match (own, router) {
            (_, Some(router)) => {
                format!("the router's address {router}: {}", Reach::of(router).advice().unwrap_or_default())
            }
            (Some(own), None) => format!(
                "this computer's address {own} is {}, and the router has not said which it has: with `port_mapping = \
                 true` in [gateway] it is asked; or give `address` in [dynamic_dns]",
                Reach::of(own)
            ),
            (None, None) => "this computer has no network at the moment".to_owned(),
        })
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn what_others_reach_is_published_and_nothing_else() {
            let address = |text: &str| Some(text.parse().unwrap());
            let [public, other] = ["8.8.8.8", "9.9.9.9"].map(address);
            let [private, carrier] = ["192.168.1.5", "100.64.0.1"].map(address);
            for (fixed, own, router, want) in [
                (None, public, None, public),
                (None, private, public, public),
                (None, public, other, public),
                (other, public, public, other),
                (private, public, None, private),
                (None, None, public, public),
            ] {
                assert_eq!(choose(fixed, own, router).ok(), want, "{fixed:?} {own:?} {router:?}");
            }
            for (own, router, words) in [
                (private, None, "port_mapping"),
                (private, carrier, "provider"),
                (private, address("10.0.0.1"), "another router"),
                (None, None, "no network"),
                (address("127.0.0.1"), None, "address"),
            ] {
                let why = choose(None, own, router).unwrap_err();
                assert!(why.contains(words), "{why}");
            }
        }

        #[test]
        fn a_new_address_is_told_at_once_and_a_failure_is_tried_again_later_and_later() {
            let (first, second) = (Ipv4Addr::new(8, 8, 8, 8), Ipv4Addr::new(9, 9, 9, 9));
            let (mut due, mut now) = (Due::default(), Instant::now());
            assert!(due.is_due(first, now));
            let mut pauses = vec![];
            for _ in 0..10 {
                due.failed(first, now);
                let began = now;
                while !due.is_due(first, now) {
                    now += Duration::from_secs(1);
                }
                pauses.push((now - began).as_secs());
            }
            assert_eq!(pauses, [10, 20, 40, 80, 160, 320, 640, 1_280, 1_800, 1_800]);
            assert!(due.is_due(second, now), "it does not wait for what was wrong with another address");
            due.succeeded(second, now);
            assert!(!due.is_due(second, now + ASK_EVERY - LOOK_EVERY));
            assert!(due.is_due(second, now + ASK_EVERY));
            due.failed(second, now);
            assert!(due.is_due(second, now + AGAIN.0));
        }
    }
}

#[cfg(not(feature = "dns"))]
mod without_dns {
    use super::{Ipv4Addr, RunError, Settings, Value, watch};

    /// This program was built without.
    pub(in crate::home) enum OwnName {}

    impl OwnName {
        pub(in crate::home) fn start(
            _: &Settings,
            _: watch::Receiver<Option<Ipv4Addr>>,
        ) -> Result<Self, RunError> {
            Err(RunError::config("[dynamic_dns] needs a program that was built with the feature `dns`"))
        }

        pub(in crate::home) fn status(&self) -> Value {
            match *self {}
        }
    }
}
