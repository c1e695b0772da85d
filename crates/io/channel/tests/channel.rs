//! Two programs of a team speak, and nobody else does.

use guestright_channel::{
    ChannelError, Credentials, InvitationSecret, accept, accept_home, accept_invited, connect, connect_home,
    connect_home_of, connect_invited,
};
use guestright_identity::{Certificate, Role, SecretKey, Suite};
use guestright_units::{TeamId, UnixSeconds};
use rand::SeedableRng;
use rand::rngs::StdRng;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

const NOW: UnixSeconds = UnixSeconds(1_000);

fn credentials(team: u64, role: Role, not_after: u64) -> (Credentials, TeamId) {
    let mut rng = StdRng::seed_from_u64(team);
    let team = SecretKey::generate(Suite::Ed25519, &mut rng);
    let key = SecretKey::generate(Suite::EcdsaP256, &mut rng);
    let certificate = Certificate::issue(&team, key.public(), role, UnixSeconds(0), UnixSeconds(not_after));
    (Credentials { key, certificate }, team.public().team_id())
}

async fn streams() -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port is free");
    let address = listener.local_addr().expect("it is bound");
    let (client, server) = tokio::join!(TcpStream::connect(address), listener.accept());
    (client.expect("it listens"), server.expect("it is asked").0)
}

#[tokio::test]
async fn messages_of_every_size_arrive_whole_and_in_order() {
    let (client, server) = streams().await;
    let (ap, team) = credentials(1, Role::AccessPoint, 2_000);
    let (home, _) = credentials(1, Role::Home, 2_000);
    let (a, b) = tokio::join!(connect(client, &ap, team, NOW), accept(server, &home, team, NOW));
    let ((a, home_seen), (b, ap_seen)) = (a.unwrap(), b.unwrap());
    assert_eq!((home_seen.role(), ap_seen.role()), (Role::Home, Role::AccessPoint));
    let ((mut send, _keep), (_keep_too, mut receive)) = (a.split(), b.split());
    let sizes = [0, 1, 64_999, 65_000, 65_001, 96 * 1_024];
    let sending = async {
        for size in sizes {
            send.send(&vec![7; size]).await.unwrap();
        }
        assert!(matches!(send.send(&vec![0; 96 * 1_024 + 1]).await, Err(ChannelError::TooLong { .. })));
        drop(send);
    };
    let receiving = async {
        for size in sizes {
            assert_eq!(receive.receive().await.unwrap().unwrap(), vec![7; size]);
        }
        assert!(receive.receive().await.unwrap().is_none());
    };
    tokio::join!(sending, receiving);
}

#[tokio::test]
async fn another_team_and_an_expired_certificate_are_refused() {
    let (home, team) = credentials(1, Role::Home, 2_000);
    for (stranger, want) in [
        (credentials(2, Role::AccessPoint, 2_000).0, "belongs to team"),
        (credentials(1, Role::AccessPoint, 999).0, "expired"),
    ] {
        let (client, server) = streams().await;
        let (_, b) = tokio::join!(connect(client, &stranger, team, NOW), accept(server, &home, team, NOW));
        let refused = b.unwrap_err().to_string();
        assert!(refused.contains(want), "{refused}");
    }
}

#[tokio::test]
async fn a_stolen_certificate_is_worth_nothing() {
    let (client, server) = streams().await;
    let (home, team) = credentials(1, Role::Home, 2_000);
    let (mut thief, _) = credentials(1, Role::AccessPoint, 2_000);
    thief.key = SecretKey::generate(Suite::EcdsaP256, &mut StdRng::seed_from_u64(99));
    let (_, b) = tokio::join!(connect(client, &thief, team, NOW), accept(server, &home, team, NOW));
    assert!(b.unwrap_err().to_string().contains("signature is not valid"));
}

#[tokio::test]
async fn rubbish_ends_the_channel_with_an_error() {
    let (mut client, server) = streams().await;
    let (home, team) = credentials(1, Role::Home, 2_000);
    client.write_all(&[0, 40]).await.unwrap();
    client.write_all(&[0x55; 40]).await.unwrap();
    let mut answer = Vec::new();
    let (accepted, ()) = tokio::join!(accept(server, &home, team, NOW), async {
        let _ = client.write_all(&[0xff; 2]).await;
        let _ = client.read_to_end(&mut answer).await;
    });
    assert!(accepted.is_err());
}

