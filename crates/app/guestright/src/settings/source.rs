//! Where settings are read from: a TOML file of their own, or OpenWrt's file for both programs.

use super::{or_usual, read};
use anyhow::{Context as _, anyhow};
use guestright_cli::failure::{Failure, Outcome};
use guestright_cli::output::Output;
use guestright_setup::paths;
use guestright_uci::{Document, Roots};
use serde::de::DeserializeOwned;
use std::path::{Path, PathBuf};

/// Sections of the service's own, which it reads by itself, and those of the two programs.
const ROOTS: Roots<'_> = Roots(&["service", "ap", "home"]);

/// A settings file.
#[derive(Clone, Debug)]
pub(crate) struct Source {
    file: PathBuf,
    /// In OpenWrt's file: the section that is meant.
    section: Option<&'static str>,
}

impl Source {
    /// What `--config` and `--uci` name, for the program `role`: `ap` or `home`.
    pub(crate) fn new(config: PathBuf, uci: Option<PathBuf>, role: &'static str) -> Self {
        match uci {
            Some(file) => Self { file, section: Some(role) },
            None => Self { file: or_usual(config, &format!("{role}.toml")), section: None },
        }
    }

    pub(crate) fn file(&self) -> &Path {
        &self.file
    }

    /// What relative paths are beside: the TOML file. In `/etc/config` is nothing but settings, so theirs are beside the
    /// TOML file that setup would write.
    pub(crate) fn origin(&self) -> PathBuf {
        match self.section {
            Some(role) => Path::new(paths::SETTINGS).join(format!("{role}.toml")),
            None => self.file.clone(),
        }
    }

    pub(crate) fn read<T: DeserializeOwned>(&self) -> Result<T, Failure> {
        let Some(role) = self.section else { return read(&self.file) };
        let document = self.document()?;
        let settings = document.root(role, ROOTS).and_then(|section| section.settings());
        settings.map_err(|error| self.misunderstood(error))
    }

    /// Whether the program is to run; a TOML file is there because it is.
    ///
    /// # Errors
    /// No such file, or one that cannot be understood.
    pub(crate) fn is_enabled(&self) -> Result<bool, Failure> {
        let Some(role) = self.section else { return Ok(true) };
        let document = self.document()?;
        document.root(role, ROOTS).map(|section| section.enabled).map_err(|error| self.misunderstood(error))
    }

    /// Says that it is not.
    pub(crate) fn print_not_enabled(&self, what: &str, json: bool, out: &mut Output) -> Outcome {
        let sentence = format!("{what} is not enabled in {}", self.file.display());
        crate::reloaded::done(json, "not enabled", &sentence, out)
    }

    fn document(&self) -> Result<Document, Failure> {
        let text =
            std::fs::read_to_string(&self.file).with_context(|| format!("read {}", self.file.display()));
        let text = text.map_err(|error| {
            Failure::config(error)
                .hint("the package for OpenWrt brings /etc/config/guestright; give it with --uci")
        })?;
        Document::parse(&text).map_err(|error| self.misunderstood(error))
    }

