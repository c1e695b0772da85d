//! How many packets a second are read, searched and judged; beside tshark on the same file.
//!
//! `cargo bench -p guestright-capture`

#![expect(clippy::print_stdout, clippy::disallowed_methods, reason = "a bench measures time and prints it")]

use guestright_capture::{Reader, Stamp, Survey, SurveyConfig, Writer, decode};
use std::hint::black_box;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Ten calls of 100 s, both ways, and as many other datagrams.
const STREAMS: u32 = 20;
const PACKETS: u32 = 5_000;

fn main() {
    let capture = capture();
    let packets = f64::from(STREAMS * PACKETS) * 1.5;
    let rate = |took: Duration| packets / took.as_secs_f64();
    let read = best(|| reading(&capture));
    let all = best(|| surveying(&capture));
    println!("{packets:.0} packets, {:.1} MB", capture.len() as f64 / 1e6);
    println!("reader and decoder:           {:>12.0} packets/s", rate(read));
    println!("reader, finder and analyser:  {:>12.0} packets/s", rate(all));
    let path = std::env::temp_dir().join(format!("guestright-bench-{}.pcapng", std::process::id()));
    std::fs::write(&path, &capture).expect("there is room for a temporary file");
    let start = Instant::now();
    let theirs = Command::new("tshark")
        .args(["-q", "-o", "rtp.heuristic_rtp:TRUE", "-z", "rtp,streams", "-r"])
        .arg(&path)
        .stdin(Stdio::null())
        .output();
    let took = start.elapsed();
    std::fs::remove_file(&path).expect("it was made a moment ago");
    match theirs {
        Ok(output) if output.status.success() => {
            println!("tshark -z rtp,streams:        {:>12.0} packets/s", rate(took));
            println!("ratio: {:.0}", took.as_secs_f64() / all.as_secs_f64());
        }
        Ok(output) => println!("tshark: {}", String::from_utf8_lossy(&output.stderr)),
        Err(error) => println!("tshark is not there: {error}"),
    }
}

fn best(mut run: impl FnMut()) -> Duration {
    let times = (0..5).map(|_| {
        let start = Instant::now();
        run();
        start.elapsed()
    });
    times.min().expect("five runs")
}

fn reading(capture: &[u8]) {
    let mut reader = Reader::new();
    for piece in capture.chunks(1 << 20) {
        reader.feed(piece);
        while let Some(frame) = reader.next().expect("we wrote it") {
            black_box(decode(&frame));
        }
    }
}

fn surveying(capture: &[u8]) {
    let mut survey = Survey::new(SurveyConfig::default(), None);
    for piece in capture.chunks(1 << 20) {
        survey.feed(piece).expect("we wrote it");
    }
    let report = black_box(survey.finish());
    assert_eq!(report.streams.len(), STREAMS as usize, "all streams are found");
}

fn capture() -> Vec<u8> {
    let mut out = Vec::new();
    let mut writer = Writer::new("bench", "any", &mut out);
    let address = |host: u32, port: u16| {
        std::net::SocketAddr::from((std::net::Ipv4Addr::from(0x0a00_0000 + host), port))
    };
    for index in 0..PACKETS {
        for stream in 0..STREAMS {
            let at =
                Stamp(1_700_000_000_000_000_000 + u64::from(index) * 20_000_000 + u64::from(stream) * 1_000);
            let (one, other) = (address(stream / 2, 4_000), address(1_000 + stream / 2, 5_000));
            let (from, to) = if stream % 2 == 0 { (one, other) } else { (other, one) };
            let mut packet = vec![0x80, 18];
            packet.extend(&index.to_be_bytes()[2..]);
            packet.extend((index * 160).to_be_bytes());
            packet.extend((stream + 77).to_be_bytes());
            packet.extend([0; 20]);
            writer.packet(at, from, to, &packet, &mut out).expect("it is short");
            if stream % 2 == 0 {
                let other = [index.to_be_bytes(), (stream * index).to_le_bytes()].concat();
                writer.packet(at, address(stream, 53), address(9, 9), &other, &mut out).expect("it is short");
            }
        }
    }
    out
}
