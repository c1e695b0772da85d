//! `guestright-lab advise`: both ends on the loopback.

use crate::guestright_lab;
use serde_json::Value;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Output, Stdio};

/// The end that others measure the way to; ended when it is dropped.
struct Listener {
    child: Child,
    address: String,
}

impl Listener {
    fn start(arguments: &[&str]) -> Self {
        let mut command = guestright_lab();
        command.args(["advise", "--listen", "--bind", "127.0.0.1:0"]).args(arguments);
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        let address = line.strip_prefix("listening at ").and_then(|rest| rest.split(',').next());
        let address = address.unwrap_or_else(|| panic!("{line:?}")).to_owned();
        Self { child, address }
    }

    fn ask(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().unwrap()
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = guestright_lab();
        command.args(["advise", &self.address]).args(arguments);
        command
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn every_transport_is_tried_both_ways_and_one_is_advised() {
    let mut listener = Listener::start(&["--runs", "1"]);
    let output = listener.ask(&["--seconds", "1", "--json"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let trials = report["trials"].as_array().unwrap();
    let names: Vec<&str> = trials.iter().map(|trial| trial["name"].as_str().unwrap()).collect();
    assert_eq!(names[..3], ["udp", "quic-datagrams", "quic-stream"]);
    assert!(names.contains(&"tcp-reno"), "every Linux has Reno: {names:?}");
    for trial in trials {
        let directions = trial["result"]["Ok"].as_array().unwrap_or_else(|| panic!("{trial}"));
        assert_eq!(directions.len(), 2, "{trial}");
        for stats in directions {
            assert_eq!(stats["made"], 50);
            // The loopback loses nothing. What a busy computer makes late is late.
            assert_eq!(stats["lost"], 0.0, "{trial}");
        }
    }
    assert!(names.contains(&report["advice"]["recommended"].as_str().unwrap()));
    assert!(!report["advice"]["reasons"].as_array().unwrap().is_empty());
    assert!(listener.child.wait().unwrap().success(), "it ends after the measurement");
}

#[test]
fn words_say_what_to_take_and_why() {
    let listener = Listener::start(&[]);
    let output = listener.ask(&["--seconds", "1", "--transport", "udp"]);
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains("udp … heard there 50 of 50, back 50 of 50"), "{text}");
    assert!(text.contains("Voice should take udp:\n  - it is the only one that works: R "), "{text}");
    // One at a time measures, and this one may not yet have noticed that the other has gone.
    let output = Listener::start(&[]).ask(&["--transport", "carrier-pigeon"]);
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(
        text.contains("carrier-pigeon: not both kernels have it") && text.contains("quic-stream"),
        "{text}"
    );
}

#[test]
fn strangers_say_what_they_like_and_one_at_a_time_measures() {
    let listener = Listener::start(&[]);
    let hello = |line: &str| {
        let mut stream = TcpStream::connect(&listener.address).unwrap();
        stream.write_all(line.as_bytes()).unwrap();
        let mut answer = String::new();
        BufReader::new(stream.try_clone().unwrap()).read_line(&mut answer).unwrap();
        (stream, answer)
    };
    for nonsense in
        ["GET / HTTP/1.0\r\n\r\n", "{\"join\":{\"token\":7}}\n", "\"ping\"\n", "{\"try\":null}\n", "\n"]
    {
        let (mut stream, answer) = hello(nonsense);
        assert_eq!((answer.as_str(), stream.read(&mut [0]).unwrap_or(0)), ("", 0), "{nonsense:?}");
    }
    let (mut first, welcome) = hello("{\"hello\":{\"version\":1}}\n");
    assert!(welcome.starts_with("{\"welcome\":"), "{welcome}");
    let (_, busy) = hello("{\"hello\":{\"version\":1}}\n");
    assert_eq!(busy, "\"busy\"\n");
    // More than a call is refused, and the connection goes on.
    first.write_all(b"{\"try\":{\"carrier\":\"udp\",\"congestion\":null,\"back\":true,\"packets\":4000000,\"interval_us\":1,\"bytes\":1200,\"send_buffer\":1}}\n\"ping\"\n").unwrap();
    let mut answers = BufReader::new(first).lines().map(Result::unwrap);
    assert_eq!(answers.next().unwrap(), "{\"refused\":{\"why\":\"that is more than a call\"}}");
    assert_eq!(answers.next().unwrap(), "\"pong\"");
}

#[test]
fn nobody_there_is_told() {
    // Nothing listens at the discard port.
    let output = guestright_lab().args(["advise", "127.0.0.1:9"]).output().unwrap();
    let text = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(69));
    assert!(text.contains("127.0.0.1:9") && text.contains("lab advise --listen"), "{text}");
}
