//! Makes the runs that another simulator made.

use super::agents::{self, Agent, BULK_BYTES, BULK_WINDOW, BYTES, CALL_WINDOW};
use super::scenario::{Case, END};
use super::verdict::{Counts, Measured};
use guestright_congestion::Controller;
use guestright_engine::{Instant, Nanos, Streams};
use guestright_transport::Errors;
use guestright_transport::path::{Call, Carrier, FlowReport, Path, PathConfig, Transfer, Watch};
use guestright_units::Seed;

/// Packets are late that come later than this after the one before (paper C, section 4.3).
const THRESHOLD: Nanos = Nanos::from_millis(300);

/// What we measure in these cases.
///
/// # Errors
///
/// If a case cannot be run.
pub(crate) fn measure(cases: impl IntoIterator<Item = Case>) -> Result<Measured, String> {
    cases.into_iter().map(|case| Ok((case, run(&case)?))).collect()
}

/// One run.
///
/// # Errors
///
/// If it cannot be.
pub(crate) fn run(case: &Case) -> Result<Counts, String> {
    let drawn = case.load.draw()?;
    let to_message = |error: guestright_transport::SettingsError| error.to_string();
    let streams = Streams::new(Seed::from_number(case.load.seed));
    let late = Late { last: vec![None; case.load.flows as usize], late: 0 };
    let config = PathConfig {
        errors: Errors::None,
        reverse_errors: Errors::None,
        jitter: PathConfig::JITTER,
        ..PathConfig::paper_c()
    };
    let mut path = Path::<Box<dyn Controller>, Late>::watched(config, &streams, late).map_err(to_message)?;
    for (arrivals, [there, back]) in drawn.arrivals.into_iter().zip(drawn.errors) {
        let carrier = match case.agent {
            Agent::Udp => Carrier::Udp { header_bytes: 0 },
            Agent::Reno | Agent::NewReno | Agent::Vegas => {
                Carrier::Tcp(agents::carrier(case.agent, BYTES, CALL_WINDOW)?)
            }
        };
        let errors = Some([Errors::Scripted(there), Errors::Scripted(back)]);
        path.add_call(Call { arrivals, packet_bytes: BYTES, carrier, errors }).map_err(to_message)?;
    }
    for start in drawn.starts {
        let tcp = agents::carrier(Agent::Reno, BULK_BYTES, BULK_WINDOW)?;
        path.add_transfer(Transfer { start, bytes: None, tcp }).map_err(to_message)?;
    }
    path.run(END);
    let report = path.report();
    let calls = |of: fn(&FlowReport) -> u64| report.calls.iter().map(of).sum();
    let transfers = |of: fn(&FlowReport) -> u64| report.transfers.iter().map(of).sum();
    Ok(Counts {
        made: calls(|call| call.made),
        sent: calls(|call| call.sent + call.empty_sent),
        delivered: calls(|call| call.delivered),
        late: path.watch().late,
        delivered_squares: calls(|call| call.delivered * call.delivered),
        again: calls(|call| call.again),
        timeouts: calls(|call| call.sender.map_or(0, |sender| sender.timeouts)),
        first_drops: calls(|call| call.dropped_first),
        second_drops: calls(|call| call.dropped_second),
        lost: calls(|call| call.errors),
        acks_lost: calls(|call| call.back_lost),
        bulk_delivered: transfers(|transfer| transfer.delivered_bytes / u64::from(BULK_BYTES)),
        bulk_drops: transfers(|transfer| transfer.dropped_second),
    })
}

/// Counts packets that come long after the one before.
struct Late {
    last: Vec<Option<Instant>>,
    late: u64,
}

impl Watch for Late {
    fn delivered(&mut self, flow: u32, _number: u32, _made: Instant, now: Instant) {
        let last = &mut self.last[flow as usize];
        self.late += u64::from(last.is_some_and(|last| now.since(last) > THRESHOLD));
        *last = Some(now);
    }
}
