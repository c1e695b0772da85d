//! Radios that have grown to what they need allocate nothing.

use crate::air::saturated::Saturated;
use guestright_engine::Nanos;
use guestright_wlan::{Beacons, Config, Eifs, Mac, StationId};

#[test]
fn saturated_cells_allocate_nothing_per_frame() {
    let mac = Mac {
        rts_threshold: Some(300),
        fragmentation_threshold: Some(400),
        capture_db: Some(6),
        eifs: Eifs::AfterErrorsAndCollisions,
        beacons: Some(Beacons::default()),
        lifetime: Some(Nanos::from_millis(500)),
        ..Mac::default()
    };
    for mac in [Mac::default(), mac] {
        let mut config = Config { mac, ..Config::new(&[1, 1, 6], 5) };
        for (number, station) in config.stations.iter_mut().enumerate() {
            station.bit_error_rate = if number % 2 == 0 { 0.0 } else { 1e-5 };
            station.signal_dbm = if number % 3 == 0 { -40 } else { -60 };
        }
        let mut flows = Vec::new();
        for point in [0, 6, 12] {
            flows.push((point, point + 1));
            flows.extend((1..=5).map(|station| (point + station, point)));
        }
        let mut cells = Saturated::new(&config, &flows, 700, 1);
        cells.run(Nanos::from_seconds(20));
        let (delivered, dropped) = (cells.delivered, cells.dropped);
        let info = allocation_counter::measure(|| cells.run(Nanos::from_seconds(100)));
        assert!(cells.delivered - delivered > 50_000 && cells.dropped > dropped, "everything happened");
        assert!(cells.radio.stats(StationId(1)).collisions > 0);
        assert_eq!(info.count_total, 0, "{info:?}");
    }
}
