//! Settings files: TOML in, checked settings out. Unknown keys are refused with their line.

#[cfg(not(feature = "hostapd"))]
mod absent;
#[cfg(feature = "hostapd")]
mod ap_phones;
#[cfg(feature = "dns")]
mod dynamic_dns;
mod home_phones;
#[cfg(feature = "ikev2")]
mod ikev2;
mod links;
#[cfg(feature = "metrics")]
mod metrics;
#[cfg(feature = "computer")]
mod policy_file;
mod reread;
#[cfg(feature = "retention")]
mod retention;
mod source;
#[cfg(feature = "splash")]
mod splash;
#[cfg(feature = "computer")]
pub(crate) mod visit;
#[cfg(feature = "exchange")]
mod voice;
#[cfg(feature = "page")]
mod web;

#[cfg(feature = "hostapd")]
pub(crate) use ap_phones::ApPhonesSettings;
#[cfg(feature = "dns")]
pub(crate) use dynamic_dns::DynamicDnsSettings;
pub(crate) use guestright_cli::files::beside;
#[cfg(not(feature = "hostapd"))]
pub(crate) use guestright_host::absent::ApPhonesSettings;
#[cfg(not(feature = "dns"))]
pub(crate) use guestright_host::absent::DynamicDnsSettings;
#[cfg(not(feature = "metrics"))]
pub(crate) use guestright_host::absent::MetricsSettings;
#[cfg(not(feature = "radio"))]
pub(crate) use guestright_host::absent::RadioSettings;
#[cfg(not(feature = "retention"))]
pub(crate) use guestright_host::absent::RetentionSettings;
#[cfg(not(feature = "splash"))]
pub(crate) use guestright_host::absent::SplashSettings;
#[cfg(not(feature = "exchange"))]
pub(crate) use guestright_host::absent::VoiceSettings;
#[cfg(not(feature = "page"))]
pub(crate) use guestright_host::absent::WebSettings;
#[cfg(not(feature = "ikev2"))]
pub(crate) use guestright_host::absent::{Ikev2Settings, L2tpSettings};
#[cfg(feature = "radio")]
pub(crate) use guestright_host::access_point::Radio as RadioSettings;
pub(crate) use home_phones::HomePhonesSettings;
#[cfg(feature = "ikev2")]
pub(crate) use ikev2::{Ikev2Settings, L2tpSettings};
pub(crate) use links::LinksSettings;
#[cfg(feature = "metrics")]
pub(crate) use metrics::MetricsSettings;
#[cfg(feature = "metrics")]
use metrics::{AP_METRICS_PORT, HOME_METRICS_PORT};
#[cfg(feature = "computer")]
pub(crate) use policy_file::PolicyFile;
pub(crate) use reread::SettingsFile;
#[cfg(feature = "retention")]
pub(crate) use retention::RetentionSettings;
pub(crate) use source::Source;
#[cfg(feature = "splash")]
pub(crate) use splash::SplashSettings;
#[cfg(feature = "computer")]
pub(crate) use visit::VisitSettings;
#[cfg(feature = "exchange")]
pub(crate) use voice::VoiceSettings;
#[cfg(feature = "page")]
pub(crate) use web::WebSettings;

