//! Debian's baresip and sipp, without a sound card and without a screen.

use super::exchange::Exchange;
use crate::town::Program;
use crate::town::baresip::{self, Wanted, tone};
use serde_json::Value;
use std::path::PathBuf;

/// The tone's first 60 samples in G.711 mu-law (G.711 table 2a), which come again every 200 samples whatever packets
/// they are cut into.
pub(crate) fn tone_payload() -> Vec<u8> {
    tone()[..60].iter().map(|sample| mu_law(*sample)).collect()
}

#[expect(clippy::cast_sign_loss, clippy::cast_possible_truncation, reason = "the parts have 1, 3 and 4 bits")]
pub(crate) fn mu_law(sample: i16) -> u8 {
    let negative = sample < 0;
    let level = (i32::from(sample).abs().min(32_635)) + 132;
    let exponent = (0..8).rev().find(|exponent| level >> (exponent + 7) != 0).unwrap_or(0);
    let mantissa = (level >> (exponent + 3)) & 15;
    !((u8::from(negative) << 7) | ((exponent as u8) << 4) | mantissa as u8)
}

/// A baresip that is a member's telephone, and keeps what it hears.
pub(crate) struct Baresip {
    phone: baresip::Baresip,
    directory: PathBuf,
}

impl Baresip {
    /// Starts one that registers as `name` and takes every call. `more` is further configuration.
    pub(crate) fn start(exchange: &Exchange, host: &str, name: &str, more: &str) -> Self {
        let directory = exchange.town.path(&format!("{host}-phone"));
        let wanted = Wanted {
            directory: &directory,
            log: &exchange.town.path(&format!("{host}-baresip.log")),
            listen: "10.73.5.2:5060",
            account: &format!("<sip:{name}@10.73.5.1>;regint=60"),
            module: "sndfile",
            more: &format!("snd_path {}\n{more}", directory.display()),
        };
        Self { phone: baresip::Baresip::start(&exchange.town.world, host, &wanted), directory }
    }

    pub(crate) fn command(&self, command: &str, parameters: &str) {
        self.phone.command(command, parameters);
    }

    pub(crate) fn event(&self, wanted: &str) -> Value {
        self.phone.event(wanted)
    }

    /// Ends it, and gives what it has heard: all that its sound filter has written.
    pub(crate) fn into_recording(self) -> Vec<i16> {
        let Self { phone, directory } = self;
        phone.quit();
        let entries = std::fs::read_dir(&directory).unwrap().map(|entry| entry.unwrap().path());
        let files = entries.filter(|path| path.to_string_lossy().ends_with("-dec.wav"));
        let samples = files.flat_map(|file| {
            let bytes = std::fs::read(file).unwrap();
            bytes[44.min(bytes.len())..]
                .chunks_exact(2)
                .map(|pair| i16::from_le_bytes([pair[0], pair[1]]))
                .collect::<Vec<_>>()
        });
        samples.collect()
    }
}

/// A running sipp.
pub(crate) struct Sipp {
    program: Program,
    statistics: PathBuf,
    errors: PathBuf,
}

/// How many calls went well.
pub(crate) struct CallCounts {
    pub(crate) successful: u64,
    pub(crate) failed: u64,
}

impl Sipp {
    /// Takes every call at port 5060 and sends back what it hears.
    pub(crate) fn answer(exchange: &Exchange, host: &str) -> Self {
        Self::start(
            exchange,
            host,
            &["-sn", "uas", "-rtp_echo", "-i", "10.73.5.2", "-mi", "10.73.5.2", "-p", "5060"],
        )
    }

    /// Makes so many calls at a time, with a tone in each, until [`Sipp::hang_up`].
    pub(crate) fn call(exchange: &Exchange, host: &str, whom: &str, calls: u32) -> Self {
        let directory = exchange.town.directory.clone();
        let payload: Vec<u8> = tone().iter().take(8_000).map(|sample| mu_law(*sample)).collect();
        std::fs::write(directory.join("tone.ul"), payload).unwrap();
        let scenario = directory.join("caller.xml");
        std::fs::write(&scenario, CALLER.replace("TONE", directory.join("tone.ul").to_str().unwrap()))
            .unwrap();
        let over = directory.join("over.xml");
        std::fs::write(&over, OVER).unwrap();
        let calls = calls.to_string();
        let arguments = [
            "-sf",
            scenario.to_str().unwrap(),
            "-oocsf",
            over.to_str().unwrap(),
            "-s",
            whom,
            "-i",
            "10.73.5.2",
            "-mi",
            "10.73.5.2",
            "-p",
            "5080",
        ];
        let load = ["-m", &calls, "-l", &calls, "-r", "25", "10.73.5.1:5060"];
        Self::start(exchange, host, &[&arguments[..], &load].concat())
    }

