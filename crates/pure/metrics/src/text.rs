//! Figures as text: OpenMetrics 1.0, or Prometheus' text format 0.0.4.

mod access_point;
mod home;

use crate::sheet::{Sheet, bytes, plain, seconds};
use crate::{AccessPointFigures, HomeFigures, OwnCertificate, Process};
use guestright_overview::RefusedBy;
use prometheus_client::encoding::{prometheus_text, text};
use std::collections::BTreeMap;

/// How the text is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    OpenMetrics,
    /// What `promtool check metrics` and a person with curl read.
    Prometheus,
}

impl Format {
    /// What a client takes, by its `Accept` (RFC 9110, section 12.5.1): OpenMetrics if it names it, else the older text.
    pub fn accepted(accept: &str) -> Self {
        let takes_open_metrics = accept.split(',').any(|range| {
            let mut parts = range.split(';').map(str::trim);
            let is_named =
                parts.next().is_some_and(|media| media.eq_ignore_ascii_case("application/openmetrics-text"));
            is_named && parts.all(|part| part != "q=0")
        });
        if takes_open_metrics { Self::OpenMetrics } else { Self::Prometheus }
    }

    pub fn content_type(self) -> &'static str {
        match self {
            Self::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
            Self::Prometheus => prometheus_text::CONTENT_TYPE,
        }
    }
}

/// A home's text.
pub fn home(figures: &HomeFigures, format: Format) -> String {
    let mut sheet = Sheet::default();
    home::put(&mut sheet, figures);
    write(&sheet, format)
}

/// An access point's text.
pub fn access_point(figures: &AccessPointFigures, format: Format) -> String {
    let mut sheet = Sheet::default();
    access_point::put(&mut sheet, figures);
    write(&sheet, format)
}

fn write(sheet: &Sheet, format: Format) -> String {
    let mut out = String::new();
    match format {
        Format::OpenMetrics => text::encode(&mut out, &sheet.0),
        Format::Prometheus => prometheus_text::encode(&mut out, &sheet.0),
    }
    .expect("a string takes everything");
    out
}

/// What both programs have.
fn put_program(sheet: &mut Sheet, version: &'static str, process: &Process, certificate: &OwnCertificate) {
    sheet.info(plain("guestright_build", "Which program this is"), "version", version);
    sheet.gauge(
        seconds(
            "guestright_certificate_not_before_timestamp",
            "When this program's own certificate begins to hold, since 1970",
        ),
        certificate.not_before.0,
    );
    sheet.gauge(
        seconds(
            "guestright_certificate_not_after_timestamp",
            "When this program's own certificate ends, since 1970",
        ),
        certificate.not_after.0,
    );
    sheet.gauge(
        seconds("guestright_clock_timestamp", "What this program takes the time to be, since 1970"),
        certificate.now.0,
    );
    sheet.gauge(bytes("process_resident_memory", "Resident memory of this program"), process.resident_bytes);
    sheet.float_counter(seconds("process_cpu", "Processor time of this program"), process.cpu_seconds);
    sheet
        .gauge(plain("process_open_fds", "File descriptors that this program has open"), process.descriptors);
    sheet.gauge(
        plain("process_max_fds", "File descriptors that this program may have open"),
        process.descriptors_max,
    );
    sheet.float(seconds("process_start_time", "When this program started, since 1970"), process.started);
}

/// Whom and what both programs have refused.
fn put_refusals(
    sheet: &mut Sheet,
    guests: &BTreeMap<RefusedBy, u64>,
    messages: &BTreeMap<&'static str, u64>,
) {
    let refused = |by: RefusedBy| (by.name(), guests.get(&by).copied().unwrap_or_default());
    sheet.counters(
        plain("guestright_refusals", "Guests who were not served, or not any longer, by reason"),
        "reason",
        RefusedBy::ALL.map(refused),
    );
    sheet.counters(
        plain("guestright_messages_refused", "Messages that were refused, by kind"),
        "kind",
        messages.iter().map(|(kind, count)| (*kind, *count)),
    );
}

#[cfg(test)]
mod tests;
