//! What a plan promises, for whatever computer and whatever answers.

#![allow(clippy::unwrap_used, reason = "a test says what broke by panicking")]

use guestright_setup::{
    Answers, Change, Choices, Facts, HomeAnswer, Init, Interface, Kind, Manager, Names, Owner, Plan,
    PlanError, Radio, Splash, SplashCertificate, Subnet, TeamAnswer, TeamWork, WifiAnswer, paths,
};
use proptest::prelude::*;
use std::collections::BTreeSet;

fn subnet(text: &str) -> Subnet {
    text.parse().unwrap()
}

fn interface(name: &str, kind: Kind, addresses: &[&str]) -> Interface {
    let addresses = addresses.iter().map(|text| subnet(text)).collect();
    Interface { name: name.to_owned(), kind, addresses, bridge: None, is_up: true }
}

/// A Debian with an uplink, a free wire and a radio.
fn debian() -> Facts {
    let radio = |name: &str, can_be_access_point| Radio {
        interface: name.to_owned(),
        can_be_access_point,
        channels: BTreeSet::from([1, 6, 11]),
    };
    Facts {
        init: Init::Systemd,
        manager: Manager::Networkd,
        uplink: Some("eth0".to_owned()),
        uplink_address: Some([192, 168, 1, 20].into()),
        interfaces: vec![
            interface("lo", Kind::Other, &["127.0.0.0/8"]),
            interface("eth0", Kind::Wired, &["192.168.1.0/24"]),
            interface("eth1", Kind::Wired, &[]),
            interface("wlan0", Kind::Wireless, &[]),
            interface("wlan1", Kind::Wireless, &[]),
        ],
        networks: vec![
            ("eth0".to_owned(), subnet("192.168.1.0/24")),
            ("wg0".to_owned(), subnet("10.73.0.0/16")),
        ],
        radios: vec![radio("wlan0", false), radio("wlan1", true)],
        programs: ["nft", "ip", "dnsmasq", "hostapd", "iw"].map(str::to_owned).into(),
        has_resolved: true,
        taken_ports: BTreeSet::new(),
        program: "/usr/bin/guestright".into(),
        packaged_units: BTreeSet::new(),
        seed: 7,
    }
}

fn choose(facts: &Facts, answers: &Answers) -> Result<Choices, PlanError> {
    Choices::choose(facts, answers)
}

fn text_of(plan: &Plan, wanted: &str) -> String {
    let mut texts = plan.steps.iter().filter_map(|step| {
        let Change::File { path, text, .. } = &step.change else { return None };
        (path.to_string_lossy() == wanted).then(|| text.clone())
    });
    texts.next_back().unwrap_or_else(|| panic!("{wanted} is not in the plan"))
}

#[test]
fn without_answers_everything_is_chosen() {
    let facts = debian();
    let choices = choose(&facts, &Answers::default()).unwrap();
    assert_eq!((choices.uplink.as_str(), choices.ports.as_slice()), ("eth0", &["eth1".to_owned()][..]));
    assert_eq!(choices.network, subnet("172.16.0.0/24"), "10.73.0.0/16 is taken");
    assert_eq!(choices.names, Names::Dnsmasq);
    let wifi = choices.wifi.as_ref().unwrap();
    assert_eq!(
        (wifi.interface.as_str(), wifi.channel, wifi.owe_interface().as_str()),
        ("wlan1", 6, "wlan1-owe")
    );
    assert_eq!(choices.gateway_endpoint(), None, "a private address is nowhere to come home to");

    let plan = Plan::new(&facts, &choices);
    let dhcp = text_of(&plan, paths::DHCP);
    for line in [
        "interface=br-guest",
        "except-interface=lo",
        "bind-dynamic",
        "dhcp-range=172.16.0.10,172.16.0.254,255.255.255.0,1h",
    ] {
        assert!(dhcp.lines().any(|each| each == line), "{line}: {dhcp}");
    }
    let wifi = text_of(&plan, paths::WIFI);
    for line in ["bridge=br-guest", "ap_isolate=1", "wpa_key_mgmt=OWE", "owe_transition_ifname=wlan1-owe"] {
        assert!(wifi.lines().any(|each| each == line), "{line}: {wifi}");
    }
    let unit = text_of(&plan, "/etc/systemd/system/guestright-wifi.service");
    for port in ["wlan1", "wlan1-owe"] {
        // Without a `-` before it: where this fails there is no Wi-Fi.
        let isolates = format!("/sbin/bridge link set dev {port} isolated on");
        let mut posts = unit.lines().filter(|line| line.starts_with("ExecStartPost=/bin/sh"));
        assert!(posts.any(|line| line.contains(&isolates)), "{isolates}: {unit}");
    }
    let mut services = plan
        .steps
        .iter()
        .filter_map(|step| if let Change::Service(service) = &step.change { Some(service) } else { None });
    let wifi = services.find(|service| service.unit == "guestright-wifi").unwrap();
    assert_eq!(wifi.isolated_ports, ["wlan1", "wlan1-owe"]);
    let unit = text_of(&plan, "/etc/systemd/system/guestright-ap.service");
    assert!(unit.contains("ExecStart=/usr/bin/guestright ap --config /etc/guestright/ap.toml"), "{unit}");
    assert!(plan.notes.iter().any(|note| note.contains("backup")), "{:?}", plan.notes);
}

