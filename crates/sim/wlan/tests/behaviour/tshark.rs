//! tshark reads what the tap writes: every frame, its check sequence, and the voice inside.

use guestright_capture::{FrameWriter, LinkType, Stamp};
use guestright_engine::{Instant, Nanos, Pool, Queue, Streams};
use guestright_units::Seed;
use guestright_wlan::tap::{
    AirFrame, Beacon, DataFrame, Direction, MacAddress, Radiotap, Recorder, frequency_mhz, msdu,
};
use guestright_wlan::{Beacons, Config, Msdu, OnAir, OnAirKind, StationId, Wlan};
use std::process::Command;

const FIELDS: [&str; 12] = [
    "wlan.fc.type_subtype",
    "wlan.fcs.status",
    "wlan.ra",
    "wlan.ta",
    "wlan.duration",
    "wlan.seq",
    "frame.time_epoch",
    "udp.dstport",
    "rtp.ssrc",
    "wlan.ssid",
    "wlan_radio.data_rate",
    "wlan_radio.frequency",
];

/// RTP in UDP in IPv4, 60 bytes: 20 ms of G.729.
fn voice(sequence: u8) -> Vec<u8> {
    let mut packet = vec![0x45, 0, 0, 60, 0, 0, 0x40, 0, 64, 17, 0, 0, 192, 0, 2, 1, 192, 0, 2, 2];
    let words = packet.chunks(2).map(|pair| u32::from(pair[0]) << 8 | u32::from(pair[1]));
    let sum: u32 = words.sum();
    let checksum = u16::try_from((sum & 0xffff) + (sum >> 16)).expect("two carries at most");
    packet[10..12].copy_from_slice(&(!checksum).to_be_bytes());
    packet.extend([0x9c, 0x40, 0x9c, 0x42, 0, 40, 0, 0]);
    packet.extend([0x80, 18, 0, sequence, 0, 0, 0, 160, 0xde, 0xad, 0xbe, 0xef]);
    packet.extend([0x55; 20]);
    packet
}

/// One row of fields for each frame.
fn judge(file: &[u8]) -> Vec<Vec<String>> {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("air.pcapng");
    std::fs::write(&path, file).expect("the capture is written");
    let fields = FIELDS.iter().flat_map(|field| ["-e", field]);
    let output = Command::new("tshark")
        .args(["-n", "-r", path.to_str().expect("a plain path"), "-T", "fields", "-E", "separator=;"])
        .args(["-d", "udp.port==40002,rtp", "-o", "wlan.check_checksum:TRUE"])
        // Radiotap says that frames have a check sequence; of plain frames Wireshark does not believe the file's word.
        .args(["-o", "wlan.check_fcs:TRUE"])
        .args(fields)
        .output()
        .expect("tshark runs; `sh scripts/setup.sh test` installs it");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).expect("tshark writes UTF-8");
    text.lines().map(|line| line.split(';').map(str::to_owned).collect()).collect()
}

fn frames(body: &[u8]) -> [(AirFrame<'_>, &'static str); 6] {
    let (station, point, wired) =
        (MacAddress::of_station(1), MacAddress::of_station(0), MacAddress::of_station(9));
    let data = DataFrame {
        direction: Direction::ToAccessPoint,
        receiver: point,
        transmitter: station,
        third: wired,
        duration_us: 213,
        sequence: 77,
        fragment: 0,
        more_fragments: false,
        retry: false,
        body,
    };
    let down =
        DataFrame { direction: Direction::FromAccessPoint, receiver: station, transmitter: point, ..data };
    let beacon = Beacon {
        transmitter: point,
        sequence: 78,
        clock_us: 1_024_000,
        interval: 100,
        name: b"a household",
        channel: 6,
        short_preamble: false,
        rates: &[0x82, 0x84, 0x8b, 0x96],
    };
    [
        (AirFrame::Rts { receiver: point, transmitter: station, duration_us: 800 }, "0x001b"),
        (AirFrame::Cts { receiver: station, duration_us: 500 }, "0x001c"),
        (AirFrame::Data(data), "0x0020"),
        (AirFrame::Ack { receiver: station, duration_us: 0 }, "0x001d"),
        (AirFrame::Data(down), "0x0020"),
        (AirFrame::Beacon(beacon), "0x0008"),
    ]
}

