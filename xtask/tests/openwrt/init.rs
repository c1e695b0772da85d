//! What the scripts start, with which rights, and what they wait for.

use crate::packaging;
use guestright_uci::{Document, Value};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A router as the scripts see it.
struct Router {
    directory: tempfile::TempDir,
    uci: String,
}

const HOME: &str =
    "config home 'home'\n\toption enabled '1'\n\toption key 'home.key'\n\toption state '/srv/home'\n";
const AP: &str = "config ap 'ap'\n\toption enabled '1'\n\toption key '/keys/router.key'\n\toption state '/srv/ap'\n\
                  \toption visitor_interface 'br-guest'\n\toption uplink_interface 'wan'\n";
const GATEWAY: &str =
    "config home_gateway 'gateway'\n\toption directory 'gateway'\n\toption uplink_interface 'wan'\n";

impl Router {
    /// One on which nothing is missing, with these settings.
    fn new(uci: &str) -> Self {
        let router = Self { directory: tempfile::tempdir().unwrap(), uci: uci.to_owned() };
        for directory in ["etc/config", "etc/guestright/gateway", "usr/bin", "sbin", "devices"] {
            fs::create_dir_all(router.path(directory)).unwrap();
        }
        for program in ["usr/bin/guestright", "sbin/ujail"] {
            router.write(program, "#!/bin/sh\n");
            let executable = std::os::unix::fs::PermissionsExt::from_mode(0o755);
            fs::set_permissions(router.path(program), executable).unwrap();
        }
        router.write("etc/config/guestright", uci);
        router.write("etc/guestright/home.key", "");
        router.write("clock", "");
        router.device("br-guest", "0x1003");
        router.device("wan", "0x1003");
        router
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.path(name), text).unwrap();
    }

    /// A device with these flags, as `/sys/class/net` shows them.
    fn device(&self, name: &str, flags: &str) {
        fs::create_dir_all(self.path("devices").join(name)).unwrap();
        self.write(&format!("devices/{name}/flags"), &format!("{flags}\n"));
    }

    fn without(self, name: &str) -> Self {
        let path = self.path(name);
        if path.is_dir() {
            fs::remove_dir_all(path).unwrap()
        } else {
            fs::remove_file(path).unwrap()
        }
        self
    }

    /// Calls a function of the init script; every event is a line, with `ROUTER` for this router's folder.
    fn call(&self, function: &str) -> Vec<String> {
        let here = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/openwrt/standins.sh");
        let mut command = Command::new("busybox");
        command.arg("ash").arg("-u").arg(here).arg(packaging().join("guestright/files/guestright.init"));
        command.arg(function).env_clear().env("PATH", "/usr/bin:/bin").env("ROUTER", self.directory.path());
        for section in Document::parse(&self.uci).unwrap().sections {
            let name = section.name.unwrap();
            command.env(format!("UCI_{name}"), &section.kind);
            for entry in section.entries {
                if let Value::One(text) = entry.value {
                    command.env(format!("UCI_{name}_{}", entry.name), text);
                }
            }
        }
        let output = command.output().expect("busybox is installed");
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() && errors.is_empty(), "{errors}");
        let text = String::from_utf8(output.stdout).unwrap();
        text.replace(self.directory.path().to_str().unwrap(), "ROUTER").lines().map(str::to_owned).collect()
    }

    /// The events of a start between the loading of settings and the end, which has this code.
    fn start(&self, code: u8) -> Vec<String> {
        let mut events = self.call("start_service");
        assert_eq!(events.pop(), Some(format!("start_service: {code}")), "{events:#?}");
        events.retain(|event| event != "config_load guestright");
        events
    }

    /// The instances that are started, with what is reported.
    fn started(&self, code: u8) -> Vec<String> {
        let mut events = self.start(code);
        events.retain(|event| {
            ["procd_open_instance", "logger"].iter().any(|call| event.starts_with(&format!("{call} ")))
        });
        events
    }
}