#[test]
fn each_manager_is_written_for_in_its_own_files() {
    let mut facts = debian();
    #[rustfmt::skip]
    let cases = [
        (Manager::Networkd, "/etc/systemd/network/10-guestright-br-guest.netdev", "Kind=bridge"),
        (Manager::NetworkManager, "/etc/NetworkManager/system-connections/guestright-eth1.nmconnection", "master=br-guest"),
        (Manager::Ifupdown { reads_directory: true }, "/etc/network/interfaces.d/guestright", "iface br-guest inet static"),
        (Manager::Unknown, "/etc/systemd/system/guestright-links.service", "ExecStart=-/sbin/ip link add br-guest type bridge"),
    ];
    for (manager, path, line) in cases {
        facts.manager = manager;
        let plan = Plan::new(&facts, &choose(&facts, &Answers::default()).unwrap());
        let text = text_of(&plan, path);
        assert!(text.lines().any(|each| each.trim() == line), "{manager:?}: {text}");
        let persistent = plan.files().filter(|path| path.starts_with("/etc/systemd/network")).count();
        assert_eq!(persistent > 0, manager == Manager::Networkd);
    }
    facts.manager = Manager::Ifupdown { reads_directory: false };
    assert_eq!(choose(&facts, &Answers::default()).unwrap_err(), PlanError::NoInterfacesDirectory);
}

#[test]
fn a_container_has_no_units_and_says_what_does_not_survive() {
    let facts = Facts { init: Init::Unknown, manager: Manager::Unknown, radios: vec![], ..debian() };
    let plan = Plan::new(&facts, &choose(&facts, &Answers::default()).unwrap());
    assert!(plan.files().all(|path| !path.starts_with("/etc/systemd")), "{plan:?}");
    let owners = plan.steps.iter().filter_map(|step| {
        let (Change::File { owner, .. } | Change::Directory { owner, .. }) = step.change else { return None };
        Some(owner)
    });
    assert!(owners.into_iter().all(|owner| owner == Owner::Root));
    assert!(plan.notes.iter().any(|note| note.contains("do not survive a restart")));
    assert!(plan.notes.iter().any(|note| note.contains("Wi-Fi is not this computer's")));
}

#[test]
fn units_of_a_package_are_started_and_not_written() {
    let unit = "guestright-ap.service".to_owned();
    let facts = Facts { packaged_units: [unit].into(), ..debian() };
    let choices = choose(&facts, &Answers::default()).unwrap();
    let plan = Plan::new(&facts, &choices);
    let files: Vec<_> = plan.files().map(|path| path.display().to_string()).collect();
    assert!(!files.contains(&"/etc/systemd/system/guestright-ap.service".to_owned()), "{files:?}");
    // The home's is not among the package's here.
    assert!(files.contains(&"/etc/systemd/system/guestright-home.service".to_owned()), "{files:?}");
    let link = "/etc/systemd/system/multi-user.target.wants/guestright-ap.service";
    let started = plan.steps.iter().any(|step| {
        matches!(&step.change, Change::Symlink { path, target } if path == std::path::Path::new(link)
            && target == std::path::Path::new("/usr/lib/systemd/system/guestright-ap.service"))
    });
    assert!(started, "the package's unit starts with the computer");
}

#[test]
fn without_dnsmasq_networkd_serves_guests_or_nobody_does() {
    let mut facts = debian();
    facts.programs.remove("dnsmasq");
    let choices = choose(&facts, &Answers::default()).unwrap();
    assert_eq!(choices.names, Names::Networkd);
    let plan = Plan::new(&facts, &choices);
    assert!(text_of(&plan, "/etc/systemd/network/10-guestright-br-guest.network").contains("DHCPServer=yes"));
    let names = text_of(&plan, "/etc/systemd/resolved.conf.d/guestright.conf");
    assert!(names.contains("DNSStubListenerExtra=172.16.0.1"), "{names}");
    facts.has_resolved = false;
    assert_eq!(choose(&facts, &Answers::default()).unwrap_err(), PlanError::NoDhcp);
}

