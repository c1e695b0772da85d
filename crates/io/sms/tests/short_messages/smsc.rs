//! A message centre, written from the SMPP 3.4 specification without the library that we use ourselves.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;

const BIND_TRANSCEIVER: u32 = 0x09;
const SUBMIT_SM: u32 = 0x04;
const DELIVER_SM: u32 = 0x05;
const UNBIND: u32 = 0x06;
const ENQUIRE_LINK: u32 = 0x15;
const RESP: u32 = 0x8000_0000;

/// What the centre does besides passing messages on.
#[derive(Clone, Debug, Default)]
pub(crate) struct Behaviour {
    /// So many messages are refused because there is too much to do.
    pub(crate) throttle: u32,
    /// So many connections are cut at the first message, which is lost.
    pub(crate) cut: u32,
    /// Each message is followed by rubbish that is a well-formed PDU: of an unknown kind, and of a known one cut off.
    pub(crate) rubbish: bool,
    /// Bytes are written one by one.
    pub(crate) slow: bool,
}

/// What the centre has seen.
#[derive(Clone, Debug, Default)]
pub(crate) struct Seen {
    pub(crate) binds: u32,
    pub(crate) refused: u32,
    pub(crate) submits: u32,
    pub(crate) delivered: u32,
    pub(crate) enquiries: u32,
}

#[derive(Default)]
struct State {
    behaviour: Behaviour,
    seen: Seen,
    /// By number: where deliveries go.
    bound: BTreeMap<String, mpsc::UnboundedSender<Vec<u8>>>,
    /// For numbers that are not bound now.
    kept: Vec<(String, Vec<u8>)>,
}

/// A centre that ends with the test.
pub(crate) struct Smsc {
    pub(crate) address: SocketAddr,
    state: Arc<Mutex<State>>,
    task: tokio::task::JoinHandle<()>,
}

impl Smsc {
    pub(crate) async fn start(behaviour: Behaviour) -> Self {
        Self::start_at("127.0.0.1:0", behaviour).await
    }

    pub(crate) async fn start_at(address: &str, behaviour: Behaviour) -> Self {
        let listener = TcpListener::bind(address).await.unwrap();
        let address = listener.local_addr().unwrap();
        let state = Arc::new(Mutex::new(State { behaviour, ..State::default() }));
        let shared = state.clone();
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(stream, shared.clone()));
            }
        });
        Self { address, state, task }
    }

    pub(crate) fn seen(&self) -> Seen {
        self.state.lock().unwrap().seen.clone()
    }
}

impl Drop for Smsc {
    fn drop(&mut self) {
        self.task.abort();
    }
}

struct Pdu {
    command: u32,
    status: u32,
    sequence: u32,
    body: Vec<u8>,
}

impl Pdu {
    fn new(command: u32, status: u32, sequence: u32, body: Vec<u8>) -> Self {
        Self { command, status, sequence, body }
    }

    fn bytes(&self) -> Vec<u8> {
        let length = u32::try_from(16 + self.body.len()).unwrap();
        let header = [length, self.command, self.status, self.sequence].map(u32::to_be_bytes).concat();
        [header, self.body.clone()].concat()
    }
}

async fn read(stream: &mut (impl AsyncReadExt + Unpin)) -> Option<Pdu> {
    let length = stream.read_u32().await.ok()?;
    let [command, status, sequence] =
        [stream.read_u32().await.ok()?, stream.read_u32().await.ok()?, stream.read_u32().await.ok()?];
    let mut body = vec![0; usize::try_from(length).unwrap() - 16];
    stream.read_exact(&mut body).await.ok()?;
    Some(Pdu { command, status, sequence, body })
}

/// A field of the body: text that ends with a zero.
fn text(body: &mut &[u8]) -> String {
    let end = body.iter().position(|&byte| byte == 0).unwrap();
    let text = String::from_utf8(body[..end].to_vec()).unwrap();
    *body = &body[end + 1..];
    text
}

fn byte(body: &mut &[u8]) -> u8 {
    let first = body[0];
    *body = &body[1..];
    first
}

/// Section 4.4.1, field by field; gives the number it is for and the body of the delivery (section 4.6.1).
fn route(mut body: &[u8], from: &str) -> (String, Vec<u8>) {
    let body = &mut body;
    assert_eq!(text(body), "", "service type");
    assert_eq!((byte(body), byte(body), text(body)), (1, 1, from.to_owned()), "source");
    assert_eq!((byte(body), byte(body)), (1, 1), "destination's kind");
    let to = text(body);
    assert_eq!(byte(body), 0x40, "the class says that there is a header, and nothing else");
    assert_eq!((byte(body), byte(body)), (0, 0), "protocol, priority");
    assert_eq!(text(body), "", "schedule");
    let validity = text(body);
    assert_eq!((validity.len(), &validity[13..]), (16, "00R"), "validity: {validity}");
    assert_eq!((byte(body), byte(body)), (0, 0), "receipt, replace");
    assert_eq!((byte(body), byte(body)), (4, 0), "coding, canned message");
    let length = usize::from(byte(body));
    assert_eq!(body.len(), length);
    assert!(length <= 140, "{length} bytes do not fit a short message");
    let mut delivery = vec![0, 1, 1];
    delivery.extend(from.bytes().chain([0, 1, 1]).chain(to.bytes()));
    delivery.extend([0, 0x40, 0, 0, 0, 0, 0, 0, 4, 0, u8::try_from(length).unwrap()]);
    delivery.extend(&**body);
    (to, delivery)
}

