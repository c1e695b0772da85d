//! Hours of visits, honest and not, after which the programs are as large as before.

use crate::town::services::AccessLog;
use crate::town::{ACCESS_POINT, Program, Rules, Town, WEB};
use guestright_testbed::inside_within;
use std::io::Write as _;
use std::net::TcpStream;
use std::time::{Duration, Instant};

/// How long it takes, in minutes, unless `GUESTRIGHT_SOAK_MINUTES` says otherwise.
const MINUTES: u64 = 120;
/// What a program may grow by between the second quarter of the time and the last.
const MEMORY_SLACK: u64 = 4_000_000;
const DESCRIPTORS_SLACK: usize = 8;

#[derive(Clone, Copy, Debug)]
struct Size {
    memory: u64,
    descriptors: usize,
}

fn size(program: &Program) -> Size {
    let process = format!("/proc/{}", program.pid().as_raw_nonzero());
    let status = std::fs::read_to_string(format!("{process}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    let kilobytes: u64 = line.trim().trim_end_matches(" kB").parse().unwrap();
    let descriptors = std::fs::read_dir(format!("{process}/fd")).unwrap().count();
    Size { memory: kilobytes * 1_024, descriptors }
}

#[test]
#[ignore = "takes two hours; `cargo xtask test nightly` runs it"]
fn hours_of_visits_leave_memory_and_descriptors_as_they_were() {
    let minutes = std::env::var("GUESTRIGHT_SOAK_MINUTES").map_or(MINUTES, |text| text.parse().unwrap());
    let life_max = Duration::from_secs((minutes + 2) * 60);
    if !inside_within("soak::hours_of_visits_leave_memory_and_descriptors_as_they_were", life_max) {
        return;
    }
    // As often as in a household, so that beside other programs nobody is late.
    let town = Town::build(Rules { interval_ms: 5_000, log: "warn", ..Rules::default() });
    town.serve_tcp("net", WEB, &AccessLog::default());
    let (home, ap) = town.open();
    let (began, span) = (Instant::now(), Duration::from_secs(minutes * 60));
    let (mut visits, mut sizes) = (0, Vec::new());
    while began.elapsed() < span {
        let (visit, _) = town.arrive("resident", "house", "resident");
        town.download("resident", 300_000).unwrap();
        // Strangers who connect and say nothing, or something else.
        town.world
            .within("hostile", || {
                let connect = || TcpStream::connect_timeout(&ACCESS_POINT, Duration::from_millis(200));
                let mut strangers: Vec<_> = (0..6).filter_map(|_| connect().ok()).collect();
                for stranger in strangers.iter_mut().skip(3) {
                    let _ = stranger.write_all(b"GET / HTTP/1.1\r\n\r\n");
                }
            })
            .unwrap();
        town.leave(visit);
        visits += 1;
        if sizes.last().is_none_or(|(at, _): &(Duration, _)| began.elapsed() - *at > Duration::from_secs(20))
        {
            sizes.push((began.elapsed(), [size(&ap), size(&home)]));
        }
    }
    for (which, name) in ["the access point", "the home"].into_iter().enumerate() {
        let quarter = |number: u32| {
            let in_it = |at: Duration| at >= span / 4 * (number - 1) && at < span / 4 * number;
            let of = sizes.iter().filter(|(at, _)| in_it(*at)).map(|(_, sizes)| sizes[which]);
            let sizes: Vec<Size> = of.collect();
            let memory = sizes.iter().map(|size| size.memory).max().unwrap();
            Size { memory, descriptors: sizes.iter().map(|size| size.descriptors).max().unwrap() }
        };
        let (before, after) = (quarter(2), quarter(4));
        println!("{name} after {visits} visits: {before:?}, then {after:?}");
        assert!(after.memory <= before.memory + MEMORY_SLACK, "{name} grows: {before:?}, {after:?}");
        assert!(after.descriptors <= before.descriptors + DESCRIPTORS_SLACK, "{name}: {before:?}, {after:?}");
    }
}
