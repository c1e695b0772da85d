//! What a run asks for, in the words of real sockets. What has no meaning there is refused by its name.

use super::addresses::FLOWS_MAX;
use guestright_experiment::{SettingError, Settings};
use guestright_quic_io::{Algorithm, Carriage};
use guestright_world::transports::Setup;
use std::time::Duration;

/// The longest run.
const DURATION_MAX: Duration = Duration::from_secs(600);
/// What a packet on a stream has to have room for: its number and its time.
const LABEL_BYTES: u32 = 12;

#[derive(Clone, Debug)]
pub(super) struct Request {
    /// Links, arrivals, and how a row is made: the simulator's.
    pub(super) setup: Setup,
    pub(super) carrier: Carrier,
    pub(super) packet_bytes: u32,
    pub(super) duration: Duration,
    /// Packets that may wait to be sent for the first time.
    pub(super) send_buffer: usize,
    pub(super) tcp: Tcp,
    pub(super) bulk: Bulk,
}

/// What carries the calls.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Carrier {
    Udp,
    /// The kernel's TCP with this congestion control.
    Tcp {
        congestion: String,
    },
    Quic(Quic),
}

/// How calls are carried over QUIC.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Quic {
    pub(super) carriage: Carriage,
    pub(super) algorithm: Algorithm,
    pub(super) ack_every: u32,
    pub(super) mtu_discovery: bool,
}

/// What is asked of the kernel's TCP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Tcp {
    pub(super) sack: bool,
    /// Whether every segment is acknowledged at once.
    pub(super) quick: bool,
    /// The most segments on their way.
    pub(super) window: u32,
    pub(super) min_rto_ms: u32,
    pub(super) initial_window: u32,
    pub(super) nagle: bool,
    pub(super) ecn: bool,
}

/// File transfers beside the calls.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Bulk {
    pub(super) flows: u32,
    pub(super) congestion: String,
    pub(super) segment_bytes: u32,
    pub(super) window: u32,
}

impl Request {
    /// Of the completed settings of the testbed. `offered` are the congestion controls that the kernel has.
    pub(super) fn read(settings: &Settings, offered: &[String]) -> Result<Self, SettingError> {
        refuse_switches(settings)?;
        let carrier = carrier(settings, offered)?;
        let flows: u32 = settings.whole("flows")?;
        let bulk_flows: u32 = settings.whole("bulk.flows")?;
        for (setting, got) in [("flows", flows), ("bulk.flows", bulk_flows)] {
            if got > FLOWS_MAX {
                let reason = format!("real sockets carry at most {FLOWS_MAX}");
                return Err(SettingError::unfit(setting, reason));
            }
        }
        let packet_bytes: u32 = settings.whole("packet_bytes")?;
        if carrier != Carrier::Udp && packet_bytes < LABEL_BYTES {
            let reason = format!(
                "{packet_bytes} bytes have no room for a number and a time, which take {LABEL_BYTES}"
            );
            return Err(SettingError::unfit("packet_bytes", reason));
        }
        let bulk_congestion = settings.text("bulk.transport")?;
        let bulk = Bulk {
            flows: bulk_flows,
            congestion: if bulk_flows == 0 {
                bulk_congestion.to_owned()
            } else {
                kernel_name("bulk.transport", bulk_congestion, offered)?
            },
            segment_bytes: settings.whole("bulk.segment_bytes")?,
            window: settings.whole("bulk.window")?,
        };
        let setup = Setup::new(settings)?;
        let duration = Duration::from_nanos(setup.duration().0);
        if duration > DURATION_MAX {
            let reason = format!("real time passes no faster: at most {DURATION_MAX:?} on real sockets");
            return Err(SettingError::unfit("duration_s", reason));
        }
        Ok(Self {
            setup,
            carrier,
            packet_bytes,
            duration,
            send_buffer: settings.whole("send_buffer")?,
            tcp: tcp(settings)?,
            bulk,
        })
    }
}

fn refuse_switches(settings: &Settings) -> Result<(), SettingError> {
    if settings.text("profile")? != "corrected" {
        return Err(SettingError::unfit(
            "profile",
            "real sockets do not have the quirks of ns-2; leave it at corrected",
        ));
    }
    for switch in
        ["headers", "syn", "idle_timer", "senders", "westwood_divisor", "tick", "vegas_unsent", "send_buffer"]
    {
        let name = format!("switch.{switch}");
        if settings.text(&name)? == "on" {
            return Err(SettingError::unfit(&name, "real sockets cannot do as ns-2 does; take it away"));
        }
    }
    if settings.float("access.delay_spread_ms")? > 0.0 {
        let reason = "the emulated links of hosts are alike; take it away";
        return Err(SettingError::unfit("access.delay_spread_ms", reason));
    }
    let every = every(settings)?;
    if every > 2.0 {
        let reason =
            format!("the kernel acknowledges every segment or every second one, not every {every}th");
        return Err(SettingError::unfit("tcp.ack_every", reason));
    }
    Ok(())
}

