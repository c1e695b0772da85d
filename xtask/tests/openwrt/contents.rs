//! What the files of the packages say about each other.

use crate::packaging;
use serde_json::Value;
use std::fs;

fn read(path: &str) -> String {
    fs::read_to_string(packaging().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

fn json(path: &str) -> Value {
    serde_json::from_str(&read(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

const PAGE: &str = "luci-app-guestright/htdocs/luci-static/resources/view/guestright/status.js";

#[test]
fn packages_have_the_version_of_the_program() {
    let version = format!("PKG_VERSION:={}", env!("CARGO_PKG_VERSION"));
    for makefile in ["guestright/Makefile", "luci-app-guestright/Makefile"] {
        assert!(read(makefile).lines().any(|line| line == version), "{makefile}");
    }
}

#[test]
fn every_set_of_capabilities_is_the_same_and_small() {
    for (file, want) in
        [("home", vec!["CAP_NET_BIND_SERVICE"]), ("network", vec!["CAP_NET_ADMIN", "CAP_NET_BIND_SERVICE"])]
    {
        let sets = json(&format!("guestright/files/guestright-{file}.json"));
        let sets = sets.as_object().unwrap();
        let mut names: Vec<_> = sets.keys().map(String::as_str).collect();
        names.sort_unstable();
        assert_eq!(names, ["ambient", "bounding", "effective", "inheritable", "permitted"]);
        assert!(sets.values().all(|set| *set == serde_json::json!(want)), "{file}");
    }
}

#[test]
fn nothing_writes_uci_or_touches_the_households_bridge() {
    for file in ["guestright.init", "guestright.defaults", "guestright.ntp"] {
        let text = read(&format!("guestright/files/{file}"));
        let code: Vec<_> = text.lines().filter(|line| !line.trim_start().starts_with('#')).collect();
        let text = code.join("\n");
        for word in ["uci set", "uci commit", "uci add", "uci_set", "uci -q", "brctl", "ip link"] {
            assert!(!text.contains(word), "{file}: {word}");
        }
        let bridge: Vec<_> = code.iter().filter(|line| line.contains("br-lan")).collect();
        assert!(
            bridge.iter().all(|line| line.contains("if [ ") || line.contains("report err")),
            "{bridge:?}"
        );
    }
}

#[test]
fn rpcd_lets_the_page_run_what_it_runs_and_nothing_else() {
    let acl = json("luci-app-guestright/root/usr/share/rpcd/acl.d/luci-app-guestright.json");
    let acl = &acl["luci-app-guestright"];
    let commands: Vec<_> = acl["read"]["file"].as_object().unwrap().keys().collect();
    let status =
        |role: &str| format!("/usr/bin/guestright {role} status --json --uci /etc/config/guestright");
    assert_eq!(commands, [&status("ap"), &status("home")]);
    assert!(acl["write"].is_null(), "a page that shows changes nothing");
    let page = read(PAGE);
    assert_eq!(page.matches("fs.").count(), 1);
    assert!(page.contains("fs.exec(PROGRAM, [ role, 'status', '--json', '--uci', SETTINGS ])"), "{PAGE}");
    assert!(page.contains("ask('ap'), ask('home')"), "{PAGE}");
    let menu = json("luci-app-guestright/root/usr/share/luci/menu.d/luci-app-guestright.json");
    let entry = &menu["admin/services/guestright"];
    assert_eq!(entry["action"]["path"], "guestright/status");
    assert_eq!(entry["depends"]["acl"], serde_json::json!(["luci-app-guestright"]));
}

/// LuCI's `E` and `dom` take a bare string for HTML, and one in an array for text.
#[test]
fn the_page_shows_strings_as_text_only() {
    let page = read(PAGE);
    let before = |at: usize| {
        page[..at].chars().next_back().is_some_and(|it| it.is_alphanumeric() || "_.".contains(it))
    };
    let calls: Vec<_> = page.match_indices("E(").filter(|(at, _)| !before(*at)).collect();
    assert_eq!(calls.len(), 1, "only element() makes elements");
    assert!(page.contains("return E(tag, attributes, Array.isArray(children) ? children : text(children));"));
    for word in [
        "innerHTML",
        "outerHTML",
        "insertAdjacent",
        "document.",
        "dom.append",
        "dom.create",
        "eval",
        "rawhtml",
    ] {
        assert!(!page.contains(word), "{word}");
    }
    assert_eq!(page.matches("dom.content(status, sections(fresh))").count(), page.matches("dom.").count());
}
