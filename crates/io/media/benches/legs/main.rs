//! How many calls' media one core carries, and how good they are.
//!
//! A leg is one call: a side that carries G.711 as a softphone sends it, and a protected side, 50 packets a second in
//! both directions. The relay is on one core; the calls' ends are all in this program's main thread on another one. Each
//! packet's delay is measured from before it was sent until it was received; its fate in a dejitter buffer of fixed
//! length, loss and mean delay give each direction of each leg a mean opinion score by ITU-T G.107. A number of legs
//! counts if the worst direction of the worst leg has at least 4.0.
//!
//! Arguments: `--kind srtp-gcm|srtp-sha1|opaque|rtpengine`, `--repetitions N`, `--seconds N`, `--legs N` (only this
//! many, no search).
#![expect(clippy::print_stdout, reason = "a benchmark reports")]

mod ends;
mod kinds;
mod mmsg;
mod peer;
mod score;
mod search;

use kinds::Kind;
use search::Plan;

fn main() {
    let mut plan = Plan::default();
    let mut kinds = Vec::new();
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        let mut number = || arguments.next().and_then(|text| text.parse::<u32>().ok());
        match argument.as_str() {
            "--repetitions" => plan.repetitions = number().expect("--repetitions N"),
            "--seconds" => plan.seconds = number().expect("--seconds N").max(2),
            "--legs" => plan.legs = Some(number().expect("--legs N")),
            "--kind" => {
                let name = arguments.next().unwrap_or_default();
                kinds.push(Kind::named(&name).expect("--kind srtp-gcm, srtp-sha1, opaque or rtpengine"));
            }
            // Cargo's, and filters that are meant for others.
            _ => {}
        }
    }
    if kinds.is_empty() {
        kinds = Kind::ALL.to_vec();
    }
    println!("legs: G.711, 20 ms, both ways; MOS by G.107 with loss concealment and 60 ms of playout");
    println!("relay on one core, all ends on another; {} s for each number\n", plan.seconds);
    search::hurry();
    let mut reached = Vec::new();
    for kind in kinds {
        if kind == Kind::Rtpengine && !peer::is_installed() {
            println!("{kind}: rtpengine is not installed (Debian: rtpengine-daemon), so there is no peer\n");
            continue;
        }
        reached.push((kind, search::run(kind, &plan)));
    }
    if plan.legs.is_none() {
        search::summary(&reached);
    }
}
