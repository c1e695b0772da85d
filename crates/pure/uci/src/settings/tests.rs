use super::*;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;

#[derive(Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Home {
    key: PathBuf,
    #[serde(default)]
    port: u16,
    listen: Option<SocketAddr>,
    #[serde(default)]
    nets: Vec<String>,
    #[serde(default)]
    policy: Policy,
    dynamic_dns: Option<DynamicDns>,
    voice: Option<Voice>,
}

#[derive(Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Policy {
    kind: Kind,
    ratio: Option<f64>,
    hold: bool,
    ports: BTreeSet<u16>,
}

#[derive(Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Kind {
    #[default]
    Credit,
    Srm,
}

#[derive(Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct DynamicDns {
    name: String,
}

#[derive(Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Voice {
    strangers: bool,
    contacts: BTreeMap<String, Contact>,
}

#[derive(Debug, PartialEq, Deserialize)]
#[serde(untagged)]
enum Contact {
    Card(String),
    Fields(Fields),
}

#[derive(Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Fields {
    member: String,
    #[serde(default)]
    homes: Vec<String>,
}

const ROOTS: Roots<'_> = Roots(&["ap", "home"]);

fn home(text: &str) -> Result<Home, String> {
    let document = Document::parse(text).unwrap();
    let root = document.root("home", ROOTS).map_err(|error| error.to_string())?;
    root.settings().map_err(|error| error.to_string())
}

#[test]
fn each_section_is_a_table_and_each_option_what_its_type_wants() {
    let text = "config home 'home'\n\toption enabled '1'\n\toption key '/k'\n\toption port '0080'\n\
                \toption listen '0.0.0.0:7274'\n\tlist nets 'a'\n\tlist nets 'b'\n\
                config home_policy\n\toption kind 'srm'\n\toption ratio '0.5'\n\toption hold 'on'\n\tlist ports 2\n\tlist ports 1\n\
                config home_dynamic_dns\n\toption name '1'\n\
                config home_voice\n\toption strangers 'no'\n\
                config home_voice_contacts\n\toption bob 'card'\n\
                config home_voice_contacts_eve\n\toption member '00'\n\tlist homes 'x'\n\
                config ap\n\toption anything 'at all'\n";
    let eve = Contact::Fields(Fields { member: "00".into(), homes: vec!["x".into()] });
    let contacts = BTreeMap::from([("bob".into(), Contact::Card("card".into())), ("eve".into(), eve)]);
    let want = Home {
        key: "/k".into(),
        port: 80,
        listen: Some("0.0.0.0:7274".parse().unwrap()),
        nets: vec!["a".into(), "b".into()],
        policy: Policy { kind: Kind::Srm, ratio: Some(0.5), hold: true, ports: [1, 2].into() },
        dynamic_dns: Some(DynamicDns { name: "1".into() }),
        voice: Some(Voice { strangers: false, contacts }),
    };
    assert_eq!(home(text), Ok(want));
}

#[test]
fn what_is_left_out_has_its_default_and_a_table_alone_is_enough() {
    let read = home("config home\noption key k\noption nets a\nconfig home_voice\n").unwrap();
    assert_eq!((read.nets, read.voice), (vec!["a".to_owned()], Some(Voice::default())));
    assert_eq!((read.port, read.policy), (0, Policy::default()));
}

#[test]
fn a_mistake_is_named_with_its_line() {
    let with = |more: &str| home(&format!("config home\n\toption key k\n{more}")).unwrap_err();
    #[rustfmt::skip]
    let cases = [
        ("option kye 'x'\n", "line 3: kye: unknown field `kye`, expected one of `key`"),
        ("option port 'x'\n", "line 3: port is \"x\"; write a whole number, 0 to 65535"),
        ("option port '70000'\n", "line 3: port is \"70000\"; write a whole number, 0 to 65535"),
        ("option port '-1'\n", "line 3: port is \"-1\"; write"),
        ("option listen 'x'\n", "line 3: listen: invalid socket address"),
        ("list port '1'\n", "line 3: port is a list here and has one value; write `option`"),
        ("option nets a\nconfig home_policy\noption hold 'maybe'\n", "line 5: hold is \"maybe\"; write 1 or 0"),
        ("config home_policy\noption kind 'best'\n", "line 4: kind: unknown variant `best`, expected `credit` or `srm`"),
        ("config home_policy\nlist ports 1\nlist ports x\n", "line 5: ports is \"x\"; write a whole number, 0 to 65535"),
        ("config home_polisy\n", "line 3: polisy: unknown field `polisy`"),
        ("config home_dynamic_dns\n\n", "line 3: section home_dynamic_dns: missing field `name`"),
        ("config home_voice_contacts_eve\noption member '00'\noption home 'x'\n", "line 3: eve: data did not match any variant"),
        ("config homes\n", "line 3: nobody reads sections of type \"homes\"; expected are ap, home and"),
        ("config home\n", "line 3: a section of type home is in line 1 already; make one of the two"),
        ("config ap\nconfig ap\n", "line 4: a section of type ap is in line 3 already; make one of the two"),
        ("option policy 'x'\n", "line 3: policy: invalid type: string \"x\", expected struct Policy"),
    ];
    for (more, want) in cases {
        let got = with(more);
        assert!(got.starts_with(want), "{more:?}\n got {got}\nwant {want}");
    }
    assert_eq!(home("").unwrap_err(), "line 1: section home: missing field `key`");
    assert_eq!(home("\nconfig home\n").unwrap_err(), "line 2: section home: missing field `key`");
}

#[test]
fn only_what_says_so_is_enabled() {
    let enabled = |text: &str| {
        let document = Document::parse(text).unwrap();
        document.root("ap", ROOTS).map(|root| root.enabled).map_err(|error| error.to_string())
    };
    assert_eq!(enabled(""), Ok(false));
    assert_eq!(enabled("config ap\n"), Ok(false));
    assert_eq!(enabled("config home\noption enabled 1\n"), Ok(false));
    for (word, want) in
        [("1", true), ("on", true), ("yes", true), ("0", false), ("off", false), ("no", false)]
    {
        assert_eq!(enabled(&format!("config ap\noption enabled {word}\n")), Ok(want));
    }
    assert_eq!(
        enabled("config ap\noption enabled 2\n").unwrap_err(),
        "line 2: enabled is \"2\"; write 1 or 0"
    );
}
