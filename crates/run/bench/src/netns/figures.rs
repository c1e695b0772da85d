//! The row of a run on real sockets: the simulator's, without what nobody can know there.

use super::emulated::Measured;
use super::request::{Carrier, Request};
use guestright_experiment::{Outcome, SettingError};
use guestright_transport::path::FlowReport;
use guestright_world::transports::Watched;

/// Kernels count no recoveries, so the loss that equation (1) is about is unknown.
const MODEL: [&str; 3] = ["model_kbps", "model_ratio", "epoch_rtts"];

/// Makes it.
pub(super) fn outcome(request: &Request, measured: &Measured) -> Result<Outcome, SettingError> {
    let crossed = measured.crossings.iter().map(|crossing| Watched::Crossed {
        flow: crossing.flow,
        sent: crossing.sent,
        at: crossing.at,
        fresh: crossing.fresh,
    });
    let deliveries = measured.deliveries.iter().filter_map(|delivery| {
        let made = *measured.arrivals.get(delivery.flow as usize)?.get(delivery.number as usize)?;
        Some(Watched::Delivered { flow: delivery.flow, number: delivery.number, made, at: delivery.at })
    });
    // Counts of the two do not depend on each other: each is in the order of time.
    let mut outcome = request.setup.row(&measured.report, crossed.chain(deliveries))?;
    let mut unknown = MODEL.to_vec();
    match request.carrier {
        Carrier::Udp => {}
        Carrier::Tcp { .. } => {
            if measured.report.calls.iter().any(|call| call.sender.is_none()) {
                unknown.push("timeouts_per_flow");
            }
        }
        // What is encrypted does not say what it brings, or whether it brings it again.
        Carrier::Quic(_) => unknown.extend(["retransmitted_rate", "index_network", "timeouts_per_flow"]),
    }
    for metric in unknown {
        outcome.set(metric, None);
    }
    Ok(outcome)
}

/// What is lost and what is on its way, of all calls.
pub(super) fn sum(calls: &[FlowReport], of: impl Fn(&FlowReport) -> u64) -> u64 {
    calls.iter().map(of).sum()
}
