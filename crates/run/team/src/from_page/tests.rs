use super::*;
use crate::phone::HomeSettings;
use crate::{gateway, own_key};
use guestright_error::Fault as _;
use guestright_identity::Suite;
use std::path::Path;

/// A home beside the team's directory.
fn read(file: &Path) -> Result<HomeSettings, RunError> {
    let own = |name: &str| file.with_file_name("team").join(name);
    Ok(HomeSettings {
        state: file.with_file_name("state"),
        gateway: Some(own("gateway")),
        revocations: Some(own("revocations")),
        ikev2: false,
    })
}

/// A home that reads files of its own.
fn read_others(file: &Path) -> Result<HomeSettings, RunError> {
    Ok(HomeSettings { revocations: None, ..read(file)? })
}

fn team(folder: &Path, passphrase: Option<&str>) -> Members {
    let dir = folder.join("team");
    own_key::make(&dir, Suite::Ed25519, passphrase).unwrap();
    let endpoint = "198.51.100.2:51820".parse().unwrap();
    let wish = gateway::Wish { endpoint, port: None, network: None, dns: vec![], mtu: 1_420 };
    gateway::make(&dir, wish).unwrap();
    let home = folder.join("home.toml");
    std::fs::write(&home, "").unwrap();
    Members { dir, home, read_home: read }
}

fn add(name: &str) -> MemberChange {
    MemberChange::Add(MemberWish { name: name.to_owned(), kind: TunnelOrPhone::Tunnel })
}

fn key(members: &Members, name: &str) -> Key {
    let all = member::list(&members.dir).unwrap();
    Key(all.into_iter().find(|it| it.name == name).unwrap().certificate.subject_id().0)
}

#[test]
fn a_member_is_added_shown_again_renewed_and_revoked() {
    let folder = tempfile::tempdir().unwrap();
    let members = team(folder.path(), None);
    let code = members.change(&add("ida")).unwrap().unwrap();
    assert!(code.svg.starts_with("<svg") && code.link.is_none());
    let ida = key(&members, "ida");
    let again = members.change(&MemberChange::Code { key: ida, kind: TunnelOrPhone::Tunnel }).unwrap();
    assert_eq!(*again.unwrap().svg, *code.svg);
    let taken = members.change(&add("ida")).err().unwrap();
    assert!(taken.sentence().contains("ida already"), "{}", taken.sentence());

    let end = || member::list(&members.dir).unwrap()[0].certificate.not_after();
    let before = end();
    assert!(members.change(&MemberChange::Renew { key: ida }).unwrap().is_none());
    assert!(end() >= before);
    assert!(members.change(&MemberChange::Revoke { key: ida }).unwrap().is_none());
    assert!(member::list(&members.dir).unwrap()[0].state().contains("revoked"));
    members.change(&MemberChange::Renew { key: ida }).err().unwrap();
    members.change(&MemberChange::Code { key: ida, kind: TunnelOrPhone::Tunnel }).err().unwrap();
}

#[test]
fn what_cannot_be_leaves_everything_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let members = team(folder.path(), None);
    let refused = |members: &Members, change| members.change(&change).err().unwrap();
    for name in ["", "../ida", "a/b", "ida\n", "."] {
        refused(&members, add(name));
    }
    let error = refused(&members, MemberChange::Revoke { key: Key([7; 24]) });
    assert!(error.sentence().contains("no member"), "{}", error.sentence());
    let other = Members { read_home: read_others, ..members.clone() };
    let error = refused(&other, add("ida"));
    assert!(error.sentence().contains("other files"), "{}", error.sentence());
    assert!(member::list(&members.dir).unwrap().is_empty());
}

#[test]
fn a_key_with_a_passphrase_is_for_the_terminal() {
    let folder = tempfile::tempdir().unwrap();
    let members = team(folder.path(), Some("correct horse"));
    let error = members.change(&add("ida")).err().unwrap();
    assert!(error.hint().unwrap().contains("terminal"), "{}", error.sentence());
    assert!(member::list(&members.dir).unwrap().is_empty());
}
