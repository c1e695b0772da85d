//! Samples under their names, in the order in which they are written.

use crate::{Buckets, PerClass};
use prometheus_client::encoding::{EncodeMetric, MetricEncoder, NoLabelSet};
use prometheus_client::metrics::MetricType;
use prometheus_client::registry::{Registry, Unit};
use std::fmt;

/// What is written. Everything on it is read once, and then it is thrown away.
#[derive(Debug, Default)]
pub(crate) struct Sheet(pub(crate) Registry);

/// A name without its unit, and what it means. The library adds the unit, `_total` where it counts, and a full stop.
pub(crate) struct Name {
    pub(crate) name: &'static str,
    pub(crate) unit: Option<Unit>,
    pub(crate) help: &'static str,
}

pub(crate) const fn plain(name: &'static str, help: &'static str) -> Name {
    Name { name, unit: None, help }
}

pub(crate) const fn bytes(name: &'static str, help: &'static str) -> Name {
    Name { name, unit: Some(Unit::Bytes), help }
}

pub(crate) const fn seconds(name: &'static str, help: &'static str) -> Name {
    Name { name, unit: Some(Unit::Seconds), help }
}

impl Sheet {
    pub(crate) fn gauge(&mut self, name: Name, value: u64) {
        self.put(name, Samples::one(MetricType::Gauge, Value::Whole(value)));
    }

    pub(crate) fn flag(&mut self, name: Name, value: bool) {
        self.gauge(name, u64::from(value));
    }

    pub(crate) fn float(&mut self, name: Name, value: f64) {
        self.put(name, Samples::one(MetricType::Gauge, Value::Float(value)));
    }

    /// Something that is not always known: then its name alone is written.
    pub(crate) fn gauge_if(&mut self, name: Name, value: Option<u64>) {
        let samples = value.map(|value| Sample { label: None, value: Value::Whole(value) });
        self.put(name, Samples { metric_type: MetricType::Gauge, samples: samples.into_iter().collect() });
    }

    pub(crate) fn gauges(
        &mut self,
        name: Name,
        label: &'static str,
        values: impl IntoIterator<Item = (impl Into<String>, u64)>,
    ) {
        self.put(name, Samples::labelled(MetricType::Gauge, label, values));
    }

    pub(crate) fn counter(&mut self, name: Name, value: u64) {
        self.put(name, Samples::one(MetricType::Counter, Value::Whole(value)));
    }

    pub(crate) fn float_counter(&mut self, name: Name, value: f64) {
        self.put(name, Samples::one(MetricType::Counter, Value::Float(value)));
    }

    pub(crate) fn counters(
        &mut self,
        name: Name,
        label: &'static str,
        values: impl IntoIterator<Item = (impl Into<String>, u64)>,
    ) {
        self.put(name, Samples::labelled(MetricType::Counter, label, values));
    }

    pub(crate) fn histogram(&mut self, name: Name, buckets: &Buckets) {
        self.put(name, Histogram(buckets.clone()));
    }

    pub(crate) fn info(&mut self, name: Name, label: &'static str, value: &'static str) {
        self.put(name, prometheus_client::metrics::info::Info::new([(label, value)]));
    }

    fn put(&mut self, name: Name, metric: impl EncodeMetric + fmt::Debug + Send + Sync + 'static) {
        let Name { name, unit, help } = name;
        match unit {
            Some(unit) => self.0.register_with_unit(name, help, unit, metric),
            None => self.0.register(name, help, metric),
        }
    }
}

/// The five classes by their names.
pub(crate) fn classes(per_class: &PerClass) -> impl Iterator<Item = (&'static str, u64)> {
    per_class.each().map(|(class, value)| (class.name(), value))
}

#[derive(Clone, Copy, Debug)]
enum Value {
    Whole(u64),
    Float(f64),
}

#[derive(Debug)]
struct Sample {
    label: Option<(&'static str, String)>,
    value: Value,
}

/// Gauges or counters of one name.
#[derive(Debug)]
struct Samples {
    metric_type: MetricType,
    samples: Vec<Sample>,
}

impl Samples {
    fn one(metric_type: MetricType, value: Value) -> Self {
        Self { metric_type, samples: vec![Sample { label: None, value }] }
    }

    fn labelled(
        metric_type: MetricType,
        label: &'static str,
        values: impl IntoIterator<Item = (impl Into<String>, u64)>,
    ) -> Self {
        let sample = |(of, value): (_, u64)| Sample {
            label: Some((label, Into::<String>::into(of))),
            value: Value::Whole(value),
        };
        Self { metric_type, samples: values.into_iter().map(sample).collect() }
    }

    fn encode_one(&self, mut encoder: MetricEncoder<'_>, value: Value) -> fmt::Result {
        match (value, &self.metric_type) {
            (Value::Whole(value), MetricType::Counter) => {
                encoder.encode_counter::<NoLabelSet, u64, u64>(&value, None)
            }
            (Value::Float(value), MetricType::Counter) => {
                encoder.encode_counter::<NoLabelSet, f64, u64>(&value, None)
            }
            (Value::Whole(value), _) => encoder.encode_gauge(&value),
            (Value::Float(value), _) => encoder.encode_gauge(&value),
        }
    }
}

impl EncodeMetric for Samples {
    fn encode(&self, mut encoder: MetricEncoder<'_>) -> fmt::Result {
        for Sample { label, value } in &self.samples {
            match label {
                Some((label, of)) => {
                    let labels = [(*label, of.as_str())];
                    self.encode_one(encoder.encode_family(&labels)?, *value)?;
                }
                None => {
                    let no_labels: [(&str, &str); 0] = [];
                    self.encode_one(encoder.encode_family(&no_labels)?, *value)?;
                }
            }
        }
        Ok(())
    }

    fn metric_type(&self) -> MetricType {
        self.metric_type
    }
}

#[derive(Debug)]
struct Histogram(Buckets);

impl EncodeMetric for Histogram {
    fn encode(&self, mut encoder: MetricEncoder<'_>) -> fmt::Result {
        let buckets: Vec<_> = self.0.each().collect();
        encoder.encode_histogram::<NoLabelSet>(self.0.sum(), self.0.count(), &buckets, None)
    }

    fn metric_type(&self) -> MetricType {
        MetricType::Histogram
    }
}
