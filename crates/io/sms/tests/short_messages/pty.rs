//! A modem on a pseudo-terminal, and the network between such modems.

use guestright_directory::sms::{Deliver, Party, Submit, Timestamp, from_hex, to_hex};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{OptionalActions, tcgetattr, tcsetattr};
use std::collections::BTreeMap;
use std::io::{Read as _, Write as _};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, mpsc};
use std::thread::JoinHandle;

/// What a modem is like.
#[derive(Clone, Debug, Default)]
pub(crate) struct Manners {
    /// It says back what it is told, and `ATE0` changes nothing.
    pub(crate) always_echoes: bool,
    /// It writes byte by byte.
    pub(crate) slow: bool,
    /// There is noise on the line and other news in the middle of answers.
    pub(crate) noisy: bool,
    /// It hands messages over at once (`+CMT`) instead of storing them.
    pub(crate) direct: bool,
    /// So many messages are refused because the network has too much to do.
    pub(crate) busy: u32,
    /// The SIM wants this PIN.
    pub(crate) pin: Option<&'static str>,
    /// It does not know `AT+CNMI=2,…`.
    pub(crate) old: bool,
}

/// Which number is which modem's.
pub(crate) type Network = Arc<Mutex<BTreeMap<String, mpsc::Sender<Task>>>>;

pub(crate) enum Task {
    Bytes(Vec<u8>),
    /// The TPDU of a message for this modem.
    Deliver(Vec<u8>),
    Stop,
}

pub(crate) struct SimulatedModem {
    pub(crate) device: PathBuf,
    pub(crate) log: Arc<Mutex<Vec<String>>>,
    tasks: mpsc::Sender<Task>,
    threads: Vec<JoinHandle<()>>,
    // While this is open the line does not hang up.
    _other_end: std::fs::File,
}

struct Modem {
    number: String,
    manners: Manners,
    network: Network,
    line: std::fs::File,
    log: Arc<Mutex<Vec<String>>>,
    memory: BTreeMap<u32, String>,
    echo: bool,
    unlocked: bool,
    input: Vec<u8>,
    /// The length that was announced, while the text of a message is read.
    text_of: Option<usize>,
}

impl SimulatedModem {
    pub(crate) fn start(number: &str, manners: Manners, network: &Network) -> Self {
        let line = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).unwrap();
        grantpt(&line).unwrap();
        unlockpt(&line).unwrap();
        let device = PathBuf::from(ptsname(&line, Vec::new()).unwrap().into_string().unwrap());
        let other_end = std::fs::File::options().read(true).write(true).open(&device).unwrap();
        let mut raw = tcgetattr(&other_end).unwrap();
        raw.make_raw();
        tcsetattr(&other_end, OptionalActions::Now, &raw).unwrap();
        let (tasks, orders) = mpsc::channel();
        network.lock().unwrap().insert(number.to_owned(), tasks.clone());
        let log = Arc::new(Mutex::new(Vec::new()));
        let line = std::fs::File::from(line);
        let mut reading = line.try_clone().unwrap();
        let bytes = tasks.clone();
        let reader = std::thread::spawn(move || {
            let mut buffer = [0; 256];
            while let Ok(length @ 1..) = reading.read(&mut buffer) {
                if bytes.send(Task::Bytes(buffer[..length].to_vec())).is_err() {
                    return;
                }
            }
        });
        let mut modem = Modem {
            number: number.to_owned(),
            unlocked: manners.pin.is_none(),
            manners,
            network: network.clone(),
            line,
            log: log.clone(),
            memory: BTreeMap::new(),
            echo: true,
            input: Vec::new(),
            text_of: None,
        };
        let runner = std::thread::spawn(move || {
            while let Ok(task) = orders.recv() {
                match task {
                    Task::Bytes(bytes) => bytes.into_iter().for_each(|byte| modem.handle_byte(byte)),
                    Task::Deliver(pdu) => modem.deliver(&pdu),
                    Task::Stop => return,
                }
            }
        });
        drop(reader); // It ends when the line does.
        Self { device, log, tasks, threads: vec![runner], _other_end: other_end }
    }

    /// What it was told, line by line.
    pub(crate) fn received(&self) -> Vec<String> {
        self.log.lock().unwrap().clone()
    }
}

