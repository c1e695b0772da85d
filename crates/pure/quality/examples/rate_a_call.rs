//! Rates calls by the E-model, from what is known of each: the codec, the loss, and the delay from mouth to ear.
//!
//! `cargo run -p guestright-quality --example rate_a_call`

#![expect(clippy::print_stdout, reason = "what it prints is its output")]

use std::error::Error;

use guestright_quality::{Codec, Inputs, Interval, Judge, Measured, rate};

fn main() -> Result<(), Box<dyn Error>> {
    print!("{}", run()?);
    Ok(())
}

fn run() -> Result<String, Box<dyn Error>> {
    // The formula itself: a delay in milliseconds, a loss from 0 to 1, and a codec's published factors.
    let mut output = String::from("codec     loss   delay      R   MOS  users\n");
    for (codec, loss, delay_ms) in [
        (Codec::G711u, 0.0, 50.0),
        (Codec::G711uPlc, 0.02, 150.0),
        (Codec::G729a, 0.02, 150.0),
        (Codec::G729a, 0.05, 400.0),
    ] {
        let facts = codec.facts();
        let (ie, bpl) = facts.ie.zip(facts.bpl).ok_or("nobody has published this codec's factors")?;
        let rating = rate(Inputs::voip(delay_ms, loss, ie.value, bpl.value, 1.0))?;
        output += &format!(
            "{:<8} {:>3.0} %  {delay_ms:>3.0} ms  {:>5.1}  {:>4.2}  {}\n",
            facts.name,
            100.0 * loss,
            rating.r,
            rating.mos,
            rating.satisfaction()
        );
    }

    // A measurement is never exact: two clocks agree within 10 ms, and the receiver's buffer drops 1 % more.
    let judge = Judge { packet_ms: 20.0, playout_ms: 40.0, ..Judge::paper_a(Codec::G711uPlc) };
    let measured = Measured {
        network_loss: Some(0.01),
        dejitter_loss: 0.01,
        burst_ratio: None,
        network_delay_ms: Some(Interval::around(60.0, 10.0)),
        delay_assumed: false,
    };
    let opinion = judge.judge(&measured).conversation?;
    output += &format!("measured: R {:.1}, MOS {:.2}\n", opinion.r, opinion.mos);

    // What cannot be known has a reason in its place, not a number.
    let one_sided = Measured { network_delay_ms: None, ..measured };
    let unknown = judge.judge(&one_sided).conversation.err().ok_or("without a delay there is no rating")?;
    output += &format!("unknown: {unknown}\n");
    Ok(output)
}

#[cfg(test)]
mod tests {
    const OUTPUT: &str = "\
codec     loss   delay      R   MOS  users
g711u      0 %   50 ms   91.8  4.38  very satisfied
g711u-plc   2 %  150 ms   82.5  4.12  satisfied
g729a      2 %  150 ms   70.5  3.62  some users satisfied
g729a      5 %  400 ms   33.7  1.77  not recommended
measured: R 83.1 to 83.5, MOS 4.14 to 4.15
unknown: the one-way delay is not known: one side's packets do not tell it. Measure it with both clocks, or state it
";

    #[test]
    fn rates_what_is_known_and_says_what_is_not() {
        assert_eq!(super::run().unwrap(), OUTPUT);
    }
}
