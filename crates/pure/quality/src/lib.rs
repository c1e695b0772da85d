//! How good a call is: ratings, what they are made of, and what cannot be known.
//!
//! Three layers, each of use on its own:
//!
//! - **Formulas.** [`rate`] is the E-model of ITU-T G.107 (06/2015) over [`Inputs`], and its [`Rating`] carries all
//!   parts and the inputs. [`rate_reduced`] is the reduction by Cole and Rosenbluth that paper A prints. [`rate_wide`]
//!   is the part of G.107.1 for wideband codecs. [`MosCurve`] and [`r_of_mos`] go from R to the mean opinion score and
//!   back; [`Satisfaction`] has the classes. [`Codec`] has the published figures, each with its source, and `None`
//!   where there is none.
//! - **Meters.** [`LossPattern`], [`JitterMeter`], [`DelayMeter`], [`DejitterBuffer`] take packets one by one.
//! - **Streams.** An [`Analyser`] takes the packets of one RTP stream in the order of arrival, and gives a [`Row`] for
//!   each second and a [`Summary`]. A [`Judge`] turns what was measured into a [`Judgement`].
//!
//! A rating never hides what it rests on: a delay is an [`Interval`], because between two clocks there is an error;
//! what cannot be computed is an [`Unknown`] with a sentence; what a reader must know is a [`Caveat`]. Loss is counted
//! anew for each interval, never since the start of the call.
//!
//! ```
//! use guestright_quality::{Codec, Interval, Judge, Measured};
//!
//! let judge = Judge::paper_a(Codec::G729a);
//! let measured = Measured {
//!     network_loss: Some(0.01),
//!     dejitter_loss: 0.0,
//!     burst_ratio: None,
//!     network_delay_ms: Some(Interval::around(30.0, 5.0)),
//!     delay_assumed: false,
//! };
//! let opinion = judge.judge(&measured).conversation?;
//! assert_eq!(format!("{:.1}", opinion.mos), "3.8");
//! # Ok::<(), guestright_quality::Unknown>(())
//! ```
//!
//! Logarithms and powers come from `libm`, so that a rating has the same digits on every computer.
//!
//! Levels are in dB, delays in milliseconds as `f64`, points in time in [`guestright_units::Time`], losses from 0 to 1
//! unless the name says percent.

#![warn(missing_docs)]

mod adaptive;
mod advice;
mod analyser;
mod codec;
mod dejitter;
mod delay;
mod emodel;
mod fairness;
mod index;
mod interval;
mod jitter;
mod judge;
mod labelled;
mod loss;
mod opinion;
mod playout;
mod quantiles;
mod reduction;
mod wideband;

pub use adaptive::AdaptiveBuffer;
pub use advice::{Advice, Carrier, DirectionStats, Reason, TIE_R, Trial, advise};
pub use analyser::{
    Analyser, AnalyserConfig, Counts, Packet, Row, Stretch, Summary, Taken, Talkspurts, WorstRow,
};
pub use codec::{Band, Cited, Codec, CodecFacts, UnknownCodec};
pub use dejitter::{Anchor, BufferConfig, DejitterBuffer, Fate};
pub use delay::{DelayMeter, DelaySummary};
pub use emodel::{
    Delay, DelaySensitivity, InputError, Inputs, OutOfRange, PARAMETERS, Parameter, Rating, Simultaneous,
    absolute_delay, effective_equipment, rate,
};
pub use fairness::jain;
pub use index::{FlowAccount, FlowCounts, Indices};
pub use interval::Interval;
pub use jitter::{Jitter, JitterMeter};
pub use judge::{Caveat, Judge, Judgement, Measured, Opinion, PaperOpinion, Parts, Unknown, value_or_reason};
pub use labelled::{Buffers, LABELLED_BUFFERS, LabelledBuffer, LabelledLoss};
pub use loss::{Bursts, GMIN, Loss, LossPattern, RunLengths};
pub use opinion::{MosCurve, R_OF_MOS_ONE, Satisfaction, r_of_mos};
pub use playout::{BestPlayout, Playout, PlayoutCounts};
pub use quantiles::SpanQuantiles;
pub use reduction::{
    FIXED_DELAY_MS, KNEE_MS, Reduced, ReducedError, ReducedInputs, rate_reduced, reduced_delay,
};
pub use wideband::{R_MAX, WideInputs, WideRating, rate_wide};

/// The example of the README is tried as those of the documentation are.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
