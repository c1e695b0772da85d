//! What the demo found, as a table.

use guestright_cli::failure::Outcome;
use guestright_cli::output::Output;
use guestright_demo::report::{Account, Check, Report, Voice};

pub(super) fn print(report: &Report, out: &mut Output) -> Outcome {
    writeln!(out, "\nWhat was carried, signed for and counted, in bytes:\n")?;
    let heads = ["access point", "receipt", "visitor"];
    writeln!(
        out,
        "  {:<22} {:<8} {:>13} {:>13} {:>13}  differ",
        "session", "class", heads[0], heads[1], heads[2]
    )?;
    for account in &report.accounts {
        let Account { who, class, carried, signed, counted } = account;
        let percent = account.difference() * 100.0;
        writeln!(out, "  {who:<22} {class:<8} {carried:>13} {signed:>13} {counted:>13}  {percent:.3} %")?;
    }
    if !report.voices.is_empty() {
        print_voices(report, out)?;
    }
    writeln!(out, "\nWhat this shows:\n")?;
    for Check { claim, holds, seen } in &report.checks {
        writeln!(out, "  {}  {claim}\n        {seen}", if *holds { "yes" } else { "NO " })?;
    }
    let failed = report.checks.iter().filter(|check| !check.holds).count();
    let verdict = match failed {
        0 => "everything holds".to_owned(),
        some => format!("{some} of {} DO NOT HOLD", report.checks.len()),
    };
    Ok(writeln!(out, "\nVerdict: {verdict}, in {:.0} s", report.seconds)?)
}

fn print_voices(report: &Report, out: &mut Output) -> Outcome {
    writeln!(out, "\nHow the call was, by ITU-T G.107:\n")?;
    let heads = ["packets", "not played", "jitter ms", "delay ms", "R", "MOS", "by capture"];
    write!(out, "  {:<12}", "who")?;
    heads.iter().try_for_each(|head| write!(out, " {head:>10}"))?;
    writeln!(out)?;
    for voice in &report.voices {
        let Voice { who, packets, loss, jitter_ms, delay_ms, r, mos, mos_by_capture, .. } = voice;
        let loss = format!("{:.2} %", loss * 100.0);
        writeln!(
            out,
            "  {who:<12} {packets:>10} {loss:>10} {jitter_ms:>10.2} {delay_ms:>10.2} {r:>10.1} {mos:>10.2} \
             {mos_by_capture:>10.2}"
        )?;
    }
    Ok(())
}