#[test]
fn says_what_stands_in_the_way() {
    let answers = Answers::default;
    let ports = |names: &[&str]| Some(names.iter().map(|name| (*name).to_owned()).collect());
    let wifi = |interface: Option<&str>, channel| WifiAnswer::On {
        interface: interface.map(str::to_owned),
        ssid: None,
        country: None,
        channel,
    };
    let name = |text: &str| text.to_owned();
    let no_uplink = |facts: &mut Facts| facts.uplink = None;
    let taken = |facts: &mut Facts| facts.taken_ports.extend([53]);
    let nothing = |_: &mut Facts| ();
    let on_bridge = |facts: &mut Facts| facts.interfaces[2].bridge = Some("lan".to_owned());
    let alone = |facts: &mut Facts| {
        facts.interfaces.truncate(2);
        facts.radios.clear();
    };
    type Case = (fn(&mut Facts), Answers, PlanError);
    #[rustfmt::skip]
    let cases: Vec<Case> = vec![
        (no_uplink, answers(), PlanError::NoUplink),
        (taken, answers(), PlanError::PortTaken { port: 53 }),
        (alone, answers(), PlanError::NowhereToArrive),
        (nothing, Answers { ports: ports(&["eth0"]), ..answers() }, PlanError::PortIsUplink { name: name("eth0") }),
        (nothing, Answers { ports: ports(&["eth9"]), ..answers() }, PlanError::NoInterface { name: name("eth9") }),
        (nothing, Answers { ports: ports(&["wlan0"]), ..answers() }, PlanError::PortIsNoWire { name: name("wlan0") }),
        (on_bridge, Answers { ports: ports(&["eth1"]), ..answers() }, PlanError::PortHasBridge { name: name("eth1"), bridge: name("lan") }),
        (nothing, Answers { vlan: Some(5), ..answers() }, PlanError::VlanWithoutPort),
        (nothing, Answers { vlan: Some(4_095), ports: ports(&["eth0"]), ..answers() }, PlanError::Vlan { got: 4_095 }),
        (nothing, Answers { bridge: Some(name("eth1")), ..answers() }, PlanError::NameIsTaken { name: name("eth1") }),
        (nothing, Answers { network: Some(subnet("192.168.0.0/16")), ..answers() }, PlanError::NetworkCollides { network: name("192.168.0.0/16"), other: name("192.168.1.0/24"), interface: name("eth0") }),
        (nothing, Answers { network: Some(subnet("198.51.100.0/24")), ..answers() }, PlanError::NetworkUnfit { network: name("198.51.100.0/24") }),
        (nothing, Answers { wifi: wifi(Some("wlan0"), None), ..answers() }, PlanError::RadioUnfit { name: name("wlan0") }),
        (nothing, Answers { wifi: wifi(None, Some(13)), ..answers() }, PlanError::Channel { got: 13, name: name("wlan1") }),
        (nothing, Answers { up_bits_per_second: Some(1), ..answers() }, PlanError::HalfShaping),
    ];
    for (arrange, answers, want) in cases {
        let mut facts = debian();
        arrange(&mut facts);
        assert_eq!(choose(&facts, &answers), Err(want.clone()));
        assert!(!want.hint().is_empty() && !want.to_string().is_empty());
    }
}