async fn serve(mut stream: TcpStream, state: Arc<Mutex<State>>) {
    let Some(bind) = read(&mut stream).await else { return };
    assert_eq!(bind.command, BIND_TRANSCEIVER);
    let mut body = &bind.body[..];
    let (system_id, password, _) = (text(&mut body), text(&mut body), text(&mut body));
    assert_eq!(byte(&mut body), 0x34, "interface version");
    let password_fits = password == "secret08";
    let status = if password_fits { 0 } else { 0x0e };
    let answer = Pdu::new(BIND_TRANSCEIVER | RESP, status, bind.sequence, b"centre\0".to_vec());
    stream.write_all(&answer.bytes()).await.unwrap();
    {
        let mut state = state.lock().unwrap();
        if !password_fits {
            state.seen.refused += 1;
            return;
        }
        state.seen.binds += 1;
    }
    // The system id is the number here.
    let (mut reader, mut writer) = stream.into_split();
    let (deliver, mut deliveries) = mpsc::unbounded_channel::<Vec<u8>>();
    let slow = {
        let mut state = state.lock().unwrap();
        let (kept, rest) = std::mem::take(&mut state.kept).into_iter().partition(|(to, _)| *to == system_id);
        state.kept = rest;
        for (_, body) in kept {
            deliver.send(deliver_sm(&mut state, body)).unwrap();
        }
        state.bound.insert(system_id.clone(), deliver.clone());
        state.behaviour.slow
    };
    let writing = tokio::spawn(async move {
        while let Some(bytes) = deliveries.recv().await {
            let step = if slow { 1 } else { bytes.len() };
            for chunk in bytes.chunks(step) {
                if writer.write_all(chunk).await.is_err() {
                    return;
                }
                tokio::task::yield_now().await;
            }
        }
    });
    while let Some(pdu) = read(&mut reader).await {
        if !handle_pdu(&pdu, &system_id, &deliver, &state) {
            break;
        }
    }
    state.lock().unwrap().bound.remove(&system_id);
    writing.abort();
}

fn deliver_sm(state: &mut State, body: Vec<u8>) -> Vec<u8> {
    state.seen.delivered += 1;
    Pdu::new(DELIVER_SM, 0, 1_000 + state.seen.delivered, body).bytes()
}

/// Handles a PDU of the other side; whether the connection goes on.
fn handle_pdu(pdu: &Pdu, from: &str, deliver: &mpsc::UnboundedSender<Vec<u8>>, state: &Mutex<State>) -> bool {
    let mut state = state.lock().unwrap();
    let answer = |command, status, body: &[u8]| {
        let _ = deliver.send(Pdu::new(command | RESP, status, pdu.sequence, body.to_vec()).bytes());
    };
    match pdu.command {
        SUBMIT_SM if state.behaviour.cut > 0 => {
            state.behaviour.cut -= 1;
            return false;
        }
        SUBMIT_SM if state.behaviour.throttle > 0 => {
            state.behaviour.throttle -= 1;
            answer(SUBMIT_SM, 0x58, b"");
        }
        SUBMIT_SM => {
            state.seen.submits += 1;
            answer(SUBMIT_SM, 0, b"17\0");
            let (to, body) = route(&pdu.body, from);
            let bound = state.bound.get(&to).cloned();
            match bound {
                Some(other) => {
                    let bytes = deliver_sm(&mut state, body);
                    let _ = other.send(bytes);
                }
                None => state.kept.push((to, body)),
            }
            if state.behaviour.rubbish {
                let cut = Pdu::new(DELIVER_SM, 0, 9_000, b"\0\x01\x0112".to_vec());
                let unknown = Pdu::new(0x7777, 0, 9_001, b"?".to_vec());
                let odd = Pdu::new(
                    DELIVER_SM,
                    0,
                    9_002,
                    b"\0\x05\0\xff\xfe\0\x01\x01\0\x40\0\0\0\0\0\0\x04\0\0".to_vec(),
                );
                let _ = deliver.send([cut.bytes(), unknown.bytes(), odd.bytes()].concat());
                answer(ENQUIRE_LINK & !RESP, 0, b""); // An answer that nobody asked for.
            }
        }
        ENQUIRE_LINK => {
            state.seen.enquiries += 1;
            answer(ENQUIRE_LINK, 0, b"");
        }
        UNBIND => answer(UNBIND, 0, b""),
        _ => assert!(pdu.command & RESP != 0, "an answer, not {:#x}", pdu.command),
    }
    let _ = pdu.status;
    true
}
