//! `[splash]` in `ap.toml`: the page for guests that run no program of ours.

use super::beside;
use anyhow::anyhow;
use guestright_cli::failure::Failure;
use guestright_host::access_point::retention::Keep;
use guestright_host::access_point::splash::{self, CertificateFiles, SECURED_PORT, SPLASH_PORT, Texts};
use guestright_roaming::trials::TrialConfig;
use guestright_splash::{Language, TRIAL_SECONDS_USUAL};
use guestright_units::{Bytes, Micros};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// All of it. Without this table there is no page.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SplashSettings {
    /// How the household calls itself.
    pub(crate) household: String,
    /// How somebody reaches it.
    pub(crate) contact: Option<String>,
    /// Its terms, a paragraph in each line.
    pub(crate) terms: Option<String>,
    /// A file with all of them, for a page of their own: text of at most 32 KiB.
    pub(crate) terms_file: Option<PathBuf>,
    /// Where to read how one becomes a member.
    pub(crate) member_page: Option<String>,
    /// The tags of the languages; the first is for those who ask for none of them.
    #[serde(default = "default_languages")]
    pub(crate) languages: Vec<String>,
    #[serde(default = "default_port")]
    pub(crate) port: u16,
    /// What a station without a session may try in a day, such as `20 MB`; without it there are no trials.
    pub(crate) trial: Option<String>,
    /// What all may try in a day, together: five trials, unless it says otherwise.
    pub(crate) trials_per_day: Option<String>,
    /// After so long a trial is over.
    #[serde(default = "default_trial_seconds")]
    pub(crate) trial_seconds: u32,
    /// A name with a certificate that phones trust, its files in PEM, and the port: all of them, or none.
    pub(crate) name: Option<String>,
    pub(crate) certificate: Option<PathBuf>,
    pub(crate) certificate_key: Option<PathBuf>,
    #[serde(default = "default_secured_port")]
    pub(crate) secured_port: u16,
}

/// Trials are a taste, and come out of what is given away: more is a mistake.
const TRIAL_MAX: Bytes = Bytes(10_000_000_000);
/// A trial of less is none.
const TRIAL_MIN: Bytes = Bytes(1_000_000);
const TRIALS_USUAL: u64 = 5;

fn default_languages() -> Vec<String> {
    Language::ALL.map(|language| language.tag().to_owned()).to_vec()
}

fn default_port() -> u16 {
    SPLASH_PORT
}

fn default_secured_port() -> u16 {
    SECURED_PORT
}

fn default_trial_seconds() -> u32 {
    TRIAL_SECONDS_USUAL
}

impl SplashSettings {
    /// What the loop is told; `path` is the settings file's, and `addresses_kept` what the page of terms says.
    pub(super) fn for_loop(
        &self,
        (path, addresses_kept): (&Path, Option<Keep>),
    ) -> Result<splash::Settings, Failure> {
        let texts = Texts {
            household: self.household.clone(),
            contact: self.contact.clone(),
            terms: self.terms.clone(),
            terms_text: self
                .terms_file
                .as_ref()
                .map(|file| splash::read_terms(&beside(path, file)))
                .transpose()?,
            addresses_kept,
            member_page: self.member_page.clone(),
            languages: self.languages()?,
        };
        Ok(splash::Settings {
            port: self.port,
            texts,
            trial: self.trial()?,
            certificate: self.certificate(path)?,
        })
    }

    fn languages(&self) -> Result<Vec<Language>, Failure> {
        let all = default_languages().join(", ");
        let parse = |tag: &String| {
            Language::of_tag(tag).ok_or_else(|| wrong("languages", &format!("{tag:?} is none of {all}")))
        };
        self.languages.iter().map(parse).collect()
    }

