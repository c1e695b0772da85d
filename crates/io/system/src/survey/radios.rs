//! What `iw` says of the radios.

use crate::tool::run;
use guestright_setup::Radio;
use std::collections::BTreeSet;

/// The radios that have an interface. Without `iw`, or without radios, there are none.
pub(super) fn radios() -> Vec<Radio> {
    let Ok(interfaces) = run("iw", &["dev"]) else { return Vec::new() };
    let read = |(phy, interface): (String, String)| {
        let text = run("iw", &["phy", &phy, "info"]).ok()?;
        Some(Radio { interface, can_be_access_point: can_be_access_point(&text), channels: channels(&text) })
    };
    parse_interfaces(&interfaces).into_iter().filter_map(read).collect()
}

/// Radios and their interfaces: a line `phy#0`, and below it lines `Interface wlan0`.
fn parse_interfaces(text: &str) -> Vec<(String, String)> {
    let mut phy = None;
    let mut found = Vec::new();
    for line in text.lines() {
        if let Some(number) = line.strip_prefix("phy#") {
            phy = Some(format!("phy{number}"));
        } else if let (Some(phy), Some(name)) = (&phy, line.trim().strip_prefix("Interface ")) {
            found.push((phy.clone(), name.to_owned()));
        }
    }
    found
}

/// Whether `AP` is in the list below `Supported interface modes:`.
fn can_be_access_point(text: &str) -> bool {
    let list = text.lines().skip_while(|line| line.trim() != "Supported interface modes:").skip(1);
    list.take_while(|line| line.trim().starts_with("* ")).any(|line| line.trim() == "* AP")
}

/// The 2.4 GHz channels that may be sent on: `* 2437 MHz [6] (20.0 dBm)`. Newer versions write `2437.0`.
fn channels(text: &str) -> BTreeSet<u8> {
    let channel = |line: &str| {
        let rest = line.trim().strip_prefix("* ")?;
        let (frequency, rest) = rest.split_once(" MHz [")?;
        let frequency: f64 = frequency.parse().ok()?;
        let (number, rest) = rest.split_once(']')?;
        let may_send = !rest.contains("disabled") && !rest.contains("no IR");
        number.parse().ok().filter(|_| may_send && (2_400.0..2_500.0).contains(&frequency))
    };
    text.lines().filter_map(channel).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const PHY: &str = "Wiphy phy0
	Supported interface modes:
		 * IBSS
		 * managed
		 * AP
		 * AP/VLAN
	Band 1:
		Frequencies:
			* 2412 MHz [1] (20.0 dBm)
			* 2437.0 MHz [6] (20.0 dBm)
			* 2467 MHz [12] (20.0 dBm) (no IR)
			* 2484 MHz [14] (disabled)
	Band 2:
		Frequencies:
			* 5180 MHz [36] (20.0 dBm)
	software interface modes (can always be added):
		 * AP/VLAN
";

    #[test]
    fn finds_radios_that_can_be_access_points_and_their_channels() {
        let text = "phy#1\n\tInterface wlan1\n\t\tifindex 4\n\t\ttype managed\nphy#0\n\tInterface wlan0\n\t\ttype AP\n";
        let pair = |phy: &str, name: &str| (phy.to_owned(), name.to_owned());
        assert_eq!(parse_interfaces(text), [pair("phy1", "wlan1"), pair("phy0", "wlan0")]);
        assert!(can_be_access_point(PHY));
        assert!(
            !can_be_access_point(&PHY.replace("\t\t * AP\n", "")),
            "only the list of the radio itself counts"
        );
        assert_eq!(channels(PHY), BTreeSet::from([1, 6]));
    }
}