    fn misunderstood(&self, error: guestright_uci::UciError) -> Failure {
        let file = self.file.display();
        Failure::config(anyhow!(error).context(format!("understand {file}"))).hint(format!(
            "correct {file}; `guestright help ap` and `home` show all settings, and a table is a section: [shaping] in \
             ap.toml is `config ap_shaping`"
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::{ApSettings, HomeSettings};

    /// What comes with the package.
    const SHIPPED: &str = include_str!("../../../../../packaging/openwrt/guestright/files/guestright.config");

    fn written(text: &str) -> (tempfile::TempDir, PathBuf) {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("guestright");
        std::fs::write(&file, text).unwrap();
        (directory, file)
    }

    fn source(file: &Path, role: &'static str) -> Source {
        Source::new(PathBuf::from("unused.toml"), Some(file.to_owned()), role)
    }

    /// The settings of both files, with every default, as TOML.
    fn both(text: &str) -> [String; 2] {
        let (_directory, file) = written(text);
        let ap: ApSettings = source(&file, "ap").read().unwrap();
        let home: HomeSettings = source(&file, "home").read().unwrap();
        [toml::to_string(&ap).unwrap(), toml::to_string(&home).unwrap()]
    }

    #[test]
    fn the_file_of_the_package_is_good_and_enables_nothing() {
        let (_directory, file) = written(SHIPPED);
        let [ap, home] = both(SHIPPED);
        assert!(
            ap.contains("visitor_interface = \"br-guest\"") && home.contains("lend_bytes_max = 25000000")
        );
        for role in ["ap", "home"] {
            assert!(!source(&file, role).is_enabled().unwrap());
            let (_directory, on) = written(&SHIPPED.replace("option enabled '0'", "option enabled '1'"));
            assert!(source(&on, role).is_enabled().unwrap());
        }
    }

    #[test]
    fn what_is_commented_out_in_it_is_good_too() {
        let whole: String = SHIPPED
            .lines()
            .map(|line| match line.trim_start().strip_prefix('#') {
                Some(rest) if is_command(rest) => format!("{rest}\n"),
                Some(_) | None => format!("{line}\n"),
            })
            .collect();
        let [ap, home] = both(&whole);
        assert!(ap.contains("[shaping]\ndown_bits_per_second = 20000000"), "{ap}");
        assert!(
            home.contains("[gateway]") && home.contains("home_networks = [\"192.168.1.0/24\"]"),
            "{home}"
        );
        assert!(home.contains("renewal = \"renewal\""), "{home}");
    }

    fn is_command(text: &str) -> bool {
        ["config ", "option ", "list "].iter().any(|command| text.trim_start().starts_with(command))
    }

    #[test]
    fn every_kind_of_setting_is_read_as_from_toml() {
        let toml = "key = \"home.key\"\ncertificate = \"home.cert\"\nreceipts_max = 5\nlisten = \"192.0.2.1:7274\"\n\
            [policy]\nkind = \"netflow\"\nsigma_permille = 750\nby_probability = true\n[credit]\nhold = false\n\
            [gateway]\nuplink_interface = \"wan\"\nhome_networks = [\"192.168.1.0/24\", \"192.168.2.0/24\"]\n\
            backend = \"userspace\"\ndns_upstream = \"192.168.1.1\"\nport_mapping = true\n\
            [gateway.ikev2]\nprofile = \"legacy-paper\"\n[links]\nannounce = \"home.example:7275\"\n\
            [dynamic_dns]\nname = \"home.example.org\"\nserver = \"198.51.100.53:53\"\nkey_file = \"update.key\"\n\
            [voice]\nsip_port = 5061\n[voice.contacts]\nbob = \"guestright:contact?x\"\n\
            [voice.contacts.eve]\nmember = \"00\"\n[voice.dns]\nzone = \"members.example\"\n\
            [voice.dns.names]\nalice = \"alice.members.example\"\n[voice.sms]\nmodem = \"/dev/ttyUSB2\"\n";
        let uci = "config home\noption key home.key\noption certificate home.cert\noption receipts_max 5\n\
            option listen '192.0.2.1:7274'\nconfig home_policy\noption kind netflow\noption sigma_permille 750\n\
            option by_probability 1\nconfig home_credit\noption hold 0\nconfig home_gateway\noption uplink_interface wan\n\
            list home_networks 192.168.1.0/24\nlist home_networks 192.168.2.0/24\noption backend userspace\n\
            option dns_upstream 192.168.1.1\noption port_mapping on\nconfig home_gateway_ikev2\n\
            option profile legacy-paper\nconfig home_links\noption announce home.example:7275\n\
            config home_dynamic_dns\noption name home.example.org\noption server 198.51.100.53:53\n\
            option key_file update.key\nconfig home_voice\noption sip_port 5061\nconfig home_voice_contacts\n\
            option bob 'guestright:contact?x'\nconfig home_voice_contacts_eve\noption member 00\n\
            config home_voice_dns\noption zone members.example\nconfig home_voice_dns_names\n\
            option alice alice.members.example\nconfig home_voice_sms\noption modem /dev/ttyUSB2\n";
        let (_directory, file) = written(uci);
        let read: HomeSettings = source(&file, "home").read().unwrap();
        let want: HomeSettings = toml::from_str(toml).unwrap();
        assert_eq!(toml::to_string(&read).unwrap(), toml::to_string(&want).unwrap());
    }

    #[test]
    fn a_mistake_is_named_with_file_and_line() {
        let text = "config ap\n\toption key k\n\toption visitor_interfase br\n";
        let (_directory, file) = written(text);
        let refused = source(&file, "ap").read::<ApSettings>().unwrap_err().to_string();
        assert!(refused.contains("line 3") && refused.contains("visitor_interfase"), "{refused}");
        assert!(refused.contains(file.to_str().unwrap()), "{refused}");
        let home = "config home\noption key k\noption certificate c\noption listen nowhere\n";
        let (_directory, file) = written(home);
        let refused = source(&file, "home").read::<HomeSettings>().unwrap_err().to_string();
        assert!(refused.contains("line 4: listen"), "{refused}");
    }

    #[test]
    fn relative_paths_are_beside_the_toml_file_or_below_the_settings_directory() {
        let toml = Source::new("/srv/x/ap.toml".into(), None, "ap");
        assert_eq!(toml.origin(), Path::new("/srv/x/ap.toml"));
        assert_eq!(
            source(Path::new("/etc/config/guestright"), "ap").origin(),
            Path::new("/etc/guestright/ap.toml")
        );
    }
}
