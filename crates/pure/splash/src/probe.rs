//! By what systems and browsers find out that a page stands before the Internet.
//!
//! Each asks for a page whose text it knows, over plain HTTP. Anything else means such a page. All of these take a redirect
//! for that, and show where it leads; several show nothing for a page in place of the redirect until the person asks for it.
//! Once a guest is online the probes go past us; one that was under way gets the text that its system wants to see, so that
//! no phone takes our last answer for a reason to show the page again.
//!
//! Sources, as of November 2026: WBA = github.com/wireless-broadband-alliance/captive-behavior (`_includes/`); AOSP =
//! NetworkStack `res/values/config.xml`; shill = ChromeOS `platform2/shill/portal_detector.h`; NM = NetworkManager
//! `src/core/nm-connectivity.c` (an empty redirect is its "unexpected short response": PORTAL).

/// One page that a system asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Probe {
    /// Who asks.
    pub system: &'static str,
    pub host: &'static str,
    pub path: &'static str,
    /// The right answer to a guest that is online.
    pub online: Online,
}

/// What a system takes for the Internet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Online {
    /// Status 204.
    NoContent,
    Html(&'static str),
    Text(&'static str),
    /// The text, and NetworkManager's header `X-NetworkManager-Status: online`, which decides before the text.
    NetworkManager(&'static str),
    /// Status 204 with that header.
    NetworkManagerNoContent,
    /// Nobody probes by it: it is where a browser is sent to see the page.
    Page,
}

const APPLE: Online = Online::Html("<HTML><HEAD><TITLE>Success</TITLE></HEAD><BODY>Success</BODY></HTML>");
const GNOME: Online = Online::NetworkManager("NetworkManager is online\n");
const FIREFOX: Online = Online::Html(
    "<meta http-equiv=\"refresh\" content=\"0;url=https://support.mozilla.org/kb/captive-portal\"/>",
);
const KINDLE: Online = Online::Html("81ce4465-7167-4dcb-835b-dcc9e44c112a");

const fn probe(system: &'static str, host: &'static str, path: &'static str, online: Online) -> Probe {
    Probe { system, host, path, online }
}

/// All of them.
#[rustfmt::skip]
pub const PROBES: [Probe; 30] = [
    // WBA ios.md and urls.md; the text: support.apple.com/102285 "Use captive Wi-Fi networks", and openNDS and others.
    probe("Apple", "captive.apple.com", "/hotspot-detect.html", APPLE),
    probe("Apple", "captive.apple.com", "/", APPLE),
    probe("Apple", "www.apple.com", "/library/test/success.html", APPLE),
    probe("Apple", "www.appleiphonecell.com", "/library/test/success.html", APPLE),
    probe("Apple", "www.airport.us", "/library/test/success.html", APPLE),
    probe("Apple", "www.ibook.info", "/library/test/success.html", APPLE),
    probe("Apple", "www.itools.info", "/library/test/success.html", APPLE),
    probe("Apple", "www.thinkdifferent.us", "/library/test/success.html", APPLE),
    // AOSP default_captive_portal_http_url and default_captive_portal_fallback_urls; the same two in shill.
    probe("Android, ChromeOS", "connectivitycheck.gstatic.com", "/generate_204", Online::NoContent),
    probe("Android, ChromeOS", "www.google.com", "/gen_204", Online::NoContent),
    probe("Android, ChromeOS", "play.googleapis.com", "/generate_204", Online::NoContent),
    // WBA urls.md (Google Android, Samsung Android, HTC Android) and chromeos.md.
    probe("Android, Samsung", "connectivitycheck.android.com", "/generate_204", Online::NoContent),
    probe("Android, ChromeOS", "clients3.google.com", "/generate_204", Online::NoContent),
    probe("Android", "clients4.google.com", "/generate_204", Online::NoContent),
    // Chromium components/captive_portal/core/captive_portal_detector.cc, kDefaultURL.
    probe("Chromium", "www.gstatic.com", "/generate_204", Online::NoContent),
    // learn.microsoft.com, troubleshoot/windows-client/networking, "NCSI active probes and the network status"; /redirect is
    // what Windows opens then: learn.microsoft.com, windows-hardware/drivers/mobilebroadband/captive-portals.
    probe("Windows", "www.msftconnecttest.com", "/connecttest.txt", Online::Text("Microsoft Connect Test")),
    probe("Windows", "ipv6.msftconnecttest.com", "/connecttest.txt", Online::Text("Microsoft Connect Test")),
    probe("Windows", "www.msftconnecttest.com", "/redirect", Online::Page),
    probe("Windows", "www.msftncsi.com", "/ncsi.txt", Online::Text("Microsoft NCSI")),
    probe("Windows", "ipv6.msftncsi.com", "/ncsi.txt", Online::Text("Microsoft NCSI")),
    // NM; GNOME's default in data/org.gnome.Shell portal helper; Debian's package network-manager-config-connectivity-debian;
    // Ubuntu's 20-connectivity-ubuntu.conf, which has a dot behind the name.
    probe("GNOME", "nmcheck.gnome.org", "/check_network_status.txt", GNOME),
    probe("GNOME", "nmcheck.gnome.org", "/", GNOME),
    probe("Debian", "network-test.debian.org", "/nm", GNOME),
    probe("Ubuntu", "connectivity-check.ubuntu.com", "/", Online::NetworkManagerNoContent),
    // Firefox modules/libpref/init/all.js: captivedetect.canonicalURL and .canonicalContent; WBA linux.md for the older one.
    probe("Firefox", "detectportal.firefox.com", "/canonical.html", FIREFOX),
    probe("Firefox", "detectportal.firefox.com", "/success.txt", Online::Text("success\n")),
    // Plasma opens it when NM reports a portal, and KDE neon probes by it: KDE plasma-nm, kded/portalmonitor.cpp.
    probe("KDE", "networkcheck.kde.org", "/", Online::NetworkManager("OK\n")),
    // WBA fireos.md; the text: github.com/alexa/avs-device-sdk, InternetConnectionMonitor.cpp, VALIDATION_STRING.
    probe("Kindle, Fire OS", "spectrum.s3.amazonaws.com", "/kindle-wifi/wifistub.html", KINDLE),
    probe("Kindle, Fire OS", "spectrum.s3.amazonaws.com", "/kindle-wifi/wifistub-eink.html", KINDLE),
    probe("Kindle, Fire OS", "spectrum.s3.amazonaws.com", "/kindle-wifi/wifiredirect.html", Online::Page),
];

/// Whether anybody probes this host. It is in lower case, without a port and without a dot at its end.
pub(crate) fn is_host(host: &str) -> bool {
    PROBES.iter().any(|probe| probe.host == host)
}

pub(crate) fn find(host: &str, path: &str) -> Option<&'static Probe> {
    PROBES.iter().find(|probe| probe.host == host && probe.path == path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_page_has_two_answers() {
        for (index, probe) in PROBES.iter().enumerate() {
            assert_eq!(find(probe.host, probe.path), Some(probe), "row {index} stands behind another");
            assert!(probe.path.starts_with('/') && is_host(probe.host));
            assert_eq!(probe.host, probe.host.to_ascii_lowercase());
        }
    }
}
