pub mod declared;

use crate::near::nearest;
use crate::plan::attachment::{Files, NAME_MAX};
use crate::value::Value;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;
use thiserror::Error;

/// Names in dotted form (`cpu.plain_us`) with their values.
///
/// A testbed gets them completed: every setting that it has is there, with a value of its kind and within its limits.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Settings {
    values: BTreeMap<String, Value>,
    /// The files that values of the kind [`Kind::File`] may name.
    #[serde(skip)]
    files: Option<Arc<Files>>,
}

/// A file that goes with a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attached {
    pub name: String,
    /// Of its text, in hexadecimal digits.
    pub sha256: String,
    pub text: Arc<str>,
}

/// What a testbed says of one of its settings.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SettingInfo {
    /// Its name, dotted: `cpu.plain_us`.
    pub name: &'static str,
    /// Its unit: `ms`; empty if it has none.
    pub unit: &'static str,
    /// Its kind, its default, and what is allowed.
    pub kind: Kind,
    pub about: &'static str,
}

/// The kind of a setting, with its default and what is allowed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    /// Yes or no.
    Bool {
        /// If nothing is said.
        default: bool,
    },
    /// A whole number from `min` to `max`, both included.
    Integer {
        /// If nothing is said.
        default: i64,
        min: i64,
        max: i64,
    },
    /// A number from `min` to `max`, both included; a plan may also write it as a whole number.
    Float {
        /// If nothing is said.
        default: f64,
        min: f64,
        max: f64,
    },
    /// One of some words.
    Choice {
        /// If nothing is said.
        default: &'static str,
        /// All of them.
        of: &'static [&'static str],
    },
    /// Any text of at most [`Settings::TEXT_MAX`] bytes; what it means, the testbed's `check` says.
    Text {
        /// If nothing is said.
        default: &'static str,
    },
    /// The name of a file that goes with the plan; none if nothing is said.
    File,
}

/// What is wrong with a setting. A plan adds the line.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum SettingError {
    /// The testbed has no such setting.
    #[error("there is no setting `{setting}`{}", meant.as_ref().map_or_else(String::new, |name| format!("; did you mean `{name}`?")))]
    Unknown {
        setting: String,
        /// A name much like it.
        meant: Option<String>,
    },
    /// It was not given, and is asked for without a default.
    #[error("the setting `{setting}` is not given; {want} is wanted")]
    Missing {
        setting: String,
        /// What it would have to be.
        want: String,
    },
    /// A value of another kind, or outside of what is allowed.
    #[error("the setting `{setting}` is {}; {want} is wanted", quoted(got))]
    Wrong {
        setting: String,
        got: Value,
        /// What it would have to be.
        want: String,
    },
    /// A value that is allowed, but not together with others.
    #[error("the setting `{setting}` does not fit: {reason}")]
    Unfit {
        setting: String,
        /// Why, and what to do.
        reason: String,
    },
}

impl SettingError {
    /// That the value of `setting` does not fit the others, for this `reason`.
    pub fn unfit(setting: &str, reason: impl Into<String>) -> Self {
        Self::Unfit { setting: setting.to_owned(), reason: reason.into() }
    }

    /// The name of the setting that is wrong.
    pub fn setting(&self) -> &str {
        match self {
            Self::Unknown { setting, .. }
            | Self::Missing { setting, .. }
            | Self::Wrong { setting, .. }
            | Self::Unfit { setting, .. } => setting,
        }
    }
}

impl Settings {
    /// The most bytes of a text.
    pub const TEXT_MAX: usize = 1_000;

    /// No settings.
    pub const fn new() -> Self {
        Self { values: BTreeMap::new(), files: None }
    }

