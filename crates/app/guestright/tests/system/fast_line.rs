//! What a guest of another team gets of a fast line, beside a member of the own team, who may leave any amount unsigned.

use crate::town::services::AccessLog;
use crate::town::{Rules, Town, WEB, inside};
use std::time::Instant;

const ROUNDS: usize = 3;
/// The first download and the later one, in bytes: while what may be unsigned still grows with what is signed, and after.
const DOWNLOADS: [(&str, usize); 2] = [("first", 60_000_000), ("later", 100_000_000)];

#[test]
#[ignore = "a measurement, of the line's rate at which nothing is asserted"]
fn a_guest_on_a_fast_line() {
    if !inside("fast_line::a_guest_on_a_fast_line") {
        return;
    }
    let town = Town::build(Rules { log: "warn", ..Rules::default() });
    town.serve_tcp("net", WEB, &AccessLog::default());
    // Who comes again without giving is of the class high; who comes for the first time, of the lowest.
    let home = "key = \"home.key\"\ncertificate = \"home.cert\"\nstate = \"home-state\"\n[policy]\n\
                kind = \"quota\"\nquota_bytes = 0\n";
    std::fs::write(town.path("house/home.toml"), home).unwrap();
    let _running = town.open();
    let (first, _) = town.arrive("member", "guests", "member");
    town.download("member", 100_000).unwrap();
    town.leave(first);
    let mut rates = std::collections::BTreeMap::<_, Vec<f64>>::new();
    for _ in 0..ROUNDS {
        for (host, team) in [("resident", "house"), ("member", "guests")] {
            let (visit, class) = town.arrive(host, team, host);
            assert!(class == "high" || class == "own", "{host}: {class}");
            for (which, bytes) in DOWNLOADS {
                let began = Instant::now();
                town.download(host, bytes).unwrap();
                let rate = bytes as f64 * 8.0 / began.elapsed().as_secs_f64() / 1e6;
                rates.entry((which, host)).or_default().push(rate);
            }
            let ended = town.leave(visit);
            let (signed, wanted) = (ended["signed"].as_u64().unwrap(), 160_000_000);
            println!("{host}: signed for {:.3} of what it received", signed as f64 / f64::from(wanted));
        }
    }
    for ((which, host), mut rates) in rates {
        rates.sort_by(f64::total_cmp);
        let (median, low, high) = (rates[ROUNDS / 2], rates[0], rates[ROUNDS - 1]);
        println!("{which} download, {host}: {median:.0} Mbit/s ({low:.0} to {high:.0}) of 200");
    }
}