fn carrier(settings: &Settings, offered: &[String]) -> Result<Carrier, SettingError> {
    Ok(match settings.text("transport")? {
        "udp" => Carrier::Udp,
        "quic-datagram" => quic(settings, Carriage::Datagrams)?,
        "quic-stream" if settings.bool("quic.stream_each")? => quic(settings, Carriage::StreamPerPacket)?,
        "quic-stream" => quic(settings, Carriage::Stream)?,
        other => Carrier::Tcp { congestion: kernel_name("transport", other, offered)? },
    })
}

fn quic(settings: &Settings, carriage: Carriage) -> Result<Carrier, SettingError> {
    let unknown = || SettingError::unfit("quic.congestion", "there is no such congestion control for QUIC");
    Ok(Carrier::Quic(Quic {
        carriage,
        algorithm: Algorithm::from_name(settings.text("quic.congestion")?).ok_or_else(unknown)?,
        ack_every: settings.whole("quic.ack_every")?,
        mtu_discovery: settings.bool("quic.mtu_discovery")?,
    }))
}

/// The kernel's name of a congestion control.
fn kernel_name(setting: &str, name: &str, offered: &[String]) -> Result<String, SettingError> {
    let kernels = match name {
        "reno" | "cubic" | "bbr" | "vegas" => name,
        // What Linux calls Westwood samples bandwidth once per round trip: Westwood+ (net/ipv4/tcp_westwood.c).
        "westwood-plus" => "westwood",
        _ => {
            let reason = format!(
                "no kernel has {name}; on real sockets there are udp, reno, cubic, bbr, vegas, westwood-plus, and QUIC \
                 with controllers of our own"
            );
            return Err(SettingError::unfit(setting, reason));
        }
    };
    if offered.iter().any(|offered| offered == kernels) {
        return Ok(kernels.to_owned());
    }
    let reason =
        format!("this kernel offers {}, not {kernels}; try `modprobe tcp_{kernels}`", offered.join(", "));
    Err(SettingError::unfit(setting, reason))
}

fn every(settings: &Settings) -> Result<f64, SettingError> {
    settings.float("tcp.ack_every")
}

fn tcp(settings: &Settings) -> Result<Tcp, SettingError> {
    Ok(Tcp {
        sack: settings.bool("tcp.sack")?,
        quick: every(settings)? <= 1.0,
        window: settings.whole("tcp.window")?,
        // Whole milliseconds are as fine as routes have it.
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "1 to 10000")]
        min_rto_ms: settings.float("tcp.min_rto_ms")?.ceil() as u32,
        initial_window: settings.whole("tcp.initial_window")?,
        nagle: settings.bool("tcp.nagle")?,
        ecn: settings.bool("ecn")?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use guestright_experiment::Testbed;
    use guestright_world::Transports;

    fn read(settings: &Settings, offered: &[&str]) -> Result<Request, SettingError> {
        let offered: Vec<String> = offered.iter().map(|name| (*name).to_owned()).collect();
        Request::read(&settings.complete(Transports.settings()).unwrap(), &offered)
    }

    #[test]
    fn what_has_no_meaning_on_real_sockets_is_refused_by_name() {
        let with = |name: &str, value: &str| Settings::new().with(name, value);
        let cases = [
            (with("profile", "ns2-2006"), "profile"),
            (with("switch.headers", "on"), "switch.headers"),
            (with("switch.send_buffer", "on"), "switch.send_buffer"),
            (with("transport", "real"), "transport"),
            (with("transport", "newreno"), "transport"),
            (with("transport", "tfrc"), "transport"),
            (with("bulk.transport", "aimd").with("bulk.flows", 1), "bulk.transport"),
            (Settings::new().with("duration_s", 3_000), "duration_s"),
            (Settings::new().with("flows", 9_000), "flows"),
            (with("transport", "reno").with("packet_bytes", 11), "packet_bytes"),
        ];
        for (settings, want) in cases {
            let error = read(&settings, &["reno", "cubic", "bbr"]).unwrap_err();
            assert_eq!(error.setting(), want, "{error}");
        }
        read(&Settings::new(), &[]).unwrap();
        read(&with("bulk.transport", "aimd"), &[]).unwrap();
    }

    #[test]
    fn a_congestion_control_that_the_kernel_lacks_is_said_with_those_it_has() {
        let error =
            read(&Settings::new().with("transport", "bbr"), &["reno", "cubic"]).unwrap_err().to_string();
        assert!(
            error.contains("offers reno, cubic, not bbr") && error.contains("modprobe tcp_bbr"),
            "{error}"
        );
        let westwood = Settings::new().with("transport", "westwood-plus");
        let request = read(&westwood, &["reno", "westwood"]).unwrap();
        assert_eq!(request.carrier, Carrier::Tcp { congestion: "westwood".to_owned() });
    }
}
