//! What the page takes of its home, measured for people.

use super::{ANSWER_MAX, request};
use crate::attacks::ticks;
use crate::town::services::AccessLog;
use crate::town::{Rules, Town, WEB, inside};
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

/// So long each of the three is looked at.
const SPAN: Duration = Duration::from_secs(30);

/// A stream of overviews, as a page that is open has it.
fn watch(town: &Town) -> BufReader<UnixStream> {
    let mut stream = UnixStream::connect(town.path("house/home-state/page.sock")).unwrap();
    stream.set_read_timeout(Some(ANSWER_MAX)).unwrap();
    stream.write_all(request("GET", "/v1/events", "localhost", &[], "").as_bytes()).unwrap();
    BufReader::new(stream)
}

#[test]
#[ignore = "a measurement of a minute and a half"]
fn what_a_page_costs_that_is_watched() {
    if !inside("page::cost::what_a_page_costs_that_is_watched") {
        return;
    }
    let town = Town::build(Rules::default());
    town.serve_tcp("net", WEB, &AccessLog::default());
    let (home, _ap) = town.open();
    let (_visit, _) = town.arrive("member", "guests", "member");
    let measure = |what: &str, watching: Option<&mut BufReader<UnixStream>>| {
        let (began, cpu) = (Instant::now(), ticks(home.pid()));
        let mut overviews = 0;
        match watching {
            Some(stream) => {
                while began.elapsed() < SPAN {
                    let mut line = String::new();
                    stream.read_line(&mut line).unwrap();
                    overviews += u32::from(line.contains("data:"));
                }
            }
            None => std::thread::sleep(SPAN),
        }
        let share = (ticks(home.pid()) - cpu) as f64 / began.elapsed().as_secs_f64();
        let memory = home.memory_kib("VmRSS");
        println!("{what}: {share:.2} % of a core, {memory} KiB resident, {overviews} overviews");
        (share, overviews)
    };
    measure("nobody has looked", None);
    let mut stream = watch(&town);
    let (_, overviews) = measure("somebody looks", Some(&mut stream));
    assert!(overviews >= 5, "{overviews}");
    drop(stream);
    measure("nobody looks any more", None);
}
