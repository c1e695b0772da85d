use super::*;
use guestright_clock::unix_seconds;
use guestright_eap::{Authority, Credential};
use guestright_units::UnixSeconds;
use rand::SeedableRng as _;
use rand::rngs::StdRng;
use rustls::ClientConfig;
use rustls::pki_types::{PrivateKeyDer, ServerName};
use rustls::version::{TLS12, TLS13};
use std::fs::Permissions;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

const REALM: &str = "rivers.guestright.alt";
const PATIENCE: Duration = Duration::from_secs(60);

struct House {
    directory: tempfile::TempDir,
    authority: Authority,
    rng: StdRng,
}

impl House {
    fn new() -> Self {
        let mut rng = StdRng::seed_from_u64(1);
        let authority = Authority::found(REALM.parse().unwrap(), unix_seconds(), &mut rng);
        let mut house = Self { directory: tempfile::tempdir().unwrap(), authority, rng };
        house.renew();
        house
    }

    /// Writes the access point's files anew.
    fn renew(&mut self) {
        let server = self.authority.issue_server(unix_seconds(), &mut self.rng);
        let write = |name: &str, text: &str| std::fs::write(self.directory.path().join(name), text).unwrap();
        write("radsec.pem", &server.certificate.to_pem());
        write("radsec.key", &server.key.to_pem());
        write("authority.pem", &self.authority.certificate().to_pem());
        std::fs::set_permissions(self.directory.path().join("radsec.key"), Permissions::from_mode(0o600))
            .unwrap();
    }

    fn settings(&self) -> Settings {
        let path = |name: &str| self.directory.path().join(name);
        // A port of the kernel's choice.
        let address = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        Settings {
            address,
            certificate: path("radsec.pem"),
            key: path("radsec.key"),
            authority: path("authority.pem"),
        }
    }

    fn client(&mut self, at: UnixSeconds) -> Credential {
        self.authority.issue_client(at, &mut self.rng).1
    }

    fn open(&self) -> (Door, mpsc::UnboundedReceiver<(SocketAddr, Vec<u8>)>) {
        let (packets, received) = mpsc::unbounded_channel();
        let deliver = move |from, packet| packets.send((from, packet)).unwrap();
        (Door::open(&self.settings(), deliver).unwrap(), received)
    }

    /// Connects. With TLS 1.3 the client is content before it knows whether the other side is.
    async fn connect(
        &self,
        door: &Door,
        version: &'static rustls::SupportedProtocolVersion,
        credential: Option<&Credential>,
    ) -> std::io::Result<TlsStream<TcpStream>> {
        let mut roots = RootCertStore::empty();
        roots.add(self.authority.certificate().as_der().to_vec().into()).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = ClientConfig::builder_with_provider(provider)
            .with_protocol_versions(&[version])
            .unwrap()
            .with_root_certificates(roots);
        let config = match credential {
            Some(Credential { certificate, key }) => {
                let key = PrivateKeyDer::try_from(key.to_der().to_vec()).unwrap();
                builder.with_client_auth_cert(vec![certificate.as_der().to_vec().into()], key).unwrap()
            }
            None => builder.with_no_client_auth(),
        };
        let stream = TcpStream::connect(door.settings.address).await?;
        let name = ServerName::try_from(format!("home.{REALM}")).unwrap();
        TlsConnector::from(Arc::new(config)).connect(name, stream).await
    }
}

/// A header that says how long the packet is, and so much of it.
fn packet(length: u16, there: usize) -> Vec<u8> {
    let mut packet = vec![1, 7];
    packet.extend(length.to_be_bytes());
    packet.resize(there, 0xaa);
    packet
}

/// Waits until it is closed, and returns what came before.
async fn rest(mut stream: impl AsyncRead + Unpin) -> Vec<u8> {
    let mut bytes = Vec::new();
    // However it is closed.
    let _ = timeout(PATIENCE, stream.read_to_end(&mut bytes)).await.expect("it is closed");
    bytes
}

fn refusal(door: &Door) -> String {
    door.status()["last_refusal"].as_str().unwrap_or_default().to_owned()
}

async fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < PATIENCE, "{what}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

