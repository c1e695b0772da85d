//! The machine before stock programs: hostapd's `eapol_test` asks it, hostapd is the home that it carries EAP to (EAP-PAX,
//! which needs no certificates), FreeRADIUS's `radclient` reports, and hostapd's port for dynamic authorization is asked to
//! end a session. All of it in a network namespace of its own, with nothing but loopback.

#![expect(clippy::unwrap_used, reason = "a judge that cannot judge has to say so")]
#![expect(
    clippy::disallowed_types,
    clippy::disallowed_methods,
    reason = "stock programs speak over sockets and live in real time"
)]

use guestright_netns::testing;
use guestright_radius::{
    Answer, Code, Config, Decision, DisconnectClient, DisconnectConfig, Draft, Event, ForwardingServer, Kind,
    Limits, Msk, Outcome, Packet, Realm, Relay, Secret, Service, SessionName, Station, Wrapping,
};
use guestright_units::{Micros, Seed, TeamId, Time};
use std::collections::BTreeMap;
use std::fs;
use std::net::{SocketAddr, UdpSocket};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, SystemTime};

const SECRET: &str = "between hostapd and us";
const HOME_SECRET: &str = "between us and the home";
const PASSWORD: &str = "00112233445566778899aabbccddeeff";
const SERVER: &str = "127.0.0.1:1812";
const ACCOUNTING: &str = "127.0.0.1:1813";
const HOME: &str = "127.0.0.1:21812";
const DAS: &str = "127.0.0.1:3799";

fn now() -> Time {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap();
    Time(u64::try_from(since.as_micros()).unwrap())
}

fn team() -> Realm {
    Realm(TeamId([0xab; 24]))
}

struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// hostapd without a radio: an EAP server, and a port for dynamic authorization.
fn hostapd(folder: &Path) -> Running {
    let path = |name: &str| folder.join(name).display().to_string();
    fs::write(path("users"), format!("\"{}\" PAX {PASSWORD}\n", team().anonymous_identity())).unwrap();
    fs::write(path("clients"), format!("127.0.0.1 {HOME_SECRET}\n")).unwrap();
    let settings = format!(
        "driver=none\ninterface=lo\neap_server=1\neap_user_file={}\nradius_server_clients={}\nradius_server_auth_port=21812\n\
         radius_das_port=3799\nradius_das_client=127.0.0.1 {SECRET}\nradius_das_require_event_timestamp=1\n\
         radius_das_require_message_authenticator=1\nown_ip_addr=127.0.0.1\n",
        path("users"),
        path("clients"),
    );
    fs::write(path("hostapd.conf"), settings).unwrap();
    let child = Command::new("hostapd").arg(path("hostapd.conf")).stdout(Stdio::null()).spawn();
    Running(child.expect("`hostapd`: sh scripts/setup.sh test"))
}

fn socket(address: &str) -> UdpSocket {
    let socket = UdpSocket::bind(address).unwrap();
    socket.set_read_timeout(Some(Duration::from_millis(20))).unwrap();
    socket
}

/// A thin shell: sockets around the machine, and a RADIUS client towards the home.
struct Shell {
    server: ForwardingServer,
    authentication: UdpSocket,
    accounting: UdpSocket,
    home: UdpSocket,
    decision: Decision,
    /// The home's State, by conversation.
    states: BTreeMap<u64, Vec<u8>>,
    asked: u8,
    opened: Vec<Msk>,
    last_msk: Option<Msk>,
    events: Vec<Event>,
}

impl Shell {
    fn new(decision: Decision) -> Self {
        let secret = Secret::new(SECRET.as_bytes()).unwrap();
        let clients = [([127, 0, 0, 1].into(), secret)].into();
        let config = Config { clients, reply_message: true, limits: Limits::default() };
        Self {
            server: ForwardingServer::new(config, Seed::from_number(1)),
            authentication: socket(SERVER),
            accounting: socket(ACCOUNTING),
            home: socket("127.0.0.1:0"),
            decision,
            states: BTreeMap::new(),
            asked: 0,
            opened: Vec::new(),
            last_msk: None,
            events: Vec::new(),
        }
    }