use anyhow::{Context, anyhow};
use guestright_cli::failure::{Failure, Outcome};
use guestright_cli::output::Output;
use guestright_firewall::{Shaping, Tunnels};
use guestright_host::home::gateway;
use guestright_host::home::limits::Limits as CreditLimits;
use guestright_host::{HOME_PORT, HomeAddress, PROTOCOL_PORT};
use guestright_reciprocity::{GrantRule, JudgeConfig, Limits, PerMille, Policy, RequestWeight, ServiceClass};
use guestright_roaming::access_point::{self, Window};
use guestright_roaming::home::{self, CreditConfig};
use guestright_setup::paths;
use guestright_units::{Bytes, Micros};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// `ap.toml`. Paths are relative to the file.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ApSettings {
    /// The access point's secret key.
    pub(crate) key: PathBuf,
    /// The certificate that its team made for it.
    pub(crate) certificate: PathBuf,
    /// Where the program keeps its state.
    #[serde(default = "default_ap_state")]
    pub(crate) state: PathBuf,
    /// The home: a name or an address, and a port unless it is the usual one.
    pub(crate) home: HomeAddress,
    /// The interface on which visitors arrive; nothing else may be on it.
    pub(crate) visitor_interface: String,
    /// The interface to the Internet.
    pub(crate) uplink_interface: String,
    #[serde(default = "default_port")]
    pub(crate) port: u16,
    /// How often receipts are asked for.
    #[serde(default = "default_interval")]
    pub(crate) interval_ms: u64,
    /// After how many bytes a receipt is asked for, whatever the interval.
    #[serde(default = "default_volume")]
    pub(crate) volume_bytes: u64,
    /// How many bytes a visitor of another team may leave unsigned at most; a new one may leave less.
    #[serde(default = "default_unsigned")]
    pub(crate) unsigned_bytes_max: u64,
    /// How many visitors have a session at a time. When all places are taken, members and friends take strangers'.
    #[serde(default = "default_sessions")]
    pub(crate) sessions_max: usize,
    /// After so long receipts go to the home.
    #[serde(default = "default_flush")]
    pub(crate) flush_ms: u64,
    /// Further networks that visitors must never reach, as `address/length`. Private ones are closed anyway.
    #[serde(default)]
    pub(crate) household_networks: Vec<String>,
    /// `lowest` … `high`, or `refuse`.
    #[serde(default = "default_away")]
    pub(crate) when_home_is_away: String,
    /// What is carried in a day, while the home cannot be asked, for all whom it was not asked about.
    #[serde(default = "default_away_bytes")]
    pub(crate) away_bytes_per_day: u64,
    /// The share of the line that visitors may have; without it they are not shaped.
    pub(crate) shaping: Option<ShapingSettings>,
    /// Visitors that have nothing but a tunnel.
    #[serde(default)]
    pub(crate) tunnels: TunnelSettings,
    /// The page for guests that run no program of ours; without it there is none.
    pub(crate) splash: Option<SplashSettings>,
    /// Phones that join by 802.1X; without it none do.
    pub(crate) phones: Option<ApPhonesSettings>,
    /// The radio, to say how many calls fit; without it nobody says.
    pub(crate) radio: Option<RadioSettings>,
    /// What is kept of guests, and for how long.
    #[serde(default)]
    pub(crate) retention: RetentionSettings,
    /// Metrics at a port; without it they are at the socket beside the state alone.
    pub(crate) metrics: Option<MetricsSettings>,
}

/// `[tunnels]` in `ap.toml`: what passes to and from tunnel ports without a session, so that homes can be found.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct TunnelSettings {
    /// Whether anything does.
    pub(crate) enabled: bool,
    /// The UDP ports of homes.
    pub(crate) ports: BTreeSet<u16>,
    /// Bytes an hour for one visitor.
    pub(crate) allowance_bytes: u64,
    /// Bytes an hour for one home.
    pub(crate) per_home_bytes: u64,
    /// Bytes an hour in all.
    pub(crate) per_hour_bytes: u64,
}

impl Default for TunnelSettings {
    fn default() -> Self {
        let Tunnels { ports, allowance_bytes, per_home_bytes, per_hour_bytes } = Tunnels::default();
        Self { enabled: true, ports, allowance_bytes, per_home_bytes, per_hour_bytes }
    }
}

impl TunnelSettings {
    /// What the firewall has to know, unless it is turned off.
    pub(crate) fn rules(&self) -> Option<Tunnels> {
        let Self { ports, allowance_bytes, per_home_bytes, per_hour_bytes, .. } = self.clone();
        self.enabled.then_some(Tunnels { ports, allowance_bytes, per_home_bytes, per_hour_bytes })
    }
}

/// What visitors may have of the line, all together.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ShapingSettings {
    pub(crate) down_bits_per_second: u64,
    pub(crate) up_bits_per_second: u64,
}