    /// These, with one more or with another value for it: for tests, `Settings::new().with("calls", 7)`.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.set(name, value);
        self
    }

    /// Gives a setting a value.
    pub fn set(&mut self, name: &str, value: impl Into<Value>) {
        self.values.insert(name.to_owned(), value.into());
    }

    /// The value of a setting, if it is given.
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.values.get(name)
    }

    /// All of them, by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.values.iter().map(|(name, value)| (name.as_str(), value))
    }

    /// How many are given.
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// Whether none is given.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// Yes or no.
    ///
    /// # Errors
    ///
    /// When it is not given or of another kind.
    pub fn bool(&self, name: &str) -> Result<bool, SettingError> {
        let value = self.value(name, "true or false")?;
        if let Value::Bool(value) = value { Ok(*value) } else { Err(wrong(name, value, "true or false")) }
    }

    /// A whole number.
    ///
    /// # Errors
    ///
    /// When it is not given or of another kind.
    pub fn integer(&self, name: &str) -> Result<i64, SettingError> {
        let value = self.value(name, "a whole number")?;
        if let Value::Integer(value) = value { Ok(*value) } else { Err(wrong(name, value, "a whole number")) }
    }

    /// A whole number as the type that is needed: `settings.whole::<u32>("calls")?`.
    ///
    /// # Errors
    ///
    /// When it is not given, of another kind, or too large or too small for the type.
    pub fn whole<T: TryFrom<i64>>(&self, name: &str) -> Result<T, SettingError> {
        let number = self.integer(name)?;
        let want = || format!("a whole number that fits into {}", std::any::type_name::<T>());
        T::try_from(number).map_err(|_| wrong(name, &Value::Integer(number), &want()))
    }

    /// A finite number; whole numbers are numbers too.
    ///
    /// # Errors
    ///
    /// When it is not given or of another kind.
    pub fn float(&self, name: &str) -> Result<f64, SettingError> {
        let value = self.value(name, "a number")?;
        value.number().filter(|number| number.is_finite()).ok_or_else(|| wrong(name, value, "a number"))
    }

    /// Text, or the word chosen.
    ///
    /// # Errors
    ///
    /// When it is not given or of another kind.
    pub fn text(&self, name: &str) -> Result<&str, SettingError> {
        let value = self.value(name, "text")?;
        if let Value::Text(value) = value { Ok(value) } else { Err(wrong(name, value, "text")) }
    }

    /// The file that a setting names; nothing if it names none.
    ///
    /// # Errors
    ///
    /// When it is not given, of another kind, or no file of this name goes with the settings.
    pub fn file(&self, name: &str) -> Result<Option<Arc<Attached>>, SettingError> {
        let file = self.text(name)?;
        if file.is_empty() {
            return Ok(None);
        }
        let found = self.files.as_ref().and_then(|files| files.get(file)).cloned();
        let reason = || {
            format!(
                "no file `{file}` goes with it; a plan has it as [[file]], or beside itself where the program reads both"
            )
        };
        found.map(Some).ok_or_else(|| SettingError::unfit(name, reason()))
    }

    /// These settings, with the files that their values may name.
    pub(crate) fn attach(self, files: &Files) -> Self {
        let files = (!files.is_empty()).then(|| Arc::new(files.clone()));
        Self { files, ..self }
    }

    /// The files that are named, in the order of `infos`.
    pub(crate) fn attached(&self, infos: &[SettingInfo]) -> Vec<Arc<Attached>> {
        let infos = infos.iter().filter(|info| matches!(info.kind, Kind::File));
        infos.filter_map(|info| self.file(info.name).ok()?).collect()
    }

    /// What the word chosen stands for in `words`.
    ///
    /// # Errors
    ///
    /// When it is not given, of another kind, or none of the words.
    pub fn one_of<T: Copy>(&self, name: &str, words: &[(&str, T)]) -> Result<T, SettingError> {
        let want = || one_of(words.iter().map(|(word, _)| *word));
        let value = self.get(name).ok_or_else(|| missing(name, want()))?;
        let chosen = words.iter().find(|(word, _)| matches!(value, Value::Text(text) if text == word));
        chosen.map(|(_, meaning)| *meaning).ok_or_else(|| wrong(name, value, &want()))
    }

    /// These settings with the defaults of all that are not given.
    ///
    /// # Errors
    ///
    /// When one is not among `infos`, of another kind than it says, or outside its limits.
    pub fn complete(&self, infos: &[SettingInfo]) -> Result<Self, SettingError> {
        let known = |name: &str| infos.iter().any(|info| info.name == name);
        if let Some(name) = self.values.keys().find(|name| !known(name)) {
            let meant = nearest(name, infos.iter().map(|info| info.name)).map(str::to_owned);
            return Err(SettingError::Unknown { setting: name.clone(), meant });
        }
        let value = |info: &SettingInfo| match self.get(info.name) {
            Some(given) => Ok((info.name.to_owned(), info.accept(given)?)),
            None => Ok((info.name.to_owned(), info.default())),
        };
        let values = infos.iter().map(value).collect::<Result<_, _>>()?;
        Ok(Self { values, files: self.files.clone() })
    }

    fn value(&self, name: &str, want: &str) -> Result<&Value, SettingError> {
        self.get(name).ok_or_else(|| missing(name, want.to_owned()))
    }
}

impl<T: Into<Value>> FromIterator<(String, T)> for Settings {
    fn from_iter<I: IntoIterator<Item = (String, T)>>(settings: I) -> Self {
        let values = settings.into_iter().map(|(name, value)| (name, value.into())).collect();
        Self { values, files: None }
    }
}

impl SettingInfo {
    /// A setting that is true or false.
    pub const fn bool(name: &'static str, default: bool, about: &'static str) -> Self {
        Self { name, unit: "", kind: Kind::Bool { default }, about }
    }

