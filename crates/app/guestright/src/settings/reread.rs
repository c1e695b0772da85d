//! A settings file of a running program, read again: what differs, and what of it the program takes.

use super::{ApSettings, HomeSettings, PolicyKind, Source};
use anyhow::Context as _;
use guestright_cli::failure::Failure;
use guestright_error::RunError;
use guestright_host::{Fresh, Reread};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use toml::Value;

/// Settings by their names, tables' names before a dot.
type Flat = BTreeMap<String, Value>;

/// Settings that a running program can take.
pub(crate) trait Reloadable: Serialize + DeserializeOwned {
    /// What its loop knows of them.
    type Loop;

    fn settings_for_loop(&self, path: &Path) -> Result<Self::Loop, Failure>;

    /// Whether a running program takes the setting; nothing is a setting that is left out.
    fn is_taken(name: &str, before: Option<&Value>, now: Option<&Value>) -> bool;
}

impl Reloadable for ApSettings {
    type Loop = guestright_host::access_point::Settings;

    fn settings_for_loop(&self, path: &Path) -> Result<Self::Loop, Failure> {
        self.for_loop(path)
    }

    fn is_taken(name: &str, before: Option<&Value>, now: Option<&Value>) -> bool {
        const TAKEN: [&str; 8] = [
            "away_bytes_per_day",
            "flush_ms",
            "interval_ms",
            "retention.addresses",
            "sessions_max",
            "unsigned_bytes_max",
            "volume_bytes",
            "when_home_is_away",
        ];
        // What the page says, unless there was none; where it is stands in the rules.
        const SPLASH: [&str; 9] = [
            "splash.contact",
            "splash.household",
            "splash.languages",
            "splash.member_page",
            "splash.terms",
            "splash.terms_file",
            "splash.trial",
            "splash.trial_seconds",
            "splash.trials_per_day",
        ];
        // What only hostapd hears of.
        const PHONES: &str = "phones.reply_message";
        // With shaping the rules are others than without.
        TAKEN.contains(&name)
            || ((name.starts_with("shaping.") || name == PHONES) && before.is_some() && now.is_some())
            || SPLASH.contains(&name)
            || name.starts_with("radio.")
    }
}

impl Reloadable for HomeSettings {
    type Loop = guestright_host::home::Settings;

    fn settings_for_loop(&self, path: &Path) -> Result<Self::Loop, Failure> {
        self.for_loop(path)
    }

    fn is_taken(name: &str, before: Option<&Value>, now: Option<&Value>) -> bool {
        let is_credit = |value: Option<&Value>| {
            value.is_none_or(|value| Value::try_from(PolicyKind::Credit).is_ok_and(|credit| *value == credit))
        };
        match name {
            // Accounts are kept with credit, and are not without.
            "policy.kind" => is_credit(before) == is_credit(now),
            // Given once, at the first start.
            "credit.founding_bytes" => false,
            // Without [voice] there is no exchange that could refuse.
            "voice.admit" => before.is_some() && now.is_some(),
            _ => {
                ["revocations", "renewal"].contains(&name)
                    || name.starts_with("policy.")
                    || name.starts_with("credit.")
            }
        }
    }
}

/// The file, and what of it is in force.
pub(crate) struct SettingsFile<T> {
    source: Source,
    in_force: Flat,
    read: Flat,
    changed: Vec<String>,
    settings: std::marker::PhantomData<T>,
}

impl<T: Reloadable> SettingsFile<T> {
    /// `settings` are in force; they were read from `source`.
    pub(crate) fn new(source: &Source, settings: &T) -> Result<Self, Failure> {
        let in_force = flat(settings)?;
        let (source, settings) = (source.clone(), std::marker::PhantomData);
        Ok(Self { source, in_force, read: Flat::new(), changed: Vec::new(), settings })
    }
}

impl<T: Reloadable> Reread for SettingsFile<T> {
    type Settings = T::Loop;

    fn read(&mut self) -> Result<Fresh<T::Loop>, RunError> {
        let settings: T = self.source.read()?;
        let read = flat(&settings)?;
        let for_loop = settings.settings_for_loop(&self.source.origin())?;
        let names: BTreeSet<_> = self.in_force.keys().chain(read.keys()).cloned().collect();
        let differ = names.into_iter().filter(|name| self.in_force.get(name) != read.get(name));
        let (changed, waiting): (Vec<_>, Vec<_>) =
            differ.partition(|name| T::is_taken(name, self.in_force.get(name), read.get(name)));
        (self.read, self.changed) = (read, changed.clone());
        Ok(Fresh { settings: for_loop, changed, waiting })
    }

    fn accepted(&mut self) {
        for name in std::mem::take(&mut self.changed) {
            match self.read.remove(&name) {
                Some(value) => drop(self.in_force.insert(name, value)),
                None => drop(self.in_force.remove(&name)),
            }
        }
    }
}

fn flat(settings: &impl Serialize) -> Result<Flat, Failure> {
    let value = Value::try_from(settings).context("write settings down").map_err(Failure::bug)?;
    let mut flat = Flat::new();
    flatten("", value, &mut flat);
    Ok(flat)
}