    fn serve(&mut self, program: &mut Command) -> String {
        let child = program.stdout(Stdio::piped()).stderr(Stdio::inherit()).spawn();
        let mut child = child.expect("`eapol_test` and `radclient`: sh scripts/setup.sh test");
        // Its output is longer than a pipe holds.
        let mut output = child.stdout.take().unwrap();
        let reader = std::thread::spawn(move || std::io::read_to_string(&mut output).unwrap());
        let mut buffer = [0; 4_096];
        while child.try_wait().unwrap().is_none() {
            for service in [Service::Authentication, Service::Accounting] {
                let socket = self.socket(service);
                if let Ok((length, source)) = socket.recv_from(&mut buffer) {
                    let _ = self.server.handle_datagram(service, source, &buffer[..length], now());
                }
                self.drain();
            }
            self.server.handle_timeout(now());
            self.drain();
        }
        reader.join().unwrap()
    }

    fn socket(&self, service: Service) -> &UdpSocket {
        match service {
            Service::Authentication => &self.authentication,
            Service::Accounting => &self.accounting,
            Service::Tls => panic!("nobody has come inside TLS"),
        }
    }

    fn drain(&mut self) {
        loop {
            while let Some(transmit) = self.server.poll_transmit() {
                self.socket(transmit.service).send_to(&transmit.bytes, transmit.to).unwrap();
            }
            let Some(event) = self.server.poll_event() else { return };
            match &event {
                Event::Relay(relay) => {
                    let answer = self.ask_home(relay);
                    self.server.handle_answer(relay.id, answer, now());
                }
                Event::DecisionNeeded { conversation, .. } => {
                    self.server.handle_decision(*conversation, self.decision.clone(), now());
                }
                Event::Opened { .. } => self.opened.extend(self.last_msk.take()),
                Event::Refused { .. } | Event::Accounting(_) => {}
            }
            self.events.push(event);
        }
    }

    fn ask_home(&mut self, relay: &Relay) -> Answer {
        let (secret, request) = (Secret::new(HOME_SECRET.as_bytes()).unwrap(), [self.asked ^ 0x77; 16]);
        self.asked += 1;
        let mut draft = Draft::new(Code::AccessRequest, self.asked);
        draft.push(Kind::USER_NAME, relay.realm.anonymous_identity().as_bytes()).unwrap();
        draft.push(Kind::CALLING_STATION_ID, relay.station.to_string().as_bytes()).unwrap();
        if let Some(state) = self.states.get(&relay.id.conversation.0) {
            draft.push(Kind::STATE, state).unwrap();
        }
        let bytes = draft.push_eap(&relay.eap).unwrap().emit_request(&secret, request);
        let home: SocketAddr = HOME.parse().unwrap();
        let mut buffer = [0; 4_096];
        // The home may not have its socket yet.
        let length = (0..250).find_map(|_| {
            self.home.send_to(&bytes, home).unwrap();
            self.home.recv(&mut buffer).ok()
        });
        let packet = Packet::parse(&buffer[..length.expect("hostapd answers")]).unwrap();
        packet.verify_response(&secret, &request).unwrap();
        let eap = packet.joined(Kind::EAP_MESSAGE).unwrap();
        if packet.code() == Code::AccessChallenge {
            let state = packet.one(Kind::STATE).unwrap().unwrap().to_vec();
            self.states.insert(relay.id.conversation.0, state);
            return Answer::Challenge { eap };
        }
        if packet.code() == Code::AccessReject {
            return Answer::Reject { sentence: "wrong password".to_owned() };
        }
        assert_eq!(packet.code(), Code::AccessAccept);
        let msk = Wrapping { secret: &secret, request: &request }.read_keys(&packet).unwrap();
        self.last_msk = Some(msk.clone());
        Answer::Accept { msk, session_timeout: None }
    }
}

fn eapol_test(folder: &Path, identity: &str, password: &str) -> Command {
    let settings = folder.join("eapol_test.conf");
    let text = format!(
        "network={{\n key_mgmt=WPA-EAP\n eap=PAX\n identity=\"{identity}\"\n password={password}\n}}\n"
    );
    fs::write(&settings, text).unwrap();
    let mut command = Command::new("eapol_test");
    command.arg("-c").arg(settings).args(["-a", "127.0.0.1", "-p", "1812", "-s", SECRET, "-t", "15"]);
    command
}

#[test]
fn eapol_test_gets_in_with_the_homes_keys() {
    if !testing::inside("eapol_test_gets_in_with_the_homes_keys") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let _hostapd = hostapd(folder.path());
    let mut shell = Shell::new(Decision::Admit { session_timeout: Some(Micros::from_seconds(3_600)) });
    let text = shell.serve(&mut eapol_test(folder.path(), &team().anonymous_identity(), PASSWORD));
    // It compares the keys in MS-MPPE-Recv-Key and MS-MPPE-Send-Key to those that it has itself made with the home.
    assert!(text.contains("MPPE keys OK: 1  mismatch: 0\nSUCCESS"), "{text}");
    assert!(text.contains("Value: 3600") && !text.contains("Invalid"), "{text}");
    assert_eq!(shell.opened.len(), 1);
}

