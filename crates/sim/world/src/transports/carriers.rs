//! What carries calls and file transfers.

use super::config::misfit;
use super::settings::{Profile, Stream, Transport, TransportsSettings};
use crate::whole::millionfold;
use guestright_congestion::{
    Aimd, AimdSettings, AnyController, Bbr, BbrSettings, Cubic, CubicSettings, InitialWindow, Millionths,
    Real, RealSettings, RecoveryKind, RecoverySettings, Reno, RenoSettings, SettingsError, TimeoutSettings,
    Vegas, VegasSettings, Westwood, WestwoodSettings,
};
use guestright_engine::{Instant, Streams};
use guestright_experiment::SettingError;
use guestright_transport::path::{Carrier, TcpCarrier};
use guestright_transport::{Flow, ReceiverSettings, SenderSettings, TfrcEnds, TfrcEndsSettings};
use guestright_units::Micros;
use rand::RngExt;

/// IPv4, UDP and RTP: 20, 8 and 12 bytes.
const UDP_HEADER_BYTES: u32 = 40;

/// IPv4 and TCP. What frames packets of speech in a stream is part of them.
const TCP_HEADER_BYTES: u32 = 40;

/// ns-2's clock.
const TICK: Micros = Micros(10_000);

/// What ns-2 does otherwise than the documents.
#[derive(Clone, Copy, Debug)]
struct Switches {
    /// Recovery, timeouts and windows as ns-2's senders have them in every detail.
    senders: bool,
    headers: bool,
    syn: bool,
    idle_timer: bool,
    tick: bool,
    vegas_unsent: bool,
    /// Packets that may wait; `None`: as many as there are.
    send_buffer: Option<u32>,
}

impl Switches {
    fn new(settings: &TransportsSettings) -> Self {
        let switch = |value: Option<bool>| value.unwrap_or(settings.profile == Profile::Ns2);
        Self {
            senders: switch(settings.switch_senders),
            headers: switch(settings.switch_headers),
            syn: switch(settings.switch_syn),
            idle_timer: switch(settings.switch_idle_timer),
            tick: switch(settings.switch_tick),
            vegas_unsent: switch(settings.switch_vegas_unsent),
            send_buffer: (!switch(settings.switch_send_buffer)).then_some(settings.send_buffer),
        }
    }
}

/// A flow over TCP. The window is the receiver's, in segments.
#[derive(Clone, Copy, Debug)]
struct TcpFlow {
    number: u32,
    stream: Stream,
    segment: u32,
    window: u32,
}

/// How each flow is carried.
#[derive(Clone, Debug)]
pub(super) struct Carriers {
    settings: TransportsSettings,
    switches: Switches,
}

impl Carriers {
    pub(super) fn new(settings: &TransportsSettings) -> Result<Self, SettingError> {
        if settings.vegas_alpha > settings.vegas_beta {
            let reason =
                "Vegas keeps at least alpha and at most beta in queues; make it no more than `vegas.beta`";
            return Err(SettingError::unfit("vegas.alpha", reason));
        }
        Ok(Self { settings: settings.clone(), switches: Switches::new(settings) })
    }

    /// What carries call `flow`.
    pub(super) fn call(&self, flow: u32, streams: &Streams) -> Result<Carrier<AnyController>, SettingError> {
        let packet_bytes = self.settings.packet_bytes;
        match self.settings.transport {
            Transport::Tcp(stream) => {
                let window = self.settings.tcp_window;
                let flow = TcpFlow { number: flow, stream, segment: packet_bytes, window };
                let mut tcp = self.tcp(flow, streams)?;
                tcp.send_buffer = self.switches.send_buffer;
                Ok(Carrier::Tcp(tcp))
            }
            Transport::Tfrc => {
                let ends = TfrcEndsSettings {
                    waiting_max: self.settings.send_buffer,
                    ..TfrcEndsSettings::rfc5348(packet_bytes)
                };
                let ends = TfrcEnds::new(Flow(flow), ends, Instant::START).map_err(|error| misfit(&error))?;
                Ok(Carrier::Foreign(Box::new(ends)))
            }
            Transport::QuicDatagram | Transport::QuicStream => self.quic(flow, streams),
            Transport::Udp => {
                Ok(Carrier::Udp { header_bytes: if self.switches.headers { 0 } else { UDP_HEADER_BYTES } })
            }
        }
    }

    /// The ends of QUIC, which open their connection with the first packet.
    #[cfg(feature = "quic")]
    fn quic(&self, flow: u32, streams: &Streams) -> Result<Carrier<AnyController>, SettingError> {
        let quic = super::quic::settings(&self.settings, self.switches.send_buffer, self.switches.headers);
        let ends = guestright_quic::QuicEnds::new(&quic, streams, flow.into());
        let ends = ends.map_err(|error| SettingError::unfit("transport", error.to_string()))?;
        Ok(Carrier::Foreign(Box::new(ends)))
    }

    #[cfg(not(feature = "quic"))]
    fn quic(&self, _flow: u32, _streams: &Streams) -> Result<Carrier<AnyController>, SettingError> {
        let is_datagram = self.settings.transport == Transport::QuicDatagram;
        let name = if is_datagram { "quic-datagram" } else { "quic-stream" };
        let reason = format!("{name} is not part of this simulator; build it with `quic`");
        Err(SettingError::unfit("transport", reason))
    }

    /// What carries a file transfer.
    pub(super) fn transfer(
        &self,
        flow: u32,
        streams: &Streams,
    ) -> Result<TcpCarrier<AnyController>, SettingError> {
        let settings = &self.settings;
        let flow = TcpFlow {
            number: flow,
            stream: settings.bulk_transport,
            segment: settings.bulk_segment_bytes,
            window: settings.bulk_window,
        };
        self.tcp(flow, streams)
    }

