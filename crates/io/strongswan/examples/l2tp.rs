//! A gateway for L2TP clients by itself: no WireGuard, no packet filter, so it runs on kernels without either.
//!
//! Runs until its standard input ends.

use std::io::Read as _;

use guestright_strongswan::{DataPlane, Gateway, L2tp, Member, Profile, Secret, Settings};

const USAGE: &str = "usage: l2tp DIRECTORY LISTEN GATEWAY-ADDRESS NAME ADDRESS SECRET TEAM-SECRET";

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [directory, listen, gateway, name, address, secret, team_secret] = arguments.as_slice() else {
        return Err(USAGE.into());
    };
    let member = Member { name: name.clone(), address: address.parse()?, secret: Secret::new(secret)? };
    let settings = Settings {
        directory: std::path::absolute(directory)?,
        identity: "home.guestright".to_owned(),
        members: vec![member],
        resolvers: Vec::new(),
        profile: Profile::LegacyPaper,
        data_plane: DataPlane::Probe,
        certificate: None,
        team_secret: Some(Secret::new(team_secret)?),
        l2tp: Some(L2tp { listen: listen.parse()?, gateway: gateway.parse()? }),
    };
    tracing_subscriber::fmt().with_max_level(tracing::Level::DEBUG).with_writer(std::io::stderr).init();
    let gateway = Gateway::start(settings)?;
    std::io::stdin().read_to_end(&mut Vec::new())?;
    drop(gateway);
    Ok(())
}
