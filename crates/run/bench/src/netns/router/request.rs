//! What a run asks for, in the words of real sockets.

use guestright_experiment::{SettingError, Settings};
use guestright_identity::Suite;
use guestright_tunnel::overhead::Mode;
use guestright_units::Seed;
use guestright_world::tcp::Setup;
use std::time::Duration;

/// The longest run.
const UNTIL_MAX: Duration = Duration::from_secs(600);
/// How long Linux waits for a second segment before it acknowledges one.
const ACK_DELAY_MS: f64 = 40.0;
/// The most without window scaling.
const WINDOW_MAX: u32 = 65_535;
/// Segments that may be on their way at first: in Linux 2.6.8, and by RFC 5681 where they are as long as Ethernet's.
const FIRST_WINDOW_LINUX: &str = "2";
const FIRST_WINDOW_RFC: &str = "3";

#[derive(Clone, Debug)]
pub(in super::super) struct Request {
    /// What is between the hosts, and how a row is made: the simulator's.
    pub(in super::super) setup: Setup,
    pub(super) until: Duration,
    pub(super) sack: bool,
    pub(super) window: u32,
    /// Segments.
    pub(super) first_window: &'static str,
    /// How receipts are signed that the router verifies.
    pub(super) suite: Option<Suite>,
}

impl Request {
    /// Of the completed settings of the testbed.
    pub(in super::super) fn read(settings: &Settings, seed: Seed) -> Result<Self, SettingError> {
        let unfit = |setting: &str, reason: String| Err(SettingError::unfit(setting, reason));
        let recovery = settings.text("tcp.recovery")?;
        if recovery == "reno" {
            let reason =
                "Linux repairs losses as NewReno does, or by selective acknowledgements; take one of these";
            return unfit("tcp.recovery", reason.to_owned());
        }
        let delay = settings.float("tcp.ack_delay_ms")?;
        if (delay - ACK_DELAY_MS).abs() > f64::EPSILON {
            return unfit(
                "tcp.ack_delay_ms",
                format!("the kernel waits {ACK_DELAY_MS} ms, and cannot be told otherwise"),
            );
        }
        let window: u32 = settings.whole("tcp.window_bytes")?;
        if window > WINDOW_MAX {
            return unfit(
                "tcp.window_bytes",
                format!("without window scaling, as in the paper's day, {WINDOW_MAX} are the most"),
            );
        }
        let setup = Setup::new(settings, seed)?;
        let is_sealed = setup.tunnel().is_some_and(|tunnel| tunnel.mode != Mode::Transport);
        if setup.has_tunnel() && !is_sealed {
            let reason = "on real sockets packets are sealed by ESP in the modes tunnel and l2tp, with the lengths \
                          of RFC 4303 and L2TP's length field";
            return unfit("tunnel", reason.to_owned());
        }
        let until = Duration::from_nanos(setup.until().0);
        if until > UNTIL_MAX {
            return unfit(
                "until_s",
                format!(
                    "real time passes no faster: at most {} on real sockets, with so few `bytes` that transfers end \
                     before",
                    UNTIL_MAX.as_secs()
                ),
            );
        }
        let suite = match setup.receipts() {
            None => None,
            Some((_, name)) => Some(suite(name).ok_or_else(|| {
                let reason = format!(
                    "this program cannot verify receipts of {name}; build it with `--features legacy-suites`"
                );
                SettingError::unfit("receipts.suite", reason)
            })?),
        };
        let first_window = if settings.bool("tcp.linux")? { FIRST_WINDOW_LINUX } else { FIRST_WINDOW_RFC };
        Ok(Self { setup, until, sack: recovery == "sack", window, first_window, suite })
    }
}

/// The suite of which the testbed has the time.
fn suite(name: &str) -> Option<Suite> {
    let name = match name {
        "ecdsa-160" => "ecdsa-secp160r1",
        "ecdsa-224" => "ecdsa-secp224r1",
        "p256" => "ecdsa-p256",
        other => other,
    };
    Suite::ALL.iter().copied().find(|suite| suite.name() == name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use guestright_experiment::Testbed;
    use guestright_world::Tcp;

    fn read(settings: Settings) -> Result<Request, SettingError> {
        let settings = settings.complete(Tcp.settings()).unwrap();
        Request::read(&settings, Seed::from_number(1))
    }

    #[test]
    fn what_has_no_meaning_on_real_sockets_is_refused_by_name() {
        let short = || Settings::new().with("until_s", 60.0);
        let esp = || short().with("tunnel", "esp");
        let cases = [
            (Settings::new(), "until_s"),
            (short().with("tcp.recovery", "reno"), "tcp.recovery"),
            (short().with("tcp.ack_delay_ms", 200.0), "tcp.ack_delay_ms"),
            (short().with("tcp.window_bytes", 131_072), "tcp.window_bytes"),
            (short().with("tunnel", "wireguard"), "tunnel"),
            (esp().with("esp.mode", "transport"), "tunnel"),
            (esp().with("esp.mode", "l2tp").with("l2tp.length", false), "tunnel"),
            (esp().with("esp.sizes", "as-computed"), "tunnel"),
        ];
        for (settings, want) in cases {
            let error = read(settings).unwrap_err();
            assert_eq!(error.setting(), want, "{error}");
        }
        assert!(read(short()).unwrap().setup.tunnel().is_none());
        assert!(read(esp().with("esp.mode", "l2tp")).unwrap().setup.tunnel().is_some());
    }

    /// What cannot be verified is not left out: the run would be one without receipts.
    #[test]
    fn a_suite_that_is_not_built_in_is_refused() {
        for name in ["rsa-1024", "rsa-2048", "ecdsa-160", "ecdsa-224", "ed25519", "p256"] {
            let settings = Settings::new().with("until_s", 60.0).with("receipts.suite", name);
            match (suite(name), read(settings)) {
                (Some(suite), read) => assert_eq!(read.unwrap().suite, Some(suite)),
                (None, read) => {
                    assert_eq!(read.unwrap_err().setting(), "receipts.suite");
                    assert!(!["ed25519", "p256"].contains(&name), "{name}");
                }
            }
        }
        assert!(read(Settings::new().with("until_s", 60.0)).unwrap().suite.is_none());
    }
}
