//! Microphone and loudspeaker, by name.
//!
//! The card's thread only copies: see [`Capture`] and [`Playback`] for what lies between it and a call. What happens to
//! a device (it was pulled out, the system changed to another one) is an [`Event`]; a microphone that is gone gives
//! silence, and a loudspeaker swallows, so that a call goes on until the caller has opened another device.

use crate::{
    AudioError, Capture, CaptureEnd, Playback, PlaybackEnd, Sink, Source, Statistics, capture, playback,
};
use cpal::traits::{DeviceTrait, HostTrait, StreamTrait};
use cpal::{
    BufferSize, ErrorKind, FromSample, Sample as _, SampleFormat, SizedSample, StreamConfig,
    SupportedBufferSize,
};
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

/// A period of the card's: 10 ms, where the card can do that.
const PERIODS_PER_SECOND: u32 = 100;
/// More devices than are listed.
const DEVICES_MAX: usize = 256;

/// A sound device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Device {
    /// What [`Microphone::open`] and [`Loudspeaker::open`] want. It stays the same from one start to the next.
    pub name: String,
    /// What people call it.
    pub description: String,
    /// Whether it has a microphone.
    pub hears: bool,
    /// Whether it has a loudspeaker.
    pub speaks: bool,
}

/// What happened to a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// It is gone: pulled out, or its driver gave up. Nothing more will come from it.
    Lost,
    /// The system now uses another one in its place. Nothing is to be done.
    Changed,
    /// The computer was too slow, and something was not heard or played.
    Glitch,
}

/// All devices, the default one first. None if the computer has no sound at all.
///
/// # Errors
///
/// [`AudioError::Device`] if the sound system does not answer.
pub fn devices() -> Result<Vec<Device>, AudioError> {
    let _quiet = quiet();
    let host = cpal::default_host();
    let all = host.devices().map_err(|error| failed("", &error))?;
    let one = |device: cpal::Device| {
        let name = device.id().ok()?.id().to_owned();
        let description =
            device.description().map_or_else(|_| name.clone(), |description| description.to_string());
        Some(Device { name, description, hears: device.supports_input(), speaks: device.supports_output() })
    };
    let mut all: Vec<Device> = all.take(DEVICES_MAX).filter_map(one).collect();
    let default = host.default_output_device().and_then(|device| Some(device.id().ok()?.id().to_owned()));
    all.sort_by_key(|device| Some(&device.name) != default.as_ref());
    Ok(all)
}

/// What the card's thread has to say, without waiting: a bit for each kind of event.
#[derive(Debug, Default)]
struct Events(AtomicU32);

const LOST: u32 = 1;
const CHANGED: u32 = 2;
const GLITCH: u32 = 4;

impl Events {
    fn report(&self, kind: ErrorKind) {
        // The list of kinds is open. What is not known to be harmless ends the stream.
        let bit = if kind == ErrorKind::Xrun {
            GLITCH
        } else if kind == ErrorKind::DeviceChanged {
            CHANGED
        } else if kind == ErrorKind::RealtimeDenied {
            return;
        } else {
            LOST
        };
        self.0.fetch_or(bit, Ordering::AcqRel);
    }

    fn poll(&self) -> Option<Event> {
        for (bit, event) in [(LOST, Event::Lost), (CHANGED, Event::Changed), (GLITCH, Event::Glitch)] {
            if self.0.fetch_and(!bit, Ordering::AcqRel) & bit != 0 {
                return Some(event);
            }
        }
        None
    }
}

pub struct Microphone {
    name: String,
    capture: Capture,
    events: Arc<Events>,
    _stream: cpal::Stream,
}

pub struct Loudspeaker {
    name: String,
    playback: Playback,
    events: Arc<Events>,
    _stream: cpal::Stream,
}

impl Microphone {
    /// Opens a device by its name, or the default one, for a call at `rate_hz`.
    ///
    /// # Errors
    ///
    /// [`AudioError::NoDevice`] and [`AudioError::Device`].
    pub fn open(name: Option<&str>, rate_hz: u32) -> Result<Self, AudioError> {
        let _quiet = quiet();
        let (device, name) = find(name, true)?;
        let supported = device.default_input_config().map_err(|error| failed(&name, &error))?;
        let (config, format) = settings(&supported);
        let (end, capture) = capture(config.sample_rate, rate_hz)?;
        let events = Arc::new(Events::default());
        let stream = listen(&device, config, format, end, Arc::clone(&events))
            .map_err(|error| failed(&name, &error))?;
        stream.play().map_err(|error| failed(&name, &error))?;
        Ok(Self { name, capture, events, _stream: stream })
    }