#[tokio::test]
async fn packets_come_in_and_answers_go_out_in_both_versions() {
    let mut house = House::new();
    let (door, mut received) = house.open();
    let client = house.client(unix_seconds());
    for version in [&TLS12, &TLS13] {
        let mut stream = house.connect(&door, version, Some(&client)).await.unwrap();
        // Two at once, and one in pieces.
        stream.write_all(&[packet(20, 20), packet(4_096, 4_000)].concat()).await.unwrap();
        let (from, first) = received.recv().await.unwrap();
        stream.write_all(&[0xaa; 96]).await.unwrap();
        assert_eq!((first, received.recv().await.unwrap()), (packet(20, 20), (from, packet(4_096, 4_096))));
        assert_eq!(from, stream.get_ref().0.local_addr().unwrap());
        assert!(door.send(from, b"an answer".to_vec()));
        let mut answer = [0; 9];
        stream.read_exact(&mut answer).await.unwrap();
        assert_eq!(&answer, b"an answer");
        door.close(from, "it was changed on the way");
        assert!(rest(stream).await.is_empty());
        assert!(!door.send(from, b"nobody".to_vec()));
        assert!(refusal(&door).ends_with("changed on the way"));
    }
}

#[tokio::test]
async fn who_shows_no_certificate_of_the_authority_is_not_listened_to() {
    let mut house = House::new();
    let (door, mut received) = house.open();
    let mut other = House { rng: StdRng::seed_from_u64(2), ..House::new() };
    other.authority = Authority::found(REALM.parse().unwrap(), unix_seconds(), &mut other.rng);
    let stranger = other.client(unix_seconds());
    let expired = house.client(unix_seconds().minus(2 * 366 * 86_400));
    let server = house.authority.issue_server(unix_seconds(), &mut house.rng);
    for (credential, words) in [
        (None, "sent no certificates"),
        (Some(&stranger), "UnknownIssuer"),
        (Some(&expired), "certificate expired"),
        // One that is for servers.
        (Some(&server), "invalid peer certificate"),
    ] {
        for version in [&TLS12, &TLS13] {
            let before = door.status()["refused"].as_u64().unwrap();
            if let Ok(mut stream) = house.connect(&door, version, credential).await {
                let _ = stream.write_all(&packet(20, 20)).await;
                rest(stream).await;
            }
            until("it is refused", || door.status()["refused"] == before + 1).await;
            assert!(refusal(&door).contains(words), "{words}: {}", refusal(&door));
        }
    }
    // Somebody who does not speak TLS.
    let mut plain = TcpStream::connect(door.settings.address).await.unwrap();
    plain.write_all(&packet(20, 20)).await.unwrap();
    rest(plain).await;
    assert!(received.try_recv().is_err(), "nothing of it was handed on");
    assert_eq!(door.status()["connections"], json!([]));
}

#[tokio::test]
async fn a_packet_of_another_length_than_packets_have_ends_the_connection() {
    let mut house = House::new();
    let (door, mut received) = house.open();
    let client = house.client(unix_seconds());
    for length in [0, 3, 19, 4_097, u16::MAX] {
        let mut stream = house.connect(&door, &TLS13, Some(&client)).await.unwrap();
        stream.write_all(&packet(length, 4_096)).await.unwrap();
        rest(stream).await;
        assert!(refusal(&door).ends_with(&format!("it sent a packet of {length} bytes")));
    }
    assert!(received.try_recv().is_err());
}

#[tokio::test(start_paused = true)]
async fn a_packet_that_has_begun_has_to_end_and_silence_between_packets_may_last() {
    let (mut other, mut stream) = tokio::io::duplex(8_192);
    let silent = async {
        tokio::time::sleep(Duration::from_secs(3_600)).await;
        other.write_all(&packet(30, 29)).await.unwrap();
        // It never sends the last byte, and does not close.
        other
    };
    let (read, _other) = tokio::join!(read_packet(&mut stream), silent);
    assert_eq!(read, Err("it did not end a packet that it had begun".to_owned()));
}