/// `home.toml`. Paths are relative to the file.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct HomeSettings {
    /// The home's secret key.
    pub(crate) key: PathBuf,
    /// The certificate that its team made for it.
    pub(crate) certificate: PathBuf,
    /// Where the program keeps its state, the receipts among it.
    #[serde(default = "default_home_state")]
    pub(crate) state: PathBuf,
    /// Where it awaits the programs of its team.
    #[serde(default = "default_listen")]
    pub(crate) listen: SocketAddr,
    /// The team's revocation list, if there is one.
    pub(crate) revocations: Option<PathBuf>,
    /// The directory that `team renewal init` has made, if this home renews the team's certificates.
    pub(crate) renewal: Option<PathBuf>,
    /// How many receipts are kept; the oldest go first.
    #[serde(default = "default_receipts")]
    pub(crate) receipts_max: u64,
    #[serde(default)]
    pub(crate) policy: PolicySettings,
    /// What the household lends and gives away, with the policy `credit`.
    #[serde(default)]
    pub(crate) credit: CreditSettings,
    /// Where access points ask for receipts of members that have nothing but a tunnel, if there is a gateway.
    #[serde(default = "default_protocol_listen")]
    pub(crate) protocol_listen: SocketAddr,
    /// The way home for roaming members; without it there is none.
    pub(crate) gateway: Option<GatewaySettings>,
    /// The home's own name in the DNS, if it is to follow the home's address.
    pub(crate) dynamic_dns: Option<DynamicDnsSettings>,
    /// Links to homes of other teams.
    #[serde(default)]
    pub(crate) links: LinksSettings,
    /// Calls between members, if there is a gateway; without it there are none.
    pub(crate) voice: Option<VoiceSettings>,
    /// Members' phones.
    #[serde(default)]
    pub(crate) phones: HomePhonesSettings,
    /// The household's page.
    pub(crate) web: Option<WebSettings>,
    /// Metrics at a port; without it they are at the socket beside the state alone.
    pub(crate) metrics: Option<MetricsSettings>,
}

/// `[gateway]` in `home.toml`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct GatewaySettings {
    /// What `team gateway init` and `team member add --qr` have made.
    #[serde(default = "default_gateway")]
    pub(crate) directory: PathBuf,
    /// The name of the device that members' packets come out of.
    #[serde(default = "default_gateway_interface")]
    pub(crate) interface: String,
    /// The interface to the Internet.
    pub(crate) uplink_interface: String,
    /// Networks at home that members may reach, as `address/length`.
    #[serde(default)]
    pub(crate) home_networks: Vec<String>,
    #[serde(default)]
    pub(crate) backend: GatewayBackend,
    /// Who answers members that ask the gateway for names; otherwise the first resolver in /etc/resolv.conf.
    pub(crate) dns_upstream: Option<Ipv4Addr>,
    /// Whether the household's router is asked to let the home's ports through: PCP, NAT-PMP or UPnP.
    #[serde(default)]
    #[cfg_attr(
        not(feature = "port-mapping"),
        serde(deserialize_with = "guestright_host::absent::no_port_mapping")
    )]
    pub(crate) port_mapping: bool,
    /// Clients of IKEv2.
    pub(crate) ikev2: Option<Ikev2Settings>,
    /// Clients of L2TP.
    pub(crate) l2tp: Option<L2tpSettings>,
}

/// Who does the work of WireGuard.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum GatewayBackend {
    /// The kernel if it can, else this program.
    #[default]
    Auto,
    /// The kernel.
    Kernel,
    /// This program.
    Userspace,
}

/// `[credit]` in `home.toml`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct CreditSettings {
    /// What the household gives away in a day: to strangers, to those who owe it, and what was not signed for.
    pub(crate) allowance_bytes_per_day: u64,
    /// Once more than that, in the beginning.
    pub(crate) founding_bytes: u64,
    /// What the household lends to all other households together, beyond what it owes them.
    pub(crate) lend_bytes_max: u64,
    /// Whether it reserves for others what it owes them. They learn thereby where its members' hosts' people are.
    pub(crate) hold: bool,
}

impl Default for CreditSettings {
    fn default() -> Self {
        CreditLimits::of(&CreditConfig::default()).into()
    }
}

impl From<CreditLimits> for CreditSettings {
    fn from(limits: CreditLimits) -> Self {
        let CreditLimits { allowance_bytes_per_day, founding_bytes, lend_bytes_max, hold } = limits;
        Self { allowance_bytes_per_day, founding_bytes, lend_bytes_max, hold }
    }
}

impl CreditSettings {
    fn for_loop(&self) -> CreditConfig {
        let Self { allowance_bytes_per_day, founding_bytes, lend_bytes_max, hold } = *self;
        CreditLimits { allowance_bytes_per_day, founding_bytes, lend_bytes_max, hold }
            .applied_to(CreditConfig::default())
    }
}

