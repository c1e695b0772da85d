//! What TCP(alpha, beta) gets out of a path: equations (1) to (3) of paper C, as pure functions.
//!
//! **Equation (1)**, the throughput in packets per second for a loss rate `p`, a round-trip time `RTT`, a timeout `T0` and
//! `b` packets for each acknowledgement:
//!
//! ```text
//!                                          1
//! T = -------------------------------------------------------------------------------------
//!      RTT sqrt(2 b (1-beta) p / (alpha (1+beta)))
//!        + T0 min(1, 3 sqrt((1-beta^2) b p / (2 alpha))) p (1 + 32 p^2)
//! ```
//!
//! As printed, both square roots end *before* `p`. That cannot be: with alpha 1 and beta 1/2 it must become the formula of J.
//! Padhye, V. Firoiu, D. Towsley, J. Kurose, "Modeling TCP Throughput", SIGCOMM 1998, equation (30), which has
//! `sqrt(2 b p / 3)` and `3 sqrt(3 b p / 8)`; and so has it Y. R. Yang, S. S. Lam, "General AIMD Congestion Control", ICNP
//! 2000, whom the paper cites. [`throughput`] has `p` under both roots; [`throughput_as_printed`] has it as printed, for
//! comparison: at `p = 0.01` that promises some ten times as much.
//!
//! **Equation (2)**, the length of a congestion epoch, from `beta W` packets to `W` by alpha each round trip, takes
//! `(W - beta W) / alpha` steps. Printed is `(beta / alpha) W + 1`, which is the same at beta = 1/2 only, or if beta were
//! what is taken away. [`epoch`] and [`epoch_as_printed`].
//!
//! **Equation (3)**: TCP(alpha, beta) is friendly if it gets what TCP(1, 1/2) gets. No alpha does that for all `p`: the
//! first term of (1) asks for `alpha = 3 (1-beta) / (1+beta)` ([`friendly_alpha_of_windows`]), the second one for
//! `alpha = 4 (1-beta^2) / 3` ([`friendly_alpha_of_timeouts`], what Yang and Lam choose). [`friendly_alpha`] is the one for
//! a path.
//!
//! The model is of a flow that always has something to send, whose losses come in bursts within a round trip; `p` is the
//! rate of such bursts per packet sent. A voice flow is limited by what is spoken, so its measured throughput may be far
//! below. Square roots are IEEE 754's, hence the same on any computer.

/// A path as equation (1) sees it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PathModel {
    /// `p`: losses per packet sent, more than 0 up to 1.
    pub loss_rate: f64,
    /// `RTT`, in seconds.
    pub round_trip_s: f64,
    /// `T0`: the first timeout of a series, in seconds.
    pub timeout_s: f64,
    /// `b`: packets for each acknowledgement; 1, or 2 with delayed acknowledgements.
    pub ack_every: f64,
}

/// alpha and beta, the latter what is kept of a window.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AimdModel {
    /// Segments per round trip, more than 0.
    pub alpha: f64,
    /// From 0 to 1, neither.
    pub beta: f64,
}

impl AimdModel {
    /// Standard TCP.
    pub const STANDARD: Self = Self { alpha: 1.0, beta: 0.5 };
}

/// Equation (1), with `p` under the roots: packets per second. `None` without losses (the model has no bound then), or if
/// a number makes no sense.
#[must_use]
pub fn throughput(aimd: AimdModel, path: PathModel) -> Option<f64> {
    let (windows, timeouts) = roots(aimd, path)?;
    per_second(path, (windows * path.loss_rate).sqrt(), 3.0 * (timeouts * path.loss_rate).sqrt())
}

/// Equation (1) as it is printed, with `p` beside the roots: packets per second. For comparison only.
#[must_use]
pub fn throughput_as_printed(aimd: AimdModel, path: PathModel) -> Option<f64> {
    let (windows, timeouts) = roots(aimd, path)?;
    per_second(path, windows.sqrt() * path.loss_rate, 3.0 * timeouts.sqrt() * path.loss_rate)
}