    fn start(exchange: &Exchange, host: &str, arguments: &[&str]) -> Self {
        let statistics = exchange.town.path(&format!("{host}-sipp.csv"));
        let mut command = exchange.town.world.command(host, "sipp").unwrap();
        command.args(arguments).args(["-nostdin", "-trace_stat", "-fd", "1", "-stf"]).arg(&statistics);
        let errors = exchange.town.path(&format!("{host}-sipp-errors.log"));
        command.args(["-trace_err", "-error_file"]).arg(&errors);
        let program = Program::start(&mut command, &exchange.town.path(&format!("{host}-sipp.log")));
        Self { program, statistics, errors }
    }

    /// Has a caller hang up all its calls.
    pub(crate) fn hang_up(exchange: &Exchange, host: &str) {
        assert_eq!(exchange.ask_at("10.73.5.2:5080", host, "OPTIONS", "alice", ""), 200);
    }

    /// Waits for its end.
    pub(crate) fn finish(&mut self) -> CallCounts {
        let status = self.program.wait();
        let text = std::fs::read_to_string(&self.statistics).unwrap_or_default();
        let mut lines = text.lines();
        let names: Vec<&str> = lines.next().unwrap_or_default().split(';').collect();
        let last: Vec<&str> = lines.last().unwrap_or_default().split(';').collect();
        let value = |name: &str| {
            let column = names.iter().position(|each| *each == name);
            column
                .and_then(|index| last.get(index)?.parse().ok())
                .unwrap_or_else(|| panic!("{name} in {text}: {status}"))
        };
        let errors = std::fs::read_to_string(&self.errors).unwrap_or_default();
        // Messages that come twice at the end of a call that went well are no errors.
        errors.split("\n'").filter(|each| !each.contains("(successful)")).for_each(|each| println!("{each}"));
        CallCounts { successful: value("SuccessfulCall(C)"), failed: value("FailedCall(C)") }
    }
}

/// What comes outside of all calls ends them.
const OVER: &str = r#"<?xml version="1.0" encoding="UTF-8"?>
<scenario name="over">
  <Global variables="over"/>
  <recv request="OPTIONS"><action><assign assign_to="over" value="1"/></action></recv>
  <send><![CDATA[
SIP/2.0 200 OK
[last_Via:]
[last_From:]
[last_To:];tag=[call_number]
[last_Call-ID:]
[last_CSeq:]
Content-Length: 0

  ]]></send>
</scenario>
"#;

/// A caller that talks while the call is up: until somebody says that it is over. As many calls begin in a second as end.
const CALLER: &str = r#"<?xml version="1.0" encoding="UTF-8"?>
<scenario name="caller">
  <Global variables="over"/>
  <send retrans="500"><![CDATA[
INVITE sip:[service]@[remote_ip]:[remote_port] SIP/2.0
Via: SIP/2.0/[transport] [local_ip]:[local_port];branch=[branch]
From: <sip:alice@[remote_ip]>;tag=[call_number]
To: <sip:[service]@[remote_ip]>
Call-ID: [call_id]
CSeq: 1 INVITE
Contact: <sip:alice@[local_ip]:[local_port]>
Max-Forwards: 70
Content-Type: application/sdp
Content-Length: [len]

v=0
o=alice 1 1 IN IP[local_ip_type] [local_ip]
s=-
c=IN IP[media_ip_type] [media_ip]
t=0 0
m=audio [rtpstream_audio_port] RTP/AVP 0
a=rtpmap:0 PCMU/8000
  ]]></send>
  <recv response="100" optional="true"/>
  <recv response="180" optional="true"/>
  <recv response="200" rtd="true"/>
  <send><![CDATA[
ACK sip:[service]@[remote_ip]:[remote_port] SIP/2.0
Via: SIP/2.0/[transport] [local_ip]:[local_port];branch=[branch]
From: <sip:alice@[remote_ip]>;tag=[call_number]
To: <sip:[service]@[remote_ip]>[peer_tag_param]
Call-ID: [call_id]
CSeq: 1 ACK
Max-Forwards: 70
Content-Length: 0

  ]]></send>
  <nop><action><exec rtp_stream="TONE,-1,0"/></action></nop>
  <label id="1"/>
  <pause milliseconds="500"/>
  <nop next="2" test="over"/>
  <nop next="1"/>
  <label id="2"/>
  <pause distribution="uniform" min="0" max="4000"/>
  <send retrans="500"><![CDATA[
BYE sip:[service]@[remote_ip]:[remote_port] SIP/2.0
Via: SIP/2.0/[transport] [local_ip]:[local_port];branch=[branch]
From: <sip:alice@[remote_ip]>;tag=[call_number]
To: <sip:[service]@[remote_ip]>[peer_tag_param]
Call-ID: [call_id]
CSeq: 2 BYE
Max-Forwards: 70
Content-Length: 0

  ]]></send>
  <recv response="200"/>
</scenario>
"#;