/// How visitors are judged.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct PolicySettings {
    /// `credit`, or for study `srm` (the paper's rule), `netflow`, `quota` or `gmf`.
    pub(crate) kind: PolicyKind,
    /// netflow: how much of its debts is taken from what a team in the middle may pass on, per mille.
    pub(crate) sigma_permille: Option<u16>,
    /// netflow: what every team in the middle may pass on.
    pub(crate) kappa_bytes: Option<u64>,
    /// quota: what a team has to have given.
    pub(crate) quota_bytes: Option<u64>,
    /// gmf: what is left of credit after each team in the middle, per mille.
    pub(crate) gain_permille: Option<u16>,
    /// Whether what is asked for counts as owed already; the papers say no.
    pub(crate) ignore_request: bool,
    /// Grant with the probability that the ratio says, as the papers do, instead of by class alone.
    pub(crate) by_probability: bool,
    /// Until so much is owed to this team it serves every stranger.
    pub(crate) bootstrap_bytes: Option<u64>,
    /// How many arcs of the graph one decision may look at.
    pub(crate) arcs_max: Option<u64>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum PolicyKind {
    #[default]
    Credit,
    Srm,
    Netflow,
    Quota,
    Gmf,
}

fn default_ap_state() -> PathBuf {
    "ap-state".into()
}

fn default_home_state() -> PathBuf {
    "home-state".into()
}

fn default_gateway() -> PathBuf {
    crate::gateway_files::DIRECTORY.into()
}

fn default_gateway_interface() -> String {
    "gr-home".to_owned()
}

fn default_port() -> u16 {
    PROTOCOL_PORT
}

fn default_listen() -> SocketAddr {
    SocketAddr::new(IpAddr::from([0, 0, 0, 0]), HOME_PORT)
}

fn default_protocol_listen() -> SocketAddr {
    SocketAddr::new(IpAddr::from([0, 0, 0, 0]), PROTOCOL_PORT)
}

fn default_interval() -> u64 {
    access_point::Config::default().interval.0 / 1_000
}

fn default_volume() -> u64 {
    access_point::Config::default().volume.0
}

/// What the firewall has room for, and one who is about to take somebody's place.
const SESSIONS_MAX: usize = 1_000;

fn default_sessions() -> usize {
    access_point::Config::default().sessions_max
}

fn default_unsigned() -> u64 {
    Window::default().most.0
}

fn default_away_bytes() -> u64 {
    access_point::Config::default().away_per_day.0
}

fn default_flush() -> u64 {
    access_point::Config::default().flush_after.0 / 1_000
}

fn default_receipts() -> u64 {
    1_000_000
}

fn default_away() -> String {
    ServiceClass::Lowest.to_string()
}

/// The settings file of this name, where nobody named one: here, or else where `guestright setup` puts it.
pub(crate) fn usual(name: &str) -> PathBuf {
    let (here, installed) = (PathBuf::from(name), Path::new(paths::SETTINGS).join(name));
    if !here.exists() && installed.exists() { installed } else { here }
}

/// The same for an option whose default is that name.
pub(crate) fn or_usual(path: PathBuf, name: &str) -> PathBuf {
    if path == Path::new(name) { usual(name) } else { path }
}

/// Reads a settings file and makes its paths absolute.
pub(crate) fn read<T: DeserializeOwned>(path: &Path) -> Result<T, Failure> {
    let text = std::fs::read_to_string(path).with_context(|| format!("read {}", path.display()));
    let text = text.map_err(|error| {
        Failure::config(error)
            .hint("give the file with --config; `guestright help ap`, `home` and `up` show one")
    })?;
    let settings = toml::from_str(&text).with_context(|| format!("understand {}", path.display()));
    settings.map_err(|error| {
        Failure::config(error).hint(format!(
            "correct {}; `guestright help ap`, `home` and `up` show all settings",
            path.display()
        ))
    })
}

/// Prints settings with all defaults: as a file that can be read again, or as JSON.
pub(crate) fn show(settings: &impl Serialize, json: bool, out: &mut Output) -> Outcome {
    if json {
        let settings = serde_json::to_value(settings).map_err(Failure::bug)?;
        return Ok(writeln!(out, "{settings}")?);
    }
    Ok(write!(out, "{}", toml::to_string(settings).map_err(Failure::bug)?)?)
}