    /// What happened to it since it was last asked.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.poll()
    }

    /// What went wrong between the clocks until now.
    #[must_use]
    pub fn statistics(&self) -> Statistics {
        self.capture.statistics()
    }

    /// The device's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }
}

impl Loudspeaker {
    /// Opens a device by its name, or the default one, for a call at `rate_hz`.
    ///
    /// # Errors
    ///
    /// [`AudioError::NoDevice`] and [`AudioError::Device`].
    pub fn open(name: Option<&str>, rate_hz: u32) -> Result<Self, AudioError> {
        let _quiet = quiet();
        let (device, name) = find(name, false)?;
        let supported = device.default_output_config().map_err(|error| failed(&name, &error))?;
        let (config, format) = settings(&supported);
        let (end, playback) = playback(config.sample_rate, rate_hz)?;
        let events = Arc::new(Events::default());
        let stream = speak(&device, config, format, end, Arc::clone(&events))
            .map_err(|error| failed(&name, &error))?;
        stream.play().map_err(|error| failed(&name, &error))?;
        Ok(Self { name, playback, events, _stream: stream })
    }

    /// What happened to it since it was last asked.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.poll()
    }

    /// What went wrong between the clocks until now.
    #[must_use]
    pub fn statistics(&self) -> Statistics {
        self.playback.statistics()
    }

    /// The device's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }
}

impl Source for Microphone {
    fn rate_hz(&self) -> u32 {
        self.capture.rate_hz()
    }

    /// Never waits and never ends.
    fn read(&mut self, samples: &mut [i16]) -> Result<usize, AudioError> {
        self.capture.read(samples)
    }
}

impl Sink for Loudspeaker {
    fn rate_hz(&self) -> u32 {
        self.playback.rate_hz()
    }

    /// Never waits and never fails.
    fn write(&mut self, samples: &[i16]) -> Result<(), AudioError> {
        self.playback.write(samples)
    }

    fn finish(self: Box<Self>) -> Result<(), AudioError> {
        Ok(())
    }
}

impl fmt::Debug for Microphone {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Microphone").field("name", &self.name).finish_non_exhaustive()
    }
}

impl fmt::Debug for Loudspeaker {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Loudspeaker").field("name", &self.name).finish_non_exhaustive()
    }
}

/// ALSA's library writes its own messages to standard error. Not from this thread, as long as the result lives.
#[cfg(target_os = "linux")]
fn quiet() -> Option<impl Sized> {
    alsa::Output::local_error_handler().ok()
}

#[cfg(not(target_os = "linux"))]
fn quiet() {}

fn find(name: Option<&str>, hears: bool) -> Result<(cpal::Device, String), AudioError> {
    let host = cpal::default_host();
    let found = match name {
        None if hears => host.default_input_device(),
        None => host.default_output_device(),
        Some(name) => {
            let mut all = host.devices().map_err(|error| failed(name, &error))?.take(DEVICES_MAX);
            all.find(|device| device.id().is_ok_and(|id| id.id() == name))
        }
    };
    let named = found.and_then(|device| {
        let name = device.id().ok()?.id().to_owned();
        Some((device, name))
    });
    named.ok_or_else(|| {
        let known = devices().unwrap_or_default();
        let fits = known.into_iter().filter(|device| if hears { device.hears } else { device.speaks });
        let names: Vec<String> = fits.map(|device| device.name).collect();
        let known = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
        AudioError::NoDevice { got: name.unwrap_or_default().to_owned(), known }
    })
}

/// What the device does by itself, but with short periods where it can.
fn settings(supported: &cpal::SupportedStreamConfig) -> (StreamConfig, SampleFormat) {
    let mut config: StreamConfig = supported.config();
    let wanted = config.sample_rate / PERIODS_PER_SECOND;
    if let SupportedBufferSize::Range { min, max } = supported.buffer_size()
        && (*min..=*max).contains(&wanted)
    {
        config.buffer_size = BufferSize::Fixed(wanted);
    }
    (config, supported.sample_format())
}