    fn trial(&self) -> Result<TrialConfig, Failure> {
        let Some(each) = &self.trial else {
            return match &self.trials_per_day {
                Some(_) => Err(wrong("trials_per_day", "there is no trial")),
                None => Ok(TrialConfig::NONE),
            };
        };
        let bytes = |name: &str, text: &str| {
            let example = "write a whole number and kB, MB or GB, for example \"20 MB\"";
            let bytes = parse_bytes(text).ok_or_else(|| wrong(name, example))?;
            if (TRIAL_MIN..=TRIAL_MAX).contains(&bytes) {
                Ok(bytes)
            } else {
                Err(wrong(name, &format!("{bytes} is not from {TRIAL_MIN} to {TRIAL_MAX}")))
            }
        };
        let each = bytes("trial", each)?;
        let usual = Bytes(each.0.saturating_mul(TRIALS_USUAL));
        let per_day = self.trials_per_day.as_ref().map_or(Ok(usual), |text| bytes("trials_per_day", text))?;
        if per_day < each {
            return Err(wrong("trials_per_day", &format!("{per_day} is less than one trial")));
        }
        if !(60..=86_400).contains(&self.trial_seconds) {
            return Err(wrong("trial_seconds", "it must be 60 to 86400"));
        }
        Ok(TrialConfig { each, per_day, time: Micros::from_seconds(self.trial_seconds.into()) })
    }

    fn certificate(&self, path: &Path) -> Result<Option<CertificateFiles>, Failure> {
        match (&self.name, &self.certificate, &self.certificate_key) {
            (Some(name), Some(chain), Some(key)) => Ok(Some(CertificateFiles {
                name: name.clone(),
                port: self.secured_port,
                chain: beside(path, chain),
                key: beside(path, key),
            })),
            (None, None, None) => Ok(None),
            _ => {
                Err(wrong("name", "certificate and certificate_key belong together: give all three, or none"))
            }
        }
    }
}

/// A whole number and a decimal unit.
fn parse_bytes(text: &str) -> Option<Bytes> {
    let (number, unit) = text.split_once(' ')?;
    let power = ["B", "kB", "MB", "GB"].iter().position(|it| *it == unit)?;
    let factor = 1_000_u64.checked_pow(u32::try_from(power).ok()?)?;
    number.parse::<u64>().ok()?.checked_mul(factor).map(Bytes)
}

fn wrong(setting: &str, why: &str) -> Failure {
    Failure::config(anyhow!("[splash] {setting}: {why}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_is_refused_by_its_name() {
        let read = |more: &str| {
            let text = format!("household = \"The Rivers\"\n{more}");
            let settings = toml::from_str::<SplashSettings>(&text).unwrap();
            settings.for_loop((Path::new("/etc/guestright/ap.toml"), None))
        };
        let settings = read("trial = \"20 MB\"\n").unwrap();
        assert_eq!((settings.trial.each, settings.trial.per_day), (Bytes(20_000_000), Bytes(100_000_000)));
        assert_eq!(read("").unwrap().trial, TrialConfig::NONE);
        let files =
            read("name = \"ap.example.org\"\ncertificate = \"chain.pem\"\ncertificate_key = \"/k.pem\"\n")
                .unwrap()
                .certificate
                .unwrap();
        assert_eq!(
            (files.chain.to_str(), files.key.to_str()),
            (Some("/etc/guestright/chain.pem"), Some("/k.pem"))
        );
        for (more, word) in [
            ("trial = \"20\"\n", "trial"),
            ("trial = \"1 kB\"\n", "trial"),
            ("trial = \"20 MB\"\ntrials_per_day = \"10 MB\"\n", "trials_per_day"),
            ("trials_per_day = \"10 MB\"\n", "trials_per_day"),
            ("trial = \"20 MB\"\ntrial_seconds = 5\n", "trial_seconds"),
            ("languages = [\"xx\"]\n", "languages"),
            ("name = \"ap.example.org\"\n", "name"),
        ] {
            let error = read(more).unwrap_err().to_string();
            assert!(error.contains(&format!("[splash] {word}")), "{more}: {error}");
        }
    }
}