#[tokio::test]
async fn homes_of_two_teams_link_and_know_each_other() {
    let (client, server) = streams().await;
    let ((one, _), (other, team)) = (credentials(1, Role::Home, 2_000), credentials(2, Role::Home, 2_000));
    let want = Some(other.certificate.subject_id());
    let (a, b) = tokio::join!(connect_home(client, &one, want, NOW), accept_home(server, &other, NOW));
    let ((a, seen_by_one), (b, seen_by_other)) = (a.unwrap(), b.unwrap());
    assert_eq!((seen_by_one.team_id(), seen_by_other.subject_id()), (team, one.certificate.subject_id()));
    let ((mut send, _keep), (_keep_too, mut receive)) = (a.split(), b.split());
    send.send(b"OPTIONS").await.unwrap();
    assert_eq!(receive.receive().await.unwrap().unwrap(), b"OPTIONS");
}

#[tokio::test]
async fn who_is_no_home_or_another_one_gets_no_link() {
    let (home, _) = credentials(2, Role::Home, 2_000);
    let (caller, _) = credentials(1, Role::Home, 2_000);
    // The wrong key, a role that is none, and a certificate that has ended.
    let stranger = credentials(3, Role::Home, 2_000).0.certificate.subject_id();
    let (client, server) = streams().await;
    let (a, _b) =
        tokio::join!(connect_home(client, &caller, Some(stranger), NOW), accept_home(server, &home, NOW));
    assert!(matches!(a, Err(ChannelError::OtherHome { .. })), "{a:?}");
    for (role, until, want) in [(Role::AccessPoint, 2_000, "refused"), (Role::Home, 999, "expired")] {
        let (caller, _) = credentials(1, role, until);
        let (client, server) = streams().await;
        let (_a, b) = tokio::join!(connect_home(client, &caller, None, NOW), accept_home(server, &home, NOW));
        let refused = b.unwrap_err().to_string();
        assert!(refused.contains(want), "{refused}");
    }
}

#[tokio::test]
async fn a_link_is_no_channel() {
    let ((home, team), (other, _)) = (credentials(1, Role::Home, 2_000), credentials(1, Role::Home, 2_000));
    let (client, server) = streams().await;
    let (a, b) = tokio::join!(connect_home(client, &home, None, NOW), accept(server, &other, team, NOW));
    assert!(a.is_err() && b.is_err());
}

#[tokio::test]
async fn a_home_of_another_team_is_not_shown_who_calls() {
    let ((home, _), (other, team)) = (credentials(1, Role::Home, 2_000), credentials(2, Role::Home, 2_000));
    let (client, server) = streams().await;
    let (a, b) = tokio::join!(connect_home_of(client, &home, team, NOW), accept_home(server, &other, NOW));
    assert_eq!(a.unwrap().1.team_id(), team);
    assert_eq!(b.unwrap().1.team_id(), home.certificate.team_id());

    let (client, server) = streams().await;
    let wanted = TeamId([9; 24]);
    let (a, b) = tokio::join!(connect_home_of(client, &home, wanted, NOW), accept_home(server, &other, NOW));
    assert!(matches!(a.unwrap_err(), ChannelError::OtherTeam { .. }));
    assert!(matches!(b.unwrap_err(), ChannelError::Io(_)), "nothing more is said");

    let (member, team) = credentials(2, Role::AccessPoint, 2_000);
    let (client, server) = streams().await;
    let (a, _) = tokio::join!(connect_home_of(client, &home, team, NOW), accept_home(server, &member, NOW));
    assert!(matches!(a.unwrap_err(), ChannelError::Identity(_)), "an access point is no home");
}

#[tokio::test]
async fn only_who_has_the_secret_of_an_invitation_gets_in_and_nothing_can_be_changed_on_the_way() {
    let secret = |byte| InvitationSecret::new([byte; 16]);
    let (client, server) = streams().await;
    let (ours, theirs) = (secret(1), secret(1));
    let (a, b) = tokio::join!(connect_invited(client, &ours), accept_invited(server, &theirs));
    let ((mut send, _keep), (_keep_too, mut receive)) = (a.unwrap().split(), b.unwrap().split());
    send.send(b"keys").await.unwrap();
    assert_eq!(receive.receive().await.unwrap().unwrap(), b"keys");

    // With another secret nobody gets an answer.
    let (client, server) = streams().await;
    let (ours, theirs) = (secret(1), secret(2));
    let (a, b) = tokio::join!(connect_invited(client, &ours), accept_invited(server, &theirs));
    assert!(matches!(b, Err(ChannelError::Noise(_))) && a.is_err());

    // Nor with a certificate in its place.
    let (client, server) = streams().await;
    let (member, team) = credentials(1, Role::Member, 2_000);
    let theirs = secret(1);
    let (a, b) = tokio::join!(connect(client, &member, team, NOW), accept_invited(server, &theirs));
    assert!(a.is_err() && b.is_err());
}