fn flatten(name: &str, value: Value, flat: &mut Flat) {
    let Value::Table(table) = value else {
        flat.insert(name.to_owned(), value);
        return;
    };
    for (key, value) in table {
        let name = if name.is_empty() { key } else { format!("{name}.{key}") };
        flatten(&name, value, flat);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const AP: &str = "key = \"k\"\ncertificate = \"c\"\nhome = \"127.0.0.1:1\"\nvisitor_interface = \"br0\"\n\
                      uplink_interface = \"wan0\"\n";
    const HOME: &str = "key = \"k\"\ncertificate = \"c\"\n";

    /// What is said of a file that was `before` and is `now`: what is taken, and what waits.
    fn differ<T: Reloadable>(before: &str, now: &str) -> [String; 2] {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("settings.toml");
        std::fs::write(&path, now).unwrap();
        let mut file =
            SettingsFile::<T>::new(&Source::new(path.clone(), None, "ap"), &toml::from_str(before).unwrap())
                .unwrap();
        let Fresh { changed, waiting, .. } = file.read().unwrap();
        file.accepted();
        let again = file.read().unwrap();
        assert_eq!(
            (again.changed, &again.waiting),
            (vec![], &waiting),
            "taken once, and waiting until the next start"
        );
        [changed.join(" "), waiting.join(" ")]
    }

    #[test]
    fn what_changed_is_named_and_what_waits_for_the_next_start() {
        let ap = |more: &str| format!("{AP}{more}");
        let shaped = |down: u64| {
            format!("{AP}[shaping]\ndown_bits_per_second = {down}\nup_bits_per_second = 5000000\n")
        };
        let taken = "interval_ms = 1000\nsessions_max = 2\nunsigned_bytes_max = 3\nvolume_bytes = 4\nflush_ms = 5\n\
                     when_home_is_away = \"refuse\"\naway_bytes_per_day = 6\n";
        let names = "away_bytes_per_day flush_ms interval_ms sessions_max unsigned_bytes_max volume_bytes \
                     when_home_is_away";
        #[rustfmt::skip]
        let cases = [
            (ap(""),           ap(""),                        ["", ""]),
            (ap(""),           ap(taken),                     [names, ""]),
            (ap(taken),        ap(""),                        [names, ""]),
            (ap(""),           ap("port = 9\n"),              ["", "port"]),
            (ap(""),           ap("port = 9\ninterval_ms = 300\n"), ["interval_ms", "port"]),
            (ap(""),           AP.replace("127.0.0.1:1", "127.0.0.1:2"), ["", "home"]),
            (shaped(2_000_000), shaped(1_000_000),            ["shaping.down_bits_per_second", ""]),
            (ap(""),           shaped(1_000_000),             ["", "shaping.down_bits_per_second shaping.up_bits_per_second"]),
            (ap(""),           ap("[tunnels]\nenabled = false\n"), ["", "tunnels.enabled"]),
            (ap(""),           ap("[radio]\nstandard = \"b\"\nrate_mbps = 11\n"), ["radio.measure radio.rate_mbps radio.standard radio.streams radio.tunnel radio.width_mhz", ""]),
            (ap("[phones]\n"), ap("[phones]\nreply_message = false\n"), ["phones.reply_message", ""]),
            (ap("[phones]\n"), ap("[phones]\nradius = \"127.0.0.1:1\"\n"), ["", "phones.radius"]),
            (ap(""),           ap("[phones]\n"), ["", "phones.disconnect phones.radius phones.reply_message"]),
        ];
        for (before, now, want) in cases {
            assert_eq!(differ::<ApSettings>(&before, &now), want, "{before}\n{now}");
        }
        let home = |more: &str| format!("{HOME}{more}");
        let voice = |more: &str| home(&format!("[gateway]\nuplink_interface = \"wan0\"\n[voice]\n{more}"));
        let cases = [
            (home(""), home("revocations = \"list\"\n"), ["revocations", ""]),
            (home(""), home("renewal = \"renewal\"\n"), ["renewal", ""]),
            (home("[credit]\nhold = true\n"), home("[credit]\nhold = false\n"), ["credit.hold", ""]),
            (home(""), home("[credit]\nfounding_bytes = 1\n"), ["", "credit.founding_bytes"]),
            (home(""), home("[policy]\nkind = \"srm\"\n"), ["", "policy.kind"]),
            (home("[policy]\nkind = \"srm\"\n"), home("[policy]\nkind = \"gmf\"\n"), ["policy.kind", ""]),
            (home(""), home("receipts_max = 5\n"), ["", "receipts_max"]),
            (voice(""), voice("admit = true\n"), ["voice.admit", ""]),
            (voice(""), voice("calls_max = 7\n"), ["", "voice.calls_max"]),
        ];
        for (before, now, want) in cases {
            assert_eq!(differ::<HomeSettings>(&before, &now), want, "{before}\n{now}");
        }
    }

    #[test]
    fn wrong_settings_are_refused_and_those_in_force_stay() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("ap.toml");
        let in_force: ApSettings = toml::from_str(AP).unwrap();
        let mut file = SettingsFile::new(&Source::new(path.clone(), None, "ap"), &in_force).unwrap();
        for (text, word) in [
            (format!("{AP}interval_ms = 1\n"), "interval_ms"),
            (format!("{AP}intervall = 1\n"), "intervall"),
            (format!("{AP}[shaping]\ndown_bits_per_second = 0\nup_bits_per_second = 1000000\n"), "down_bits"),
        ] {
            std::fs::write(&path, text).unwrap();
            let error = file.read().unwrap_err();
            assert!(error.sentence().contains(word), "{}", error.sentence());
        }
        std::fs::write(&path, format!("{AP}interval_ms = 1000\n")).unwrap();
        assert_eq!(file.read().unwrap().changed, ["interval_ms"]);
    }
}