#[tokio::test]
async fn who_floods_with_connections_keeps_neither_those_who_are_in_nor_newcomers_out() {
    let mut house = House::new();
    let (door, mut received) = house.open();
    let client = house.client(unix_seconds());
    let mut known = house.connect(&door, &TLS13, Some(&client)).await.unwrap();
    known.write_all(&packet(20, 20)).await.unwrap();
    let (from, _) = received.recv().await.unwrap();
    let mut silent = Vec::new();
    for _ in 0..100 {
        silent.push(TcpStream::connect(door.settings.address).await.unwrap());
    }
    until("most of them are refused", || door.status()["refused"].as_u64() >= Some(96)).await;
    assert!(door.status()["handshakes"].as_u64() <= Some(4), "{}", door.status());
    known.write_all(&packet(20, 20)).await.unwrap();
    assert_eq!(received.recv().await.unwrap().0, from);
    // Their time is over, without a word of theirs.
    for stream in silent {
        rest(stream).await;
    }
    let mut newcomer = house.connect(&door, &TLS13, Some(&client)).await.unwrap();
    newcomer.write_all(&packet(20, 20)).await.unwrap();
    assert_eq!(received.recv().await.unwrap().0, newcomer.get_ref().0.local_addr().unwrap());
    assert_eq!(door.status()["connections"].as_array().unwrap().len(), 2);
}

#[tokio::test]
async fn who_reads_nothing_is_let_go() {
    let mut house = House::new();
    let (door, mut received) = house.open();
    let client = house.client(unix_seconds());
    let mut stream = house.connect(&door, &TLS13, Some(&client)).await.unwrap();
    stream.write_all(&packet(20, 20)).await.unwrap();
    let (from, _) = received.recv().await.unwrap();
    // As many as may wait, while nothing else runs, and one more.
    let sent = (0..=ANSWERS_MAX).filter(|_| door.send(from, vec![0; 4_096])).count();
    assert_eq!(sent, ANSWERS_MAX);
    assert!(refusal(&door).contains("does not read"), "{}", refusal(&door));
}

#[tokio::test]
async fn renewed_files_are_taken_and_broken_ones_are_not() {
    let mut house = House::new();
    let (door, _received) = house.open();
    let old = house.client(unix_seconds());
    house.authority = Authority::found(REALM.parse().unwrap(), unix_seconds(), &mut house.rng);
    house.renew();
    door.read_again();
    let new = house.client(unix_seconds());
    assert!(house.connect(&door, &TLS12, Some(&new)).await.is_ok());
    assert!(house.connect(&door, &TLS12, Some(&old)).await.is_err());
    std::fs::write(&door.settings.certificate, "nothing").unwrap();
    door.read_again();
    assert!(house.connect(&door, &TLS12, Some(&new)).await.is_ok());
    let refused = config(&door.settings).unwrap_err().sentence();
    assert!(refused.contains("no certificate in"), "{refused}");
    house.renew();
    std::fs::set_permissions(&door.settings.key, Permissions::from_mode(0o644)).unwrap();
    let refused = config(&door.settings).unwrap_err().sentence();
    assert!(refused.starts_with("everybody may read"), "{refused}");
}

#[test]
fn strangers_displace_strangers_and_whoever_is_in_displaces_the_most_silent() {
    let mut connections = Connections::default();
    let from = |number: u8| SocketAddr::from(([10, 0, 0, number], 1));
    let prove = |connections: &mut Connections, number| {
        let (answers, _) = mpsc::channel(1);
        connections.prove(number, answers)
    };
    let in_first: Vec<_> = (0..CONNECTIONS_MAX)
        .map(|_| {
            let number = connections.admit(from(1)).unwrap();
            assert_eq!(prove(&mut connections, number), Some(from(1)));
            number
        })
        .collect();
    let each: Vec<_> = (0..=STRANGERS_EACH_MAX).map(|_| connections.admit(from(2))).collect();
    assert_eq!(each.iter().filter(|number| number.is_some()).count(), STRANGERS_EACH_MAX);
    assert_eq!(each.last(), Some(&None));
    for number in 10..=200 {
        connections.admit(from(number)).unwrap();
    }
    assert_eq!(connections.strangers().len(), STRANGERS_MAX);
    assert_eq!(connections.strangers().last().unwrap().1, from(200).ip());
    assert!(in_first.iter().all(|number| connections.open.contains_key(number)), "nobody in gave way");
    assert_eq!(prove(&mut connections, each[0].unwrap()), None, "it has given way");
    // The first of them is the last that has said something.
    connections.open.get_mut(&in_first[0]).unwrap().last = Instant::now() + Duration::from_secs(1);
    let newest = connections.strangers().last().unwrap().0;
    assert_eq!(prove(&mut connections, newest), Some(from(200)));
    let still: Vec<_> = in_first.iter().filter(|number| connections.open.contains_key(number)).collect();
    assert_eq!((still.len(), still[0]), (CONNECTIONS_MAX - 1, &in_first[0]));
}