/// What every instance has, before and after what is its own.
fn served(name: &str, capabilities: &str, jail: &str) -> Vec<String> {
    [
        "procd_set_param user guestright".to_owned(),
        "procd_set_param group guestright".to_owned(),
        format!("procd_set_param capabilities /etc/capabilities/{capabilities}.json"),
        "procd_set_param no_new_privs 1".to_owned(),
        format!("procd_add_jail guestright-{name} requirejail{jail}"),
        "procd_set_param file ROUTER/etc/config/guestright".to_owned(),
        "procd_set_param reload_signal HUP".to_owned(),
        "procd_set_param term_timeout 15".to_owned(),
        "procd_set_param respawn 3600 10 5".to_owned(),
        "procd_set_param stdout 1".to_owned(),
        "procd_set_param stderr 1".to_owned(),
    ]
    .into()
}

fn instance(name: &str, served: Vec<String>, mounts: &[&str]) -> Vec<String> {
    let state = format!("/srv/{name}");
    let mut events = vec![
        format!("mkdir -p {state}"),
        format!("chmod 0700 {state}"),
        format!("chown guestright:guestright {state}"),
    ];
    if name == "home" {
        events.push("chown -h guestright:guestright ROUTER/etc/guestright/home.key".to_owned());
    }
    events.push(format!("procd_open_instance {name}"));
    events.push(format!(
        "procd_set_param command ROUTER/usr/bin/guestright {name} --uci ROUTER/etc/config/guestright"
    ));
    events.extend(served);
    events.extend(mounts.iter().map(|mount| (*mount).to_owned()));
    events.push("procd_close_instance ".to_owned());
    events
}

#[test]
fn a_home_without_a_gateway_is_in_a_jail_with_nothing_but_its_state_to_write() {
    let mounts = [
        "procd_add_jail_mount /etc/config ROUTER/etc/guestright",
        "procd_add_jail_mount /etc/hosts /etc/resolv.conf /tmp/resolv.conf",
        "procd_add_jail_mount_rw /srv/home",
    ];
    let want = instance("home", served("home", "guestright-home", " procfs"), &mounts);
    assert_eq!(Router::new(HOME).start(0), want);
}

#[test]
fn a_gateway_and_an_access_point_have_the_network_and_no_more() {
    let gateway = instance("home", served("home", "guestright-network", ""), &[]);
    let mut want = vec!["chown -hR guestright:guestright ROUTER/etc/guestright/gateway".to_owned()];
    want.extend(gateway);
    assert_eq!(Router::new(&format!("{HOME}{GATEWAY}")).start(0), want);
    let ap = instance("ap", served("ap", "guestright-network", ""), &[]);
    assert_eq!(Router::new(AP).start(0), ap);
}

#[test]
fn each_is_an_instance_of_its_own_and_runs_where_it_is_enabled() {
    let both = format!("{HOME}{AP}");
    let home_off = both.replacen("enabled '1'", "enabled '0'", 1);
    let ap_off = format!("{HOME}{}", AP.replace("enabled '1'", "enabled '0'"));
    let unset = AP.replace("\toption enabled '1'\n", "");
    let word = AP.replace("enabled '1'", "enabled 'on'");
    #[rustfmt::skip]
    let cases = [
        (both.as_str(), vec!["home", "ap"]),
        (&home_off, vec!["ap"]),
        (&ap_off, vec!["home"]),
        (&unset, vec![]),
        (&word, vec!["ap"]),
        ("", vec![]),
    ];
    for (uci, names) in cases {
        let want: Vec<_> = names.iter().map(|name| format!("procd_open_instance {name}")).collect();
        assert_eq!(Router::new(uci).started(0), want, "{uci}");
    }
    let shipped = fs::read_to_string(packaging().join("guestright/files/guestright.config")).unwrap();
    assert_eq!(
        Router::new(&shipped).start(0),
        Vec::<String>::new(),
        "nothing is enabled that nobody enabled"
    );
}