/// `2 b (1-beta) / (alpha (1+beta))` and `(1-beta^2) b / (2 alpha)`.
fn roots(aimd: AimdModel, path: PathModel) -> Option<(f64, f64)> {
    let AimdModel { alpha, beta } = aimd;
    let b = path.ack_every;
    let sound = is_sound(aimd)
        && path.loss_rate > 0.0
        && path.loss_rate <= 1.0
        && is_positive(path.round_trip_s)
        && path.timeout_s >= 0.0
        && path.timeout_s.is_finite()
        && is_positive(b);
    sound.then(|| (2.0 * b * (1.0 - beta) / (alpha * (1.0 + beta)), (1.0 - beta * beta) * b / (2.0 * alpha)))
}

fn per_second(path: PathModel, windows: f64, timeouts: f64) -> Option<f64> {
    let p = path.loss_rate;
    let seconds = path.round_trip_s * windows + path.timeout_s * timeouts.min(1.0) * p * (1.0 + 32.0 * p * p);
    let rate = 1.0 / seconds;
    rate.is_finite().then_some(rate)
}

fn is_positive(value: f64) -> bool {
    value > 0.0 && value.is_finite()
}

fn is_sound(aimd: AimdModel) -> bool {
    is_positive(aimd.alpha) && aimd.beta > 0.0 && aimd.beta < 1.0
}

/// Equation (2), corrected: round trips from one loss to the next with a window of `window` packets,
/// `(1-beta) / alpha * W + 1`. `None` if a number makes no sense.
#[must_use]
pub fn epoch(aimd: AimdModel, window: f64) -> Option<f64> {
    (is_sound(aimd) && is_positive(window)).then(|| (1.0 - aimd.beta) / aimd.alpha * window + 1.0)
}

/// Equation (2) as it is printed: `beta / alpha * W + 1`. For comparison only.
#[must_use]
pub fn epoch_as_printed(aimd: AimdModel, window: f64) -> Option<f64> {
    (is_sound(aimd) && is_positive(window)).then(|| aimd.beta / aimd.alpha * window + 1.0)
}

/// The window in packets at which losses of that rate come, one in each epoch: what is sent in an epoch from `beta W` to
/// `W` is `1 / p` packets, so `W = sqrt(2 alpha / (b (1 - beta^2) p))`. To put into [`epoch`] beside a measured loss rate.
#[must_use]
pub fn window_at_loss(aimd: AimdModel, path: PathModel) -> Option<f64> {
    roots(aimd, path)?;
    let square = 2.0 * aimd.alpha / (path.ack_every * (1.0 - aimd.beta * aimd.beta) * path.loss_rate);
    Some(square.sqrt())
}

/// The alpha for which the first term of (1) is that of standard TCP: for few losses, `3 (1-beta) / (1+beta)`.
#[must_use]
pub fn friendly_alpha_of_windows(beta: f64) -> Option<f64> {
    (beta > 0.0 && beta < 1.0).then(|| 3.0 * (1.0 - beta) / (1.0 + beta))
}

/// The alpha for which the second term of (1) is that of standard TCP: for many timeouts, `4 (1-beta^2) / 3`.
#[must_use]
pub fn friendly_alpha_of_timeouts(beta: f64) -> Option<f64> {
    (beta > 0.0 && beta < 1.0).then(|| 4.0 * (1.0 - beta * beta) / 3.0)
}

/// Equation (3): the alpha for which TCP(alpha, beta) gets on `path` what standard TCP does.
///
/// With `x = 1 / sqrt(alpha)` the time per packet of (1) is `A x + min(B, C x)`, which only grows with `x`, so there is one
/// solution, and it can be written down.
#[must_use]
pub fn friendly_alpha(beta: f64, path: PathModel) -> Option<f64> {
    let wanted = 1.0 / throughput(AimdModel::STANDARD, path)?;
    let (windows, timeouts) = roots(AimdModel { alpha: 1.0, beta }, path)?;
    let p = path.loss_rate;
    let a = path.round_trip_s * (windows * p).sqrt();
    let b = path.timeout_s * p * (1.0 + 32.0 * p * p);
    let c = b * 3.0 * (timeouts * p).sqrt();
    // Below the kink the minimum is C x, above it B.
    let below = wanted / (a + c);
    let x = if c * below <= b { below } else { (wanted - b) / a };
    let alpha = 1.0 / (x * x);
    is_positive(alpha).then_some(alpha)
}

#[cfg(test)]
mod tests;