#[test]
fn eapol_test_is_refused_by_either_no() {
    if !testing::inside("eapol_test_is_refused_by_either_no") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let _hostapd = hostapd(folder.path());
    let identity = team().anonymous_identity();
    let mut shell = Shell::new(Decision::Refuse { sentence: "Your team owes this household.".to_owned() });
    let text = shell.serve(&mut eapol_test(folder.path(), &identity, PASSWORD));
    assert!(text.ends_with("FAILURE\n") && text.contains("'Your team owes this household.'"), "{text}");
    assert!(text.contains("decapsulated EAP packet (code=4 "), "EAP-Failure is inside: {text}");
    let text = shell.serve(&mut eapol_test(folder.path(), &identity, "ffffffffffffffffffffffffffffffff"));
    assert!(text.ends_with("FAILURE\n"), "{text}");
    let text = shell.serve(&mut eapol_test(folder.path(), "bob@example.org", PASSWORD));
    assert!(text.contains("your device asked for another provider"), "{text}");
    assert!(shell.opened.is_empty());
}

#[test]
fn radclient_gets_its_answers() {
    if !testing::inside("radclient_gets_its_answers") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let mut shell = Shell::new(Decision::Admit { session_timeout: None });
    let mut radclient = |server: &str, command: &str, attributes: &str, secret: &str| {
        let file = folder.path().join("attributes");
        fs::write(&file, attributes).unwrap();
        let mut program = Command::new("radclient");
        program.args(["-x", "-r", "1", "-t", "1", "-f"]).arg(file).args([server, command, secret]);
        let text = shell.serve(&mut program);
        (text, std::mem::take(&mut shell.events))
    };
    let status = "Message-Authenticator = 0x00\n";
    let (text, _) = radclient(SERVER, "status", status, SECRET);
    assert!(text.contains("Received Access-Accept"), "{text}");
    let (text, _) = radclient(ACCOUNTING, "status", status, SECRET);
    assert!(text.contains("Received Accounting-Response"), "{text}");
    let stop = "Acct-Status-Type = Stop\nCalling-Station-Id = \"02-00-00-00-00-01\"\nAcct-Session-Id = \"A1\"\n\
                Acct-Input-Octets = 7\nAcct-Input-Gigawords = 1\n";
    let (text, events) = radclient(ACCOUNTING, "acct", stop, SECRET);
    assert!(text.contains("Received Accounting-Response"), "{text}");
    let [Event::Accounting(accounting)] = &events[..] else { panic!("{events:?}") };
    assert_eq!((accounting.station, accounting.input.0), (Some(Station([2, 0, 0, 0, 0, 1])), (1 << 32) + 7));
    let (text, events) = radclient(ACCOUNTING, "acct", stop, "another secret");
    assert!(!text.contains("Received") && events.is_empty(), "{text}");
}

#[test]
fn hostapd_answers_a_request_to_end_a_session() {
    if !testing::inside("hostapd_answers_a_request_to_end_a_session") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let _hostapd = hostapd(folder.path());
    let (server, socket) = (DAS.parse().unwrap(), socket("127.0.0.1:0"));
    let secret = Secret::new(SECRET.as_bytes()).unwrap();
    let retry_after = Micros::from_millis(500);
    let mut client = DisconnectClient::new(DisconnectConfig {
        server,
        secret,
        attempts_max: 5,
        retry_after,
        pending_max: 8,
    });
    let station = Some(Station([2, 0, 0, 0, 0, 1]));
    client.handle_disconnect(&SessionName { station, ..SessionName::default() }, now()).unwrap();
    let mut buffer = [0; 4_096];
    let event = loop {
        while let Some(bytes) = client.poll_transmit() {
            socket.send_to(&bytes, server).unwrap();
        }
        if let Ok((length, source)) = socket.recv_from(&mut buffer) {
            client.handle_datagram(source, &buffer[..length]).unwrap();
        }
        if let Some(event) = client.poll_event() {
            break event;
        }
        client.handle_timeout(now());
    };
    assert_eq!(event.outcome, Outcome::NoSession, "nobody is there, and hostapd says so");
}