fn reported(level: &str, text: &str) -> String {
    format!("logger -t guestright -p daemon.{level} {text}")
}

#[test]
fn what_is_missing_is_reported_and_nothing_starts() {
    #[rustfmt::skip]
    let cases = [
        ("etc/config/guestright", "there is no ROUTER/etc/config/guestright; install the package again, or write one"),
        ("usr/bin/guestright", "there is no ROUTER/usr/bin/guestright; install the package guestright, or the program for this processor"),
        ("sbin/ujail", "there is no ROUTER/sbin/ujail; install procd-ujail"),
    ];
    for (missing, text) in cases {
        assert_eq!(Router::new(AP).without(missing).start(1), [reported("err", text)], "{missing}");
    }
}

#[test]
fn a_bad_value_stops_the_one_whose_it_is() {
    let bad = HOME.replace("enabled '1'", "enabled 'perhaps'");
    let events = Router::new(&format!("{bad}{AP}")).started(0);
    assert_eq!(events.len(), 2, "{events:#?}");
    assert!(events[0].contains("daemon.err the section home of ROUTER/etc/config/guestright"), "{events:#?}");
    assert_eq!(events[1], "procd_open_instance ap");
    let service = format!("config service 'service'\n\toption wait_for_clock 'x'\n{AP}");
    let text = "wait_for_clock in ROUTER/etc/config/guestright is neither 0 nor 1";
    assert_eq!(Router::new(&service).start(1), [reported("err", text)]);
}

#[test]
fn state_that_a_restart_would_lose_and_the_households_own_bridge_are_refused() {
    for state in ["/tmp/ap", "/var/lib/guestright", "/run/x", "/dev/shm/x", "/tmp"] {
        let uci = AP.replace("/srv/ap", state);
        let text = format!("state is {state}, which is lost at every restart; put it on flash or a disk");
        assert_eq!(Router::new(&uci).start(1), [reported("err", &text)], "{state}");
    }
    let lan = Router::new(&AP.replace("br-guest", "br-lan"));
    lan.device("br-lan", "0x1003");
    let events = lan.start(1);
    assert!(events.len() == 1 && events[0].contains("daemon.err visitor_interface is br-lan"), "{events:#?}");
}

#[test]
fn a_device_that_is_not_there_or_not_up_is_waited_for() {
    let waits = |device: &str| vec![reported("notice", &format!("ap waits for the device {device}"))];
    assert_eq!(Router::new(AP).without("devices/br-guest").start(0), waits("br-guest"));
    assert_eq!(Router::new(AP).without("devices/wan").start(0), waits("wan"));
    let down = Router::new(AP);
    down.device("br-guest", "0x1002");
    assert_eq!(down.start(0), waits("br-guest"));
    down.device("br-guest", "0x1003");
    assert_eq!(down.started(0), ["procd_open_instance ap"], "once it is up");
    let nameless = AP.replace("\toption uplink_interface 'wan'\n", "");
    assert_eq!(Router::new(&nameless).start(0), waits("without a name"));
    let gateway = Router::new(&format!("{HOME}{GATEWAY}{AP}")).without("devices/wan");
    let both =
        ["home waits for the device wan", "ap waits for the device wan"].map(|text| reported("notice", text));
    assert_eq!(gateway.start(0), both);
    // A home alone needs no device.
    assert_eq!(Router::new(HOME).without("devices/wan").started(0), ["procd_open_instance home"]);
}

#[test]
fn a_clock_that_is_not_set_is_waited_for_unless_it_has_a_battery_or_nobody_sets_it() {
    let unset = Router::new(AP).without("clock");
    assert_eq!(unset.start(0), [reported("notice", "ap waits until the clock is set")]);
    unset.write("rtc", "");
    assert_eq!(unset.started(0), ["procd_open_instance ap"]);
    let never = format!("config service 'service'\n\toption wait_for_clock '0'\n{AP}");
    assert_eq!(Router::new(&never).without("clock").started(0), ["procd_open_instance ap"]);
}