#[test]
fn understands_every_frame_with_and_without_radiotap() {
    let body = msdu(&voice(1));
    let frames = frames(&body);
    let mut file = Vec::new();
    let mut writer = FrameWriter::new("test", &mut file);
    let plain = writer.interface("channel 6", LinkType::IEEE_802_11, Some(4), &mut file);
    let tapped = writer.interface("channel 6, radiotap", LinkType::RADIOTAP, None, &mut file);
    for (number, (frame, _)) in (0..).zip(&frames) {
        let mut bytes = Vec::new();
        frame.write(&mut bytes);
        writer.frame(plain, Stamp(number * 1_000 + 1), &bytes, "", &mut file).expect("it is written");
        let mut bytes = Vec::new();
        let known = Radiotap {
            at_us: number,
            rate: 22,
            frequency_mhz: frequency_mhz(6),
            ofdm: false,
            short_preamble: false,
        };
        known.write(&mut bytes);
        assert_eq!(bytes.len(), Radiotap::LENGTH);
        frame.write(&mut bytes);
        writer.frame(tapped, Stamp(number * 1_000 + 2), &bytes, "heard", &mut file).expect("it is written");
    }
    let rows = judge(&file);
    assert_eq!(rows.len(), 2 * frames.len(), "tshark left out frames");
    for (index, row) in rows.iter().enumerate() {
        let (frame, kind) = &frames[index / 2];
        assert_eq!((row[0].as_str(), row[1].as_str()), (*kind, "1"), "{frame:?}: {row:?}");
        let nanos = index / 2 * 1_000 + index % 2 + 1;
        assert_eq!(row[6], format!("0.{nanos:09}"), "the time has nanoseconds");
        let is_data = matches!(frame, AirFrame::Data(_));
        assert_eq!(row[7] == "40002" && row[8] == "0xdeadbeef", is_data, "the voice inside: {row:?}");
        assert_eq!(row[5] == "77", is_data, "the sequence number: {row:?}");
        if index % 2 == 1 {
            assert_eq!((row[10].as_str(), row[11].as_str()), ("11", "2437"), "{row:?}");
        }
        match frame {
            AirFrame::Ack { receiver, duration_us } | AirFrame::Cts { receiver, duration_us } => {
                assert_eq!((&row[2], &row[4]), (&receiver.to_string(), &duration_us.to_string()));
            }
            AirFrame::Rts { receiver, transmitter, .. } => {
                assert_eq!((&row[2], &row[3]), (&receiver.to_string(), &transmitter.to_string()));
            }
            AirFrame::Data(data) => assert_eq!(row[3], data.transmitter.to_string()),
            AirFrame::Beacon(_) => {
                assert!(["a household", "6120686f757365686f6c64"].contains(&row[9].as_str()))
            }
        }
    }
}

#[test]
fn finds_a_damaged_frame() {
    let body = msdu(&voice(1));
    let mut file = Vec::new();
    let mut writer = FrameWriter::new("test", &mut file);
    let radio = writer.interface("channel 6", LinkType::IEEE_802_11, Some(4), &mut file);
    let frames = frames(&body);
    for (frame, _) in &frames {
        let mut bytes = Vec::new();
        frame.write_damaged(&mut bytes);
        writer.frame(radio, Stamp(0), &bytes, "", &mut file).expect("it is written");
    }
    let rows = judge(&file);
    assert_eq!(rows.len(), frames.len());
    for row in rows {
        assert_ne!(row[1], "1", "tshark takes it for good: {row:?}");
    }
}

/// Three stations and their access point with RTS, fragments, beacons and bit errors; what was on the air for 2 s.
fn air(config: &Config) -> Vec<OnAir> {
    let mut queue = Queue::new();
    let mut radio = Wlan::new(config, &Streams::new(Seed::from_number(3))).expect("good settings");
    let mut keys = Pool::new();
    radio.tap(true);
    radio.start(&mut queue);
    for number in 0..300_u32 {
        let (from, to) = [(1, 0), (0, 1), (2, 0), (0, 3)][number as usize % 4];
        let msdu = Msdu { key: keys.insert(()), bytes: 60 + 240 * (number % 3), to: StationId(to) };
        radio.enqueue(StationId(from), msdu, &mut queue);
    }
    let mut frames = Vec::new();
    while let Some((at, event)) = queue.pop() {
        if at > Instant(2_000_000_000) {
            break;
        }
        radio.handle(event, &mut queue);
        frames.extend(std::iter::from_fn(|| radio.poll_air()));
        while radio.poll_output().is_some() {}
    }
    frames
}

#[test]
fn understands_a_whole_simulation() {
    let mut config = Config::new(&[6], 3);
    config.mac.rts_threshold = Some(200);
    config.mac.fragmentation_threshold = Some(256);
    config.mac.beacons = Some(Beacons { interval: Nanos::from_micros(102_400), bytes: 60 });
    for station in &mut config.stations {
        (station.bit_error_rate, station.queue_max) = (0.000_02, 1_000);
    }
    let frames = air(&config);
    let recorder = Recorder::new(&config);
    let mut file = Vec::new();
    let mut writer = FrameWriter::new("test", &mut file);
    let radio = writer.interface("channel 6", LinkType::RADIOTAP, None, &mut file);
    for frame in &frames {
        let mut packet = voice(1);
        if let OnAirKind::Data { msdu, .. } = frame.kind {
            packet.resize(msdu.bytes as usize, 0);
        }
        let mut bytes = Vec::new();
        recorder.write(frame, &packet, &mut bytes);
        if !matches!(frame.kind, OnAirKind::Beacon { .. }) {
            assert_eq!(
                bytes.len() - Radiotap::LENGTH,
                frame.bytes as usize,
                "as long as on the air: {frame:?}"
            );
        }
        writer.frame(radio, Stamp(frame.at.0), &bytes, "", &mut file).expect("it is written");
    }
    let rows = judge(&file);
    assert_eq!(rows.len(), frames.len(), "tshark left out frames");
    let mut seen = std::collections::BTreeMap::new();
    for (row, frame) in rows.iter().zip(&frames) {
        let kind = match frame.kind {
            OnAirKind::Data { .. } => "0x0020",
            OnAirKind::Ack => "0x001d",
            OnAirKind::Rts => "0x001b",
            OnAirKind::Cts => "0x001c",
            OnAirKind::Beacon { .. } => "0x0008",
        };
        assert_eq!((row[0].as_str(), row[1] == "1"), (kind, !frame.is_damaged), "{frame:?}: {row:?}");
        *seen.entry((kind, frame.is_damaged)).or_insert(0) += 1;
    }
    for kind in ["0x0020", "0x001d", "0x001b", "0x001c", "0x0008"] {
        assert!(seen.contains_key(&(kind, false)), "{kind} was on the air: {seen:?}");
    }
    assert!(seen.contains_key(&("0x0020", true)), "collisions and bit errors were there: {seen:?}");
}