impl ApSettings {
    /// What the loop is told; `path` is the settings file's.
    pub(crate) fn for_loop(&self, path: &Path) -> Result<guestright_host::access_point::Settings, Failure> {
        let shaping = self.shaping.map(|shaping| Shaping {
            down_bits_per_second: shaping.down_bits_per_second,
            up_bits_per_second: shaping.up_bits_per_second,
        });
        if let Some(shaping) = shaping {
            shaping.check().map_err(Failure::config)?;
        }
        Ok(guestright_host::access_point::Settings {
            state: beside(path, &self.state),
            certificate: beside(path, &self.certificate),
            home: self.home.clone(),
            port: self.port,
            visitor_interface: self.visitor_interface.clone(),
            uplink_interface: self.uplink_interface.clone(),
            household: self.household()?,
            tunnels: self.tunnels_for_loop()?,
            shaping,
            splash: self
                .splash
                .as_ref()
                .map(|splash| splash.for_loop((path, self.retention.for_loop()?)))
                .transpose()?,
            phones: self.phones_for_loop(path)?,
            #[cfg(feature = "radio")]
            radio: self.radio.clone(),
            #[cfg(not(feature = "radio"))]
            radio: self.radio.map(|radio| radio.for_loop(path)).transpose()?,
            retention: self.retention.for_loop()?,
            #[cfg(feature = "metrics")]
            metrics: self.metrics.as_ref().map(|metrics| metrics.for_loop(AP_METRICS_PORT)),
            machine: self.config()?,
        })
    }

    /// The machine's configuration.
    fn config(&self) -> Result<access_point::Config, Failure> {
        let away = match self.when_home_is_away.as_str() {
            "refuse" => None,
            class => {
                Some(class.parse().map_err(|error| Failure::config(anyhow!("when_home_is_away: {error}")))?)
            }
        };
        if !(200..=600_000).contains(&self.interval_ms) {
            return Err(Failure::config(anyhow!(
                "interval_ms is {}; it must be 200 to 600000",
                self.interval_ms
            )));
        }
        if !(1..=SESSIONS_MAX).contains(&self.sessions_max) {
            return Err(Failure::config(anyhow!(
                "sessions_max is {}; it must be 1 to {SESSIONS_MAX}",
                self.sessions_max
            )));
        }
        let interval = Micros::from_millis(self.interval_ms);
        Ok(access_point::Config {
            interval,
            receipt_deadline: Micros(interval.0 / 2),
            retry_after: Micros(interval.0 / 10),
            volume: Bytes(self.volume_bytes),
            window: Window { most: Bytes(self.unsigned_bytes_max), ..Window::default() },
            away_per_day: Bytes(self.away_bytes_per_day),
            flush_after: Micros::from_millis(self.flush_ms),
            sessions_max: self.sessions_max,
            when_home_is_away: away,
            ..access_point::Config::default()
        })
    }

    /// The household's networks, read.
    fn household(&self) -> Result<Vec<(IpAddr, u8)>, Failure> {
        parse_networks("household_networks", &self.household_networks, "203.0.113.0/24")
    }
}

impl HomeSettings {
    /// What the loop is told; `path` is the settings file's.
    pub(crate) fn for_loop(&self, path: &Path) -> Result<guestright_host::home::Settings, Failure> {
        let gateway = self.gateway_for_loop(path)?;
        let exchange = self.voice.as_ref().map(|voice| voice.for_loop(path)).transpose()?;
        let links = self.links.for_loop(self.voice.as_ref())?;
        let own_name = self.dynamic_dns.as_ref().map(|name| name.for_loop(path)).transpose()?;
        Ok(guestright_host::home::Settings {
            state: beside(path, &self.state),
            certificate: beside(path, &self.certificate),
            renewal: self.renewal.as_ref().map(|directory| beside(path, directory)),
            listen: self.listen,
            revocations: self.revocations.as_ref().map(|list| beside(path, list)),
            receipts_max: self.receipts_max,
            machine: home::Config {
                credit: (self.policy.kind == PolicyKind::Credit).then(|| self.credit.for_loop()),
                home_address: links.as_ref().and_then(|links| links.announce.clone()),
                judge: self.policy.judge(),
                ..home::Config::default()
            },
            protocol_listen: self.protocol_listen,
            gateway,
            links,
            own_name,
            exchange,
            phones: self.phones.for_loop()?,
            #[cfg(feature = "page")]
            page: guestright_host::home::page::Settings {
                listen: self.web.as_ref().map(|web| web.listen.clone()).unwrap_or_default(),
                tools: None,
            },
            #[cfg(feature = "metrics")]
            metrics: self.metrics.as_ref().map(|metrics| metrics.for_loop(HOME_METRICS_PORT)),
        })
    }