fn listen(
    device: &cpal::Device,
    config: StreamConfig,
    format: SampleFormat,
    end: CaptureEnd,
    events: Arc<Events>,
) -> Result<cpal::Stream, cpal::Error> {
    // Other kinds of samples are rare, and ALSA converts them.
    if format == SampleFormat::I16 {
        listen_as::<i16>(device, config, end, events)
    } else if format == SampleFormat::I32 {
        listen_as::<i32>(device, config, end, events)
    } else if format == SampleFormat::U8 {
        listen_as::<u8>(device, config, end, events)
    } else if format == SampleFormat::F32 {
        listen_as::<f32>(device, config, end, events)
    } else {
        Err(cpal::Error::new(ErrorKind::UnsupportedConfig))
    }
}

fn listen_as<T>(
    device: &cpal::Device,
    config: StreamConfig,
    mut end: CaptureEnd,
    events: Arc<Events>,
) -> Result<cpal::Stream, cpal::Error>
where
    T: SizedSample,
    i16: FromSample<T>,
{
    let channels = usize::from(config.channels.max(1));
    let on_input = move |samples: &[T], _: &cpal::InputCallbackInfo| {
        let mixed = samples.chunks_exact(channels).map(mix);
        end.push(mixed, samples.len() / channels);
    };
    device.build_input_stream(config, on_input, move |error| events.report(error.kind()), None)
}

/// All channels of a moment as one.
fn mix<T: SizedSample>(moment: &[T]) -> i16
where
    i16: FromSample<T>,
{
    let sum: i32 = moment.iter().map(|sample| i32::from(i16::from_sample(*sample))).sum();
    i16::try_from(sum / i32::try_from(moment.len().max(1)).unwrap_or(1)).unwrap_or(0)
}

fn speak(
    device: &cpal::Device,
    config: StreamConfig,
    format: SampleFormat,
    end: PlaybackEnd,
    events: Arc<Events>,
) -> Result<cpal::Stream, cpal::Error> {
    // Other kinds of samples are rare, and ALSA converts them.
    if format == SampleFormat::I16 {
        speak_as::<i16>(device, config, end, events)
    } else if format == SampleFormat::I32 {
        speak_as::<i32>(device, config, end, events)
    } else if format == SampleFormat::U8 {
        speak_as::<u8>(device, config, end, events)
    } else if format == SampleFormat::F32 {
        speak_as::<f32>(device, config, end, events)
    } else {
        Err(cpal::Error::new(ErrorKind::UnsupportedConfig))
    }
}

fn speak_as<T>(
    device: &cpal::Device,
    config: StreamConfig,
    mut end: PlaybackEnd,
    events: Arc<Events>,
) -> Result<cpal::Stream, cpal::Error>
where
    T: SizedSample + FromSample<i16>,
{
    let channels = usize::from(config.channels.max(1));
    let play = move |samples: &mut [T], _: &cpal::OutputCallbackInfo| {
        let count = samples.len() / channels;
        let mut moments = samples.chunks_exact_mut(channels);
        end.play(count, |sample| {
            if let Some(moment) = moments.next() {
                moment.fill(T::from_sample(sample));
            }
        });
    };
    device.build_output_stream(config, play, move |error| events.report(error.kind()), None)
}

fn failed(device: &str, error: &cpal::Error) -> AudioError {
    let device = if device.is_empty() { "(any)" } else { device };
    AudioError::Device { device: device.to_owned(), says: error.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_event_is_told_once_and_the_worst_first() {
        let events = Events::default();
        assert_eq!(events.poll(), None);
        events.report(ErrorKind::Xrun);
        events.report(ErrorKind::Xrun);
        events.report(ErrorKind::DeviceNotAvailable);
        events.report(ErrorKind::DeviceChanged);
        events.report(ErrorKind::RealtimeDenied);
        let reported: Vec<Event> = std::iter::from_fn(|| events.poll()).collect();
        assert_eq!(reported, [Event::Lost, Event::Changed, Event::Glitch]);
    }

    #[test]
    fn channels_are_mixed_without_running_over() {
        assert_eq!(mix(&[i16::MAX, i16::MAX]), i16::MAX);
        assert_eq!(mix(&[i16::MIN; 8]), i16::MIN);
        assert_eq!(mix(&[1.0_f32, -1.0]), 0);
        assert_eq!(mix::<i16>(&[]), 0);
    }
}