#[test]
fn a_page_is_announced_only_where_phones_trust_its_certificate() {
    let splash = |name: Option<&str>| Splash {
        household: "The Rivers".to_owned(),
        trial: Some("20 MB".to_owned()),
        certificate: name.map(|name| SplashCertificate {
            name: name.to_owned(),
            chain: "/etc/ssl/chain.pem".to_owned(),
            key: "/etc/ssl/key.pem".to_owned(),
        }),
    };
    let plan = |facts: &Facts, name| {
        let answers = Answers { splash: Some(splash(name)), ..Answers::default() };
        choose(facts, &answers).map(|choices| Plan::new(facts, &choices))
    };
    let without = plan(&debian(), None).unwrap();
    assert!(
        text_of(&without, paths::ACCESS_POINT)
            .ends_with("[splash]\nhousehold = \"The Rivers\"\ntrial = \"20 MB\"\n")
    );
    assert!(!text_of(&without, paths::DHCP).contains("114"), "phones find it by their probes");
    let with = plan(&debian(), Some("ap.rivers.example")).unwrap();
    let lines =
        "dhcp-option=114,https://ap.rivers.example:7281/api\nhost-record=ap.rivers.example,172.16.0.1\n";
    assert!(text_of(&with, paths::DHCP).ends_with(lines), "{}", text_of(&with, paths::DHCP));
    assert!(text_of(&with, paths::ACCESS_POINT).contains("certificate_key = \"/etc/ssl/key.pem\"\n"));
    let mut facts = debian();
    facts.programs.remove("dnsmasq");
    let networkd = plan(&facts, Some("ap.rivers.example")).unwrap();
    let text = text_of(&networkd, "/etc/systemd/network/10-guestright-br-guest.network");
    assert!(text.contains("\nSendOption=114:string:https://ap.rivers.example:7281/api\n"), "{text}");
    for name in ["a b.example", "a\"b.example", "", "a\nb.example"] {
        let refused = plan(&debian(), Some(name)).unwrap_err();
        assert!(matches!(refused, PlanError::Wrong { what: "splash.name", .. }), "{name:?}: {refused}");
    }
}

#[test]
fn a_guest_vlan_may_be_on_the_uplinks_own_wire() {
    let facts = debian();
    let answers = Answers { vlan: Some(73), ports: Some(vec!["eth0".to_owned()]), ..Answers::default() };
    let choices = choose(&facts, &answers).unwrap();
    assert_eq!(choices.guest_links(), ["guest73"]);
    let plan = Plan::new(&facts, &choices);
    let touched = plan.steps.iter().filter_map(|step| {
        let Change::Port(port) = &step.change else { return None };
        Some(port.interface.as_str())
    });
    let touched: Vec<_> = touched.collect();
    assert_eq!(touched, ["guest73"], "the household's own traffic on that wire stays what it is");
    assert!(text_of(&plan, "/etc/systemd/system/guestright-links.service").contains("type vlan id 73"));
}

#[test]
fn a_household_that_can_be_found_has_a_gateway_and_one_that_joins_has_none() {
    let facts = debian();
    let home = HomeAnswer::Here { endpoint: Some("home.example.org".to_owned()), port_mapping: true };
    let answers = Answers { home: home.clone(), ..Answers::default() };
    let choices = choose(&facts, &answers).unwrap();
    assert_eq!(choices.gateway_endpoint(), Some("home.example.org:51820"));
    let text = text_of(&Plan::new(&facts, &choices), paths::HOME);
    assert!(
        text.contains("port_mapping = true") && text.contains("announce = \"home.example.org:7275\""),
        "{text}"
    );
    let answers = Answers { team: TeamAnswer::Join { code: "x".to_owned() }, home, ..Answers::default() };
    let choices = choose(&facts, &answers).unwrap();
    let plan = Plan::new(&facts, &choices);
    assert!(!text_of(&plan, paths::HOME).contains("[gateway]"));
    let joins =
        |change: &Change| matches!(change, Change::Team { work: TeamWork::Join { has_home: true, .. }, .. });
    assert!(plan.steps.iter().any(|step| joins(&step.change)));
    let answers = Answers { home: HomeAnswer::At("192.0.2.5:7274".to_owned()), ..Answers::default() };
    let plan = Plan::new(&facts, &choose(&facts, &answers).unwrap());
    assert!(text_of(&plan, paths::ACCESS_POINT).contains("home = \"192.0.2.5:7274\""));
    assert!(
        plan.files().all(|path| !path.ends_with("home.toml") && !path.ends_with("guestright-home.service"))
    );
}

/// Text as somebody hostile, or careless, answers.
fn word() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-z0-9.-]{1,15}",
        Just("x\"\nkey = \"/etc/shadow".to_owned()),
        Just("a b".to_owned()),
        Just("../x".to_owned()),
        Just("\u{3b5}\u{3bb}".to_owned()),
        any::<String>(),
    ]
}

