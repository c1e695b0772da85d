//! The home's ports, mapped on the household's router for as long as the home runs.

use guestright_error::RunError;
use guestright_portmap::{Event, Keeper, Timeouts, Wanted, keep};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::ops::RangeInclusive;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::watch;

/// The router keeps 16 ports for us at most; a home has four others.
const MAPPED_MEDIA_MAX: usize = 12;

/// Keeps the mappings; dropping it takes them away, within seconds.
pub(super) struct PortMapping {
    status: Arc<Mutex<BTreeMap<Wanted, Value>>>,
    external: watch::Receiver<Option<Ipv4Addr>>,
    _keeper: Keeper,
}

impl PortMapping {
    /// Asks the router, in a thread of its own, and goes on asking.
    pub(super) fn start(wanted: Vec<Wanted>) -> Result<Self, RunError> {
        let (keeper, events) = keep(wanted, Timeouts::default()).map_err(RunError::network)?;
        let status = Arc::<Mutex<BTreeMap<Wanted, Value>>>::default();
        let latest = Arc::clone(&status);
        let (at, external) = watch::channel(None);
        let started = std::thread::Builder::new().name("portmap-log".to_owned()).spawn(move || {
            for event in events {
                if let Event::Mapped { mapping, .. } = &event {
                    at.send_replace(Some(*mapping.external.ip()));
                }
                let (wanted, value) = describe(&event);
                latest.lock().unwrap_or_else(PoisonError::into_inner).insert(wanted, value);
            }
        });
        started.map_err(RunError::network)?;
        Ok(Self { status, external, _keeper: keeper })
    }

    /// The address that the router last said others see, once it has said one.
    pub(super) fn external(&self) -> watch::Receiver<Option<Ipv4Addr>> {
        self.external.clone()
    }

    /// How it stands with each port, for `home status`.
    pub(super) fn status(&self) -> Value {
        let status = self.status.lock().unwrap_or_else(PoisonError::into_inner);
        status
            .iter()
            .map(|(wanted, value)| (wanted.to_string(), value.clone()))
            .collect::<serde_json::Map<_, _>>()
            .into()
    }
}

/// Logs what has happened, and describes it for the status.
fn describe(event: &Event) -> (Wanted, Value) {
    match event {
        Event::Mapped { mapping, reach } => {
            let (wanted, external, method) = (mapping.wanted, mapping.external, mapping.method);
            tracing::info!(%wanted, %method, "the household's router has mapped a port");
            if let Some(advice) = reach.advice() {
                tracing::warn!(name: "mapping_unreachable", %wanted, "mapped, but not reachable from the Internet: {advice}");
            }
            if external.port() != wanted.port {
                tracing::warn!(
                    name: "another_outside_port",
                    %wanted, got = external.port(), "the router has given another port outside: members \
                               need it in their configurations (team gateway init --endpoint, --port)");
            }
            let value = json!({ "external": external.to_string(), "method": method.to_string(),
                "reach": reach.to_string(), "to_do": reach.advice() });
            (wanted, value)
        }
        Event::Failed { wanted, reasons } => {
            let reasons: Vec<_> = reasons.iter().map(ToString::to_string).collect();
            tracing::warn!(%wanted, ?reasons, "the household's router has not mapped a port; `guestright doctor` says more");
            (*wanted, json!({ "external": null, "reasons": reasons }))
        }
    }
}

/// The ports of media that the household's router is asked for: all, if they are few.
pub(super) fn media_ports(ports: RangeInclusive<u16>) -> impl Iterator<Item = u16> {
    let few = ports.len() <= MAPPED_MEDIA_MAX;
    if !few {
        tracing::info!(
            most = MAPPED_MEDIA_MAX,
            "too many media ports to ask the household's router for: forward them by hand, or choose fewer"
        );
    }
    ports.filter(move |_| few)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_router_is_asked_for_all_media_ports_or_none() {
        let ports = |first, last| media_ports(first..=last).collect::<Vec<_>>();
        assert_eq!(ports(20_000, 20_011), (20_000..=20_011).collect::<Vec<_>>());
        assert_eq!((ports(20_000, 20_012), ports(20_000, 29_999)), (vec![], vec![]));
    }
}