    fn tcp(&self, flow: TcpFlow, streams: &Streams) -> Result<TcpCarrier<AnyController>, SettingError> {
        let controller = self.controller(flow)?;
        let receiver = ReceiverSettings {
            window: flow.window * flow.segment,
            acknowledge_every: self.settings.tcp_ack_every,
            sack: self.settings.tcp_sack,
            syn_packet: self.switches.syn,
            header_bytes: TCP_HEADER_BYTES,
            ..ReceiverSettings::rfc5681()
        };
        let sender = self.sender(flow, streams);
        Ok(TcpCarrier { sender, receiver, controller, send_buffer: None })
    }

    fn sender(&self, flow: TcpFlow, streams: &Streams) -> SenderSettings {
        let TcpFlow { number, stream, segment, window } = flow;
        let (switches, settings) = (self.switches, &self.settings);
        let is_vegas = stream == Stream::Vegas;
        let kind = match stream {
            Stream::Vegas => RecoveryKind::Vegas,
            _ if settings.tcp_sack => RecoveryKind::Sack,
            Stream::Reno => RecoveryKind::Reno,
            Stream::NewReno
            | Stream::Aimd
            | Stream::Westwood
            | Stream::WestwoodPlus
            | Stream::Real
            | Stream::Cubic
            | Stream::Bbr => RecoveryKind::NewReno,
        };
        let ns2 = switches.senders;
        let phase = if switches.tick {
            streams.stream("clock phases", number.into()).random_range(0..TICK.0)
        } else {
            0
        };
        let rules = if ns2 { TimeoutSettings::ns2() } else { TimeoutSettings::rfc6298() };
        let min = Micros(millionfold(settings.tcp_min_rto_ms) / 1_000);
        SenderSettings {
            recovery: if ns2 {
                RecoverySettings::ns2(kind, segment)
            } else {
                RecoverySettings::new(kind, segment)
            },
            timeout: TimeoutSettings {
                min,
                initial: rules.initial.max(min),
                tick: if switches.tick { TICK } else { Micros(0) },
                phase: Micros(phase),
                ..rules
            },
            handshake: switches.syn && !is_vegas,
            syn_packet: switches.syn,
            idle_timer: switches.idle_timer,
            unsent_expires: is_vegas && switches.vegas_unsent,
            nagle: settings.tcp_nagle,
            ecn: settings.ecn,
            window: window * segment,
            retries_max: u32::MAX,
            header_bytes: if switches.headers && is_vegas { 0 } else { TCP_HEADER_BYTES },
            ..SenderSettings::rfc(segment)
        }
    }

    fn controller(&self, flow: TcpFlow) -> Result<AnyController, SettingError> {
        let TcpFlow { number, stream, segment, window } = flow;
        let settings = &self.settings;
        let factor = |name: &str, value: f64| {
            let unfit = || SettingError::unfit(name, "it must be a number from 0 to 4294");
            Millionths::from_f64(value).ok_or_else(unfit)
        };
        let ns2 = self.switches.senders;
        let initial = settings.tcp_initial_window;
        let base = if ns2 { RenoSettings::ns2(segment, window) } else { RenoSettings::rfc5681(segment) };
        let reno = RenoSettings { initial_window: InitialWindow::Segments(initial), ..base };
        let controller: Result<AnyController, SettingsError> = match stream {
            Stream::Reno | Stream::NewReno => Reno::new(reno).map(AnyController::Reno),
            Stream::Aimd => {
                let aimd = AimdSettings {
                    reno,
                    alpha: factor("aimd.alpha", settings.aimd_alpha)?,
                    beta: factor("aimd.beta", settings.aimd_beta)?,
                    halve_in_slow_start: ns2,
                };
                Aimd::new(aimd).map(AnyController::Aimd)
            }
            Stream::Vegas => Vegas::new(VegasSettings {
                alpha: factor("vegas.alpha", settings.vegas_alpha)?,
                beta: factor("vegas.beta", settings.vegas_beta)?,
                gamma: factor("vegas.gamma", settings.vegas_gamma)?,
                initial_window: initial,
                late_window: ns2,
                ..VegasSettings::ns2(segment, window.max(2))
            })
            .map(AnyController::Vegas),
            Stream::Westwood => {
                let tick = (ns2 && self.switches.tick).then_some(TICK);
                let divide_on_timeout = settings.switch_westwood_divisor.unwrap_or(ns2);
                let westwood =
                    WestwoodSettings { tick, divide_on_timeout, ..WestwoodSettings::algorithm_1(reno) };
                Westwood::new(westwood).map(AnyController::Westwood)
            }
            Stream::WestwoodPlus => Westwood::new(WestwoodSettings::plus(reno)).map(AnyController::Westwood),
            Stream::Real => Real::new(RealSettings {
                gamma: factor("real.gamma", settings.real_gamma)?,
                beta: factor("real.beta", settings.real_beta)?,
                delta: factor("real.delta", settings.real_delta)?,
                classifier: settings.real_classifier,
                waves: settings.real_waves,
                timeout: settings.real_timeout,
                readings: settings.real_reading,
                ..RealSettings::new(reno)
            })
            .map(AnyController::Real),
            Stream::Cubic => Cubic::new(CubicSettings::rfc9438(reno)).map(AnyController::Cubic),
            Stream::Bbr => Bbr::new(BbrSettings {
                initial_window: InitialWindow::Segments(initial),
                ..BbrSettings::linux(segment, number.into())
            })
            .map(AnyController::Bbr),
        };
        controller.map_err(|error| SettingError::unfit("transport", error.to_string()))
    }
}
