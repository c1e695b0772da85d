//! A household has a handful of receipts, and four teams ask it for service. Whom does it serve, how well, and why?
//!
//! `cargo run -p guestright-reciprocity --example whom_to_serve`

#![expect(clippy::print_stdout, reason = "what it prints is its output")]

use std::collections::BTreeMap;

use guestright_reciprocity::{Graph, Judge, JudgeConfig, Request, Scratch, StrangerConfig, StrangerCounters};
use guestright_units::{Bytes, TeamId};
use rand::SeedableRng;
use rand::rngs::StdRng;

const MB: u64 = 1_000_000;

fn main() {
    print!("{}", run());
}

fn run() -> String {
    // A team is named by a digest of its key; here by a number.
    let [us, ann, bob, cem, dee] = [0, 1, 2, 3, 4].map(|number| TeamId([number; 24]));
    let names =
        BTreeMap::from([(us, "our household"), (ann, "Ann"), (bob, "Bob"), (cem, "Cem"), (dee, "Dee")]);

    // Receipts: who took, from whom, how much. Ann served us; Bob served only Ann, so we owe him through her.
    let graph = Graph::from_edges([
        (us, ann, Bytes(120 * MB)),
        (ann, bob, Bytes(50 * MB)),
        (bob, us, Bytes(40 * MB)),
        (cem, us, Bytes(80 * MB)),
    ]);

    // Above this much credit of its own the household does not serve every stranger any more.
    let strangers = StrangerConfig { bootstrap_target: Bytes(100 * MB), ..StrangerConfig::default() };
    let judge = Judge::new(JudgeConfig { strangers, ..JudgeConfig::default() }, StrangerCounters::default());

    // Chance is drawn for strangers only. The same each time here, so that the output is the same.
    let mut rng = StdRng::seed_from_u64(1);
    let mut scratch = Scratch::new();
    let mut output = String::new();
    for consumer in [ann, bob, cem, dee] {
        let request = Request { provider: us, consumer, bytes: Bytes(20 * MB) };
        let explanation = judge.explain(&graph, &mut scratch, request, &mut rng);
        output += &format!("{} asks for {}.\n", names[&consumer], request.bytes);
        for line in explanation.lines(|team| names[&team].to_owned()) {
            output += &format!("  {line}\n");
        }
    }
    output
}

#[cfg(test)]
mod tests {
    const OUTPUT: &str = "\
Ann asks for 20.0 MB.
  Served in the high class: directly and through others this household owes the team at least 60.0 MB and the team owes 40.0 MB here, before the 20.0 MB it asks for; in all it gave 120 MB and took 50.0 MB (ratio 1.000).
  our household owes Ann:
      60.0 MB  our household -> Ann
  Ann owes our household:
      40.0 MB  Ann -> Bob -> our household
Bob asks for 20.0 MB.
  Served in the high class: directly and through others this household owes the team 50.0 MB and the team owes 40.0 MB here, before the 20.0 MB it asks for; in all it gave 50.0 MB and took 40.0 MB (ratio 0.833).
  our household owes Bob:
      50.0 MB  our household -> Ann -> Bob
  Bob owes our household:
      40.0 MB  Bob -> our household
Cem asks for 20.0 MB.
  Refused: this team took 80.0 MB from others, and no receipt says that it ever gave anything (ratio 0.000); it earns service by serving others at home, or by showing receipts not yet seen here.
  our household owes Cem nothing that counted.
  Cem owes our household:
      80.0 MB  Cem -> our household
Dee asks for 20.0 MB.
  Refused: nothing connects the two teams yet, and strangers are served here with probability 0.500; try again later, or show receipts for service that the team gave.
  our household owes Dee nothing that counted.
  Dee owes our household nothing that counted.
";

    #[test]
    fn who_gave_is_served_and_who_only_took_is_not() {
        assert_eq!(super::run(), OUTPUT);
    }
}
