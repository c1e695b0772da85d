//! What cannot be known is asked; the answer in brackets is taken if nothing is typed.

use guestright_cli::failure::{Failure, Outcome};
use guestright_cli::output::Output;
use guestright_setup::{Answers, Facts, HomeAnswer, TeamAnswer, WifiAnswer};
use std::io::BufRead;

/// No answer is longer.
const ANSWER_MAX: u64 = 1_000;

pub(super) fn ask(
    facts: &Facts,
    answers: &mut Answers,
    input: &mut dyn BufRead,
    out: &mut Output,
) -> Outcome {
    let mut person = Person { input, out };
    let uplink = answers.uplink.clone().or_else(|| facts.uplink.clone());
    if answers.uplink.is_none() {
        answers.uplink = person.ask("The interface to the Internet", uplink.as_deref())?;
    }
    let uplink = answers.uplink.clone().unwrap_or_default();
    if answers.ports.is_none() {
        let free: Vec<_> = facts.candidates(&uplink).into_iter().map(|it| it.name.clone()).collect();
        let all = free.join(" ");
        let ports = person.ask(
            "Wires that guests arrive at, and nobody else",
            Some(&all).filter(|all| !all.is_empty()).map(String::as_str),
        )?;
        answers.ports = Some(words(ports.as_deref().unwrap_or_default()));
    }
    if answers.wifi == WifiAnswer::IfPossible
        && !facts.free_radios(&uplink).is_empty()
        && facts.has("hostapd")
    {
        let ssid = person.ask("The name of the guests' Wi-Fi (- for none)", Some("guestright"))?;
        let country = if ssid.as_deref() == Some("-") {
            None
        } else {
            person.ask("The country, by its two letters", None)?
        };
        answers.wifi = match ssid.as_deref() {
            Some("-") => WifiAnswer::Off,
            _ => WifiAnswer::On { interface: None, ssid, country, channel: None },
        };
    }
    if answers.team == TeamAnswer::default() {
        let code = person.ask("The code of an existing team, or nothing for a new one", None)?;
        answers.team = match code {
            Some(code) => TeamAnswer::Join { code },
            None => {
                let members =
                    person.ask("People in the team, by names of letters, digits and dashes", None)?;
                TeamAnswer::New { members: words(members.as_deref().unwrap_or_default()), keep_key: false }
            }
        };
    }
    let is_new = matches!(answers.team, TeamAnswer::New { .. });
    if let HomeAnswer::Here { endpoint: endpoint @ None, .. } = &mut answers.home
        && is_new
    {
        *endpoint =
            person.ask("The name or address under which this household is found from elsewhere", None)?;
    }
    Ok(())
}

fn words(text: &str) -> Vec<String> {
    text.split([' ', ',', '\t']).filter(|word| !word.is_empty()).map(str::to_owned).collect()
}

struct Person<'a, 'b> {
    input: &'a mut dyn BufRead,
    out: &'a mut Output<'b>,
}

impl Person<'_, '_> {
    fn ask(&mut self, question: &str, usual: Option<&str>) -> Result<Option<String>, Failure> {
        write!(self.out, "{question}{}: ", usual.map_or_else(String::new, |usual| format!(" [{usual}]")))?;
        self.out.flush()?;
        let mut line = String::new();
        std::io::Read::take(&mut *self.input, ANSWER_MAX).read_line(&mut line).map_err(Failure::user)?;
        let line = line.trim();
        Ok(if line.is_empty() { usual.map(str::to_owned) } else { Some(line.to_owned()) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use guestright_setup::{Init, Interface, Kind, Manager, Radio};

    fn facts() -> Facts {
        let interface = |name: &str, kind| Interface {
            name: name.to_owned(),
            kind,
            addresses: Vec::new(),
            bridge: None,
            is_up: true,
        };
        Facts {
            init: Init::Systemd,
            manager: Manager::Unknown,
            uplink: Some("eth0".to_owned()),
            uplink_address: None,
            interfaces: vec![
                interface("eth0", Kind::Wired),
                interface("eth1", Kind::Wired),
                interface("wlan0", Kind::Wireless),
            ],
            networks: Vec::new(),
            radios: vec![Radio {
                interface: "wlan0".to_owned(),
                can_be_access_point: true,
                channels: [6].into(),
            }],
            programs: ["hostapd".to_owned()].into(),
            has_resolved: false,
            taken_ports: std::collections::BTreeSet::new(),
            program: "/usr/bin/guestright".into(),
            packaged_units: std::collections::BTreeSet::new(),
            seed: 0,
        }
    }

    fn typed(text: &str) -> (Answers, String) {
        let mut answers = Answers::default();
        let mut shown = Vec::new();
        ask(&facts(), &mut answers, &mut text.as_bytes(), &mut Output::new(&mut shown)).unwrap();
        (answers, String::from_utf8(shown).unwrap())
    }

    #[test]
    fn what_is_not_answered_is_what_stands_in_brackets() {
        let (answers, shown) = typed("\n\n\nDE\n\nalice, bea\nhome.example.org\n");
        assert_eq!((answers.uplink.as_deref(), answers.ports), (Some("eth0"), Some(vec!["eth1".to_owned()])));
        let (ssid, country) = (Some("guestright".to_owned()), Some("DE".to_owned()));
        assert_eq!(answers.wifi, WifiAnswer::On { interface: None, ssid, country, channel: None });
        let members = vec!["alice".to_owned(), "bea".to_owned()];
        assert_eq!(answers.team, TeamAnswer::New { members, keep_key: false });
        let endpoint = Some("home.example.org".to_owned());
        assert_eq!(answers.home, HomeAnswer::Here { endpoint, port_mapping: true });
        assert!(shown.contains("[eth0]") && shown.contains("[eth1]"), "{shown}");
    }

    #[test]
    fn a_code_needs_no_further_answers_and_the_end_of_input_ends_the_questions() {
        let (answers, shown) = typed("eth0\neth1\n-\n192.0.2.1:7279/abcd\n");
        assert_eq!(
            (answers.wifi, answers.team),
            (WifiAnswer::Off, TeamAnswer::Join { code: "192.0.2.1:7279/abcd".to_owned() })
        );
        assert!(!shown.contains("under which this household"), "{shown}");
        let (answers, _) = typed("");
        assert_eq!(answers.uplink.as_deref(), Some("eth0"));
    }
}