impl Drop for SimulatedModem {
    fn drop(&mut self) {
        let _ = self.tasks.send(Task::Stop);
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

impl Modem {
    fn write(&mut self, text: &str) {
        let step = if self.manners.slow { 1 } else { text.len().max(1) };
        for chunk in text.as_bytes().chunks(step) {
            // The other side may have closed the line.
            if self.line.write_all(chunk).is_err() {
                return;
            }
        }
    }

    fn send(&mut self, lines: &[&str]) {
        for (index, line) in lines.iter().enumerate() {
            if self.manners.noisy && index > 0 {
                self.write("\r\nRING\r\n");
            }
            self.write(&format!("\r\n{line}\r\n"));
        }
        if self.manners.noisy {
            let _ = self.line.write_all(b"\xfe\x01\x80~\r\n+CREG: 1\r\n");
        }
    }

    fn handle_byte(&mut self, byte: u8) {
        if self.echo {
            let _ = self.line.write_all(&[byte]);
        }
        match (byte, self.text_of) {
            (0x1b, _) => {
                self.text_of = None;
                self.input.clear();
            }
            (0x1a, Some(length)) => {
                self.text_of = None;
                let text = String::from_utf8(std::mem::take(&mut self.input)).unwrap();
                self.submit(length, &text);
            }
            (b'\r', None) => {
                let line = String::from_utf8(std::mem::take(&mut self.input)).unwrap();
                self.log.lock().unwrap().push(line.clone());
                self.obey(&line);
            }
            _ => self.input.push(byte),
        }
    }

    fn obey(&mut self, line: &str) {
        if line.is_empty() {
            return;
        }
        let Some(command) = line.strip_prefix("AT") else { return self.send(&["ERROR"]) };
        let argument = |name: &str| command.strip_prefix(name).map(str::to_owned);
        if command == "E0" {
            self.echo = self.manners.always_echoes;
            self.send(&["OK"]);
        } else if command == "+CPIN?" {
            let state = if self.unlocked { "+CPIN: READY" } else { "+CPIN: SIM PIN" };
            self.send(&[state, "OK"]);
        } else if let Some(pin) = argument("+CPIN=") {
            self.unlocked = Some(pin.trim_matches('"')) == self.manners.pin;
            self.send(&[if self.unlocked { "OK" } else { "+CME ERROR: 16" }]);
        } else if command.is_empty() || ["+CMEE=1", "+CMGF=0"].contains(&command) {
            self.send(&["OK"]);
        } else if !self.unlocked {
            self.send(&["+CMS ERROR: 311"]);
        } else if command == "+CSQ" {
            self.send(&["+CSQ: 21,99", "OK"]);
        } else if let Some(mode) = argument("+CNMI=") {
            self.send(&[if self.manners.old && mode.starts_with('2') { "ERROR" } else { "OK" }]);
        } else if command == "+CMGL=4" {
            let lines: Vec<_> =
                self.memory.iter().map(|(i, pdu)| format!("+CMGL: {i},1,,0\r\n{pdu}")).collect();
            let mut lines: Vec<&str> = lines.iter().map(String::as_str).collect();
            lines.push("OK");
            self.send(&lines);
        } else if let Some(index) = argument("+CMGR=") {
            match self.memory.get(&index.parse().unwrap()).cloned() {
                Some(pdu) => self.send(&["+CMGR: 0,,30", &pdu, "OK"]),
                None => self.send(&["+CMS ERROR: 321"]),
            }
        } else if let Some(index) = argument("+CMGD=") {
            let known = self.memory.remove(&index.parse().unwrap()).is_some();
            self.send(&[if known { "OK" } else { "+CMS ERROR: 321" }]);
        } else if let Some(length) = argument("+CMGS=") {
            self.text_of = Some(length.parse().unwrap());
            self.write("\r\n> ");
        } else {
            self.send(&["ERROR"]);
        }
    }

    fn submit(&mut self, length: usize, text: &str) {
        if self.manners.busy > 0 {
            self.manners.busy -= 1;
            return self.send(&["+CMS ERROR: 42"]);
        }
        let pdu = from_hex(text).unwrap();
        let Some((0, pdu)) = pdu.split_first() else { return self.send(&["+CMS ERROR: 304"]) };
        let Ok(submit) = Submit::parse(pdu) else { return self.send(&["+CMS ERROR: 304"]) };
        let Some(number) = submit.to.number().filter(|_| pdu.len() == length) else {
            return self.send(&["+CMS ERROR: 304"]);
        };
        let deliver = Deliver {
            from: Party::Number(format!("+{}", self.number).parse().unwrap()),
            coding: 4,
            stamp: Timestamp::parse([0x62, 0x11, 0x12, 0x60, 0x51, 0, 0]).unwrap(),
            has_header: true,
            length: u8::try_from(submit.user_data.len()).unwrap(),
            user_data: submit.user_data.clone(),
        };
        let other = self.network.lock().unwrap().get(number.digits()).cloned();
        match other {
            Some(other) => {
                let _ = other.send(Task::Deliver(deliver.emit().unwrap()));
                self.send(&["+CMGS: 12", "OK"]);
            }
            None => self.send(&["+CMS ERROR: 28"]),
        }
    }

    fn deliver(&mut self, pdu: &[u8]) {
        let text = format!("07912120550599F9{}", to_hex(pdu));
        if self.manners.direct {
            return self.write(&format!("\r\n+CMT: ,{}\r\n{text}\r\n", pdu.len()));
        }
        let free = (1..).find(|index| !self.memory.contains_key(index)).unwrap();
        self.memory.insert(free, text);
        self.write(&format!("\r\n+CMTI: \"SM\",{free}\r\n"));
    }
}