    /// The same settings, with where other homes are awaited where it belongs.
    ///
    /// # Errors
    /// `[links]` and `[voice]` disagree.
    pub(crate) fn filled_in(mut self) -> Result<Self, Failure> {
        self.links.listen = Some(self.links.address(self.voice.as_ref())?);
        if let Some(voice) = &mut self.voice {
            voice.forget_listen();
        }
        Ok(self)
    }

    /// What the loop is told of the gateway; `path` is the settings file's.
    pub(crate) fn gateway_for_loop(&self, path: &Path) -> Result<Option<gateway::Settings>, Failure> {
        self.gateway.as_ref().map(|gateway| gateway.for_loop(path)).transpose()
    }
}

impl GatewaySettings {
    fn for_loop(&self, path: &Path) -> Result<gateway::Settings, Failure> {
        Ok(gateway::Settings {
            directory: beside(path, &self.directory),
            interface: self.interface.clone(),
            uplink_interface: self.uplink_interface.clone(),
            home_networks: self.networks()?,
            backend: match self.backend {
                GatewayBackend::Auto => gateway::Backend::Auto,
                GatewayBackend::Kernel => gateway::Backend::Kernel,
                GatewayBackend::Userspace => gateway::Backend::Userspace,
            },
            dns_upstream: self.dns_upstream,
            port_mapping: self.port_mapping,
            ikev2: self.ikev2.as_ref().map(|ikev2| ikev2.for_loop(path)).transpose()?,
            l2tp: self.l2tp.as_ref().map(|l2tp| l2tp.for_loop(path)).transpose()?,
        })
    }

    /// The home's networks, read.
    fn networks(&self) -> Result<Vec<(Ipv4Addr, u8)>, Failure> {
        parse_networks("home_networks", &self.home_networks, "192.168.1.0/24")
    }
}

/// Networks as a setting's texts have them. Whether a length fits is for the firewall to say.
fn parse_networks<A: FromStr>(
    setting: &str,
    texts: &[String],
    example: &str,
) -> Result<Vec<(A, u8)>, Failure> {
    let parse = |text: &String| {
        let parts = text.split_once('/');
        let network = parts.and_then(|(ip, length)| Some((ip.parse().ok()?, length.parse().ok()?)));
        network.ok_or_else(|| {
            Failure::config(anyhow!("{setting}: {text:?} is not address/length"))
                .hint(format!("write for example \"{example}\""))
        })
    };
    texts.iter().map(parse).collect()
}

impl PolicySettings {
    fn judge(&self) -> JudgeConfig {
        let policy = match self.kind {
            PolicyKind::Credit | PolicyKind::Srm => Policy::Srm,
            PolicyKind::Netflow => Policy::NetFlow {
                sigma: PerMille(self.sigma_permille.unwrap_or(750)),
                kappa: Bytes(self.kappa_bytes.unwrap_or(25_000_000)),
            },
            PolicyKind::Quota => Policy::Quota { bytes: Bytes(self.quota_bytes.unwrap_or(1_000_000_000)) },
            PolicyKind::Gmf => Policy::Gmf { gain: PerMille(self.gain_permille.unwrap_or(800)) },
        };
        let mut judge = JudgeConfig { policy, ..JudgeConfig::default() };
        if self.ignore_request {
            judge.request_weight = RequestWeight::Ignored;
        }
        if self.by_probability {
            judge.rule = GrantRule::ByProbability;
        }
        if let Some(bytes) = self.bootstrap_bytes {
            judge.strangers.bootstrap_target = Bytes(bytes);
        }
        let arcs_max = self.arcs_max.unwrap_or(1_000_000);
        judge.limits = Limits { arcs_max, ..judge.limits };
        judge
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mistake_is_named_with_its_line() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("ap.toml");
        std::fs::write(
            &path,
            "key = \"k\"\ncertificate = \"c\"\nhome = \"127.0.0.1:1\"\nvisitor_interfase = \"x\"\n",
        )
        .unwrap();
        let refused = read::<ApSettings>(&path).unwrap_err().to_string();
        assert!(refused.contains("line 4") && refused.contains("visitor_interfase"), "{refused}");
    }
}
