//! The home's ports, mapped on the household's router for as long as the home runs.

use crate::failure::Failure;
use guestright_portmap::{Event, Keeper, Wanted, keep};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// Keeps the mappings; dropping it takes them away, within seconds.
pub(super) struct PortMapping {
    says: Arc<Mutex<BTreeMap<Wanted, Value>>>,
    _keeper: Keeper,
}

impl PortMapping {
    /// Asks the router, in a thread of its own, and goes on asking.
    pub(super) fn start(wanted: Vec<Wanted>) -> Result<Self, Failure> {
        let (keeper, events) = keep(wanted).map_err(Failure::network)?;
        let says = Arc::<Mutex<BTreeMap<Wanted, Value>>>::default();
        let latest = Arc::clone(&says);
        std::thread::Builder::new().name("portmap-log".to_owned()).spawn(move || {
            for event in events {
                let (wanted, value) = tell(&event);
                latest.lock().unwrap_or_else(PoisonError::into_inner).insert(wanted, value);
            }
        })?;
        Ok(Self { says, _keeper: keeper })
    }

    /// How it stands with each port, for `home status`.
    pub(super) fn status(&self) -> Value {
        let says = self.says.lock().unwrap_or_else(PoisonError::into_inner);
        says.iter()
            .map(|(wanted, value)| (wanted.to_string(), value.clone()))
            .collect::<serde_json::Map<_, _>>()
            .into()
    }
}

/// Logs what has happened, and says it for the status.
fn tell(event: &Event) -> (Wanted, Value) {
    match event {
        Event::Mapped { mapping, reach } => {
            let (wanted, external, method) = (mapping.wanted, mapping.external, mapping.method);
            tracing::info!(%wanted, %method, "the household's router has mapped a port");
            if let Some(advice) = reach.advice() {
                tracing::warn!(%wanted, "mapped, but not reachable from the Internet: {advice}");
            }
            if external.port() != wanted.port {
                tracing::warn!(%wanted, got = external.port(), "the router has given another port outside: members \
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