proptest! {
    #[test]
    fn no_answer_breaks_out_of_its_place(uplink in word(), bridge in word(), endpoint in word(), ssid in word(), country in word()) {
        let mut facts = debian();
        facts.interfaces.push(interface(&uplink, Kind::Wired, &[]));
        let answers = Answers {
            uplink: Some(uplink),
            bridge: Some(bridge),
            home: HomeAnswer::Here { endpoint: Some(endpoint), port_mapping: false },
            wifi: WifiAnswer::On { interface: None, ssid: Some(ssid), country: Some(country), channel: None },
            ..Answers::default()
        };
        let Ok(choices) = choose(&facts, &answers) else { return Ok(()) };
        let plan = Plan::new(&facts, &choices);
        for step in &plan.steps {
            if let Change::File { path, text, .. } = &step.change {
                let path = path.to_string_lossy();
                prop_assert!(!path.contains("..") && !path.contains('\n'), "{}", path);
                prop_assert!(!text.contains("shadow") && !text.contains("a b"), "{}", text);
                prop_assert!(text.is_ascii(), "{}", text);
            }
        }
    }

    #[test]
    fn the_guests_network_overlaps_with_nothing_that_is_known(
        networks in proptest::collection::vec((any::<u32>(), 1_u8..=32, any::<bool>()), 0..60),
        seed: u64,
    ) {
        let mut facts = debian();
        facts.seed = seed;
        facts.networks.extend(networks.into_iter().map(|(bits, prefix, is_private)| {
            let bits = if is_private { 0x0A00_0000 | (bits & 0x00FF_FFFF) } else { bits };
            ("x".to_owned(), Subnet::new(bits.into(), prefix).unwrap())
        }));
        let Ok(choices) = choose(&facts, &Answers::default()) else { return Ok(()) };
        for (_, network) in &facts.networks {
            prop_assert!(!network.overlaps(choices.network), "{network} {}", choices.network);
            prop_assert!(!network.overlaps(choices.members_network), "{network} {}", choices.members_network);
        }
        prop_assert!(!choices.network.overlaps(choices.members_network));
        prop_assert!(choices.network.first().is_private() && choices.members_network.first().is_private());
    }

    #[test]
    fn the_choices_lead_to_themselves_also_when_everything_is_there(seed: u64, vlan in proptest::option::of(1_u16..4_095), has_endpoint: bool) {
        let mut facts = debian();
        facts.seed = seed;
        let endpoint = has_endpoint.then(|| "home.example.org".to_owned());
        let answers = Answers {
            vlan,
            ports: vlan.map(|_| vec!["eth0".to_owned()]),
            home: HomeAnswer::Here { endpoint, port_mapping: true },
            ..Answers::default()
        };
        let choices = choose(&facts, &answers).unwrap();
        let plan = Plan::new(&facts, &choices);
        // As the computer is afterwards.
        let mut after = facts.clone();
        after.seed = seed.wrapping_add(1);
        for name in choices.answers().own_interfaces() {
            after.interfaces.push(interface(&name, Kind::Bridge, &["10.99.0.0/24"]));
            after.networks.push((name, choices.network));
        }
        after.interfaces[2].bridge = Some(choices.bridge.clone());
        after.taken_ports.insert(53);
        let after = after.without(&choices.answers().own_interfaces());
        let again = choose(&after, &choices.answers()).unwrap();
        prop_assert_eq!(&again, &choices);
        // And so do the answers that were given, with what they left open as it was chosen then.
        let given = answers.or_earlier(&choices.answers());
        prop_assert_eq!(&choose(&after, &given).unwrap(), &choices);
        let other = Answers { bridge: Some("br-other".to_owned()), ..Answers::default() };
        prop_assert_ne!(&other.or_earlier(&choices.answers()), &choices.answers());
        let again = Plan::new(&Facts { seed, ..after }, &again);
        prop_assert_eq!(again, plan);
    }

    #[test]
    fn no_step_touches_an_interface_that_the_household_uses(has_address: [bool; 4], vlan in proptest::option::of(1_u16..4_095)) {
        let mut facts = debian();
        for (index, has_address) in has_address.into_iter().enumerate() {
            facts.interfaces[index + 1].addresses =
                if has_address { vec![subnet("192.168.7.0/24")] } else { Vec::new() };
        }
        let ports = vlan.map(|_| vec!["eth0".to_owned()]);
        let Ok(choices) = choose(&facts, &Answers { vlan, ports, ..Answers::default() }) else { return Ok(()) };
        for step in Plan::new(&facts, &choices).steps {
            if let Change::Port(port) = step.change {
                let known = facts.interface(&port.interface);
                prop_assert!(known.is_none_or(|it| it.addresses.is_empty() && it.name != "eth0"), "{:?}", port);
            }
        }
        if let Some(wifi) = choices.wifi {
            prop_assert!(facts.interface(&wifi.interface).unwrap().addresses.is_empty());
        }
    }
}