    /// A setting that is a whole number from `min` to `max`; so must the default be.
    pub const fn integer(
        name: &'static str,
        unit: &'static str,
        default: i64,
        (min, max): (i64, i64),
        about: &'static str,
    ) -> Self {
        assert!(min <= default && default <= max, "the default is outside the range");
        Self { name, unit, kind: Kind::Integer { default, min, max }, about }
    }

    /// A setting that is a number from `min` to `max`; so must the default be.
    pub const fn float(
        name: &'static str,
        unit: &'static str,
        default: f64,
        (min, max): (f64, f64),
        about: &'static str,
    ) -> Self {
        assert!(min <= default && default <= max, "the default is outside the range");
        Self { name, unit, kind: Kind::Float { default, min, max }, about }
    }

    /// A setting that is one of some words.
    pub const fn choice(
        name: &'static str,
        default: &'static str,
        of: &'static [&'static str],
        about: &'static str,
    ) -> Self {
        Self { name, unit: "", kind: Kind::Choice { default, of }, about }
    }

    /// A setting that is text.
    pub const fn text(name: &'static str, default: &'static str, about: &'static str) -> Self {
        Self { name, unit: "", kind: Kind::Text { default }, about }
    }

    /// A setting that names a file of the plan.
    pub const fn file(name: &'static str, about: &'static str) -> Self {
        Self { name, unit: "", kind: Kind::File, about }
    }

    /// Its value if nothing is said.
    pub fn default(&self) -> Value {
        match self.kind {
            Kind::Bool { default } => Value::Bool(default),
            Kind::Integer { default, .. } => Value::Integer(default),
            Kind::Float { default, .. } => Value::Float(default),
            Kind::Choice { default, .. } | Kind::Text { default } => Value::Text(default.to_owned()),
            Kind::File => Value::Text(String::new()),
        }
    }

    /// What it may be: "a whole number from 1 to 40".
    pub fn wanted(&self) -> String {
        match self.kind {
            Kind::Bool { .. } => "true or false".to_owned(),
            Kind::Integer { min, max, .. } => format!("a whole number from {min} to {max}"),
            Kind::Float { min, max, .. } => format!("a number from {min} to {max}"),
            Kind::Choice { of, .. } => one_of(of.iter().copied()),
            Kind::Text { .. } => format!("text of at most {} bytes", Settings::TEXT_MAX),
            Kind::File => format!("a file's name of at most {NAME_MAX} bytes"),
        }
    }

    /// The value as this setting has it: `1` becomes `1.0` where a number is wanted.
    ///
    /// # Errors
    ///
    /// When it is of another kind or outside the limits.
    pub fn accept(&self, value: &Value) -> Result<Value, SettingError> {
        let fits = match (self.kind, value) {
            (Kind::Bool { .. }, Value::Bool(_)) => true,
            (Kind::Integer { min, max, .. }, Value::Integer(number)) => (min..=max).contains(number),
            (Kind::Float { min, max, .. }, Value::Integer(_) | Value::Float(_)) => {
                value.number().is_some_and(|number| (min..=max).contains(&number))
            }
            (Kind::Choice { of, .. }, Value::Text(word)) => of.contains(&word.as_str()),
            (Kind::Text { .. }, Value::Text(text)) => text.len() <= Settings::TEXT_MAX,
            (Kind::File, Value::Text(name)) => name.len() <= NAME_MAX,
            (_, Value::Bool(_) | Value::Integer(_) | Value::Float(_) | Value::Text(_)) => false,
        };
        if !fits {
            return Err(wrong(self.name, value, &self.wanted()));
        }
        match (self.kind, value.number()) {
            (Kind::Float { .. }, Some(number)) => Ok(Value::Float(number)),
            _ => Ok(value.clone()),
        }
    }
}

fn wrong(setting: &str, got: &Value, want: &str) -> SettingError {
    SettingError::Wrong { setting: setting.to_owned(), got: got.clone(), want: want.to_owned() }
}

fn missing(setting: &str, want: String) -> SettingError {
    SettingError::Missing { setting: setting.to_owned(), want }
}

/// `one of "a", "b"`
fn one_of<'a>(words: impl Iterator<Item = &'a str>) -> String {
    let words: Vec<String> = words.map(|word| format!("\"{word}\"")).collect();
    format!("one of {}", words.join(", "))
}

fn quoted(value: &Value) -> String {
    match value {
        Value::Text(text) if text.len() > 60 => {
            let start: String = text.chars().take(40).collect();
            format!("\"{start}…\" ({} bytes)", text.len())
        }
        Value::Text(text) => format!("\"{text}\""),
        // With its dot, where a whole number may be wanted.
        Value::Float(number) => format!("{number:?}"),
        Value::Bool(_) | Value::Integer(_) => value.to_string(),
    }
}