#[test]
fn changed_settings_and_interfaces_that_come_up_are_noticed() {
    assert_eq!(
        Router::new("").call("service_triggers"),
        [
            "procd_add_reload_trigger guestright",
            "procd_add_raw_trigger interface.*.up 2000 /etc/init.d/guestright reload",
            "procd_add_validation validate_service",
            "procd_add_validation validate_home",
            "procd_add_validation validate_gateway",
            "procd_add_validation validate_ap",
            "service_triggers: 0",
        ]
    );
}

/// Runs ntpd's script with its variables; says what it has called, and whether the clock counts as set.
fn ntp(environment: &[(&str, &str)], is_set: bool, is_enabled: bool) -> (String, bool) {
    let directory = tempfile::tempdir().unwrap();
    let [init, calls, clock] = ["init", "calls", "clock"].map(|name| directory.path().join(name));
    let code = u8::from(!is_enabled);
    fs::write(
        &init,
        format!("#!/bin/sh\necho \"$1\" >>'{}'\n[ \"$1\" != enabled ] || exit {code}\n", calls.display()),
    )
    .unwrap();
    fs::set_permissions(&init, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    if is_set {
        fs::write(&clock, "").unwrap();
    }
    let mut command = Command::new("busybox");
    command.arg("ash").arg(packaging().join("guestright/files/guestright.ntp")).env_clear();
    command.env("PATH", "/usr/bin:/bin").env("INIT", &init).env("CLOCK_IS_SET", &clock);
    let status = command.envs(environment.iter().copied()).status().unwrap();
    assert!(status.success());
    (fs::read_to_string(&calls).unwrap_or_default().replace('\n', " "), clock.exists())
}

#[test]
fn a_clock_that_ntp_has_set_starts_what_waited_for_it_and_only_once() {
    let stratum = |number| [("ACTION", "stratum"), ("stratum", number)];
    assert_eq!(ntp(&stratum("3"), false, true), ("enabled reload ".to_owned(), true));
    assert_eq!(ntp(&stratum("3"), false, false), ("enabled ".to_owned(), true));
    assert_eq!(ntp(&stratum("3"), true, true), (String::new(), true));
    assert_eq!(ntp(&stratum("16"), false, true), (String::new(), false), "it follows nobody");
    assert_eq!(ntp(&[("ACTION", "unsync"), ("stratum", "3")], false, true), (String::new(), false));
    assert_eq!(ntp(&[("ACTION", "step")], false, true), (String::new(), false), "without a stratum");
}

#[test]
fn an_installation_makes_the_settings_readable_and_their_directory_the_services() {
    let directory = tempfile::tempdir().unwrap();
    let [settings, uci, calls] = ["settings", "uci", "calls"].map(|name| directory.path().join(name));
    fs::write(&uci, "").unwrap();
    fs::set_permissions(&uci, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    // A function, because busybox's shell runs its own chown before any in PATH.
    let script = "chown() { echo \"$*\" >>\"$CALLS\"; }; . \"$0\"";
    let run = || {
        let mut command = Command::new("busybox");
        command.args(["ash", "-c", script]).arg(packaging().join("guestright/files/guestright.defaults"));
        command.env_clear().env("PATH", "/usr/bin:/bin").env("CALLS", &calls);
        assert!(command.env("SETTINGS", &settings).env("UCI", &uci).status().unwrap().success());
        let mode =
            |path: &Path| std::os::unix::fs::PermissionsExt::mode(&fs::metadata(path).unwrap().permissions());
        assert_eq!((mode(&settings) & 0o777, mode(&uci) & 0o777), (0o750, 0o644));
        assert_eq!(fs::read_to_string(&calls).unwrap(), format!("root:guestright {}\n", settings.display()));
        fs::remove_file(&calls).unwrap();
    };
    // Again after an upgrade, when both are there.
    run();
    run();
}
