//! What will be done, what was done, and what the person should know.

use guestright_cli::failure::Outcome;
use guestright_cli::output::Output;
use guestright_household::Setup;
use guestright_setup::{Choices, Plan};
use guestright_system::{Done, Outcome as Applied};
use serde_json::{Value, json};

pub(super) fn plan(setup: &Setup, json: bool, out: &mut Output) -> Outcome {
    let Setup { plan, choices, .. } = setup;
    if json {
        let steps: Vec<_> =
            plan.steps.iter().map(|step| json!({ "says": step.says, "back": step.back })).collect();
        let answer =
            json!({ "state": "planned", "steps": steps, "notes": plan.notes, "choices": summary(choices) });
        return Ok(writeln!(out, "{answer}")?);
    }
    writeln!(
        out,
        "guests arrive at {}, have addresses in {}, and leave by {}\n",
        arrivals(choices).join(", "),
        choices.network,
        choices.uplink
    )?;
    for (number, step) in plan.steps.iter().enumerate() {
        writeln!(out, "{:>3}. {}", number + 1, step.says)?;
        writeln!(out, "     --undo: {}", step.back)?;
    }
    notes(plan, out)
}

pub(super) fn done(setup: &Setup, applied: &Applied, json: bool, out: &mut Output) -> Outcome {
    let Setup { plan, choices, .. } = setup;
    let state = if applied.changed() == 0 { "unchanged" } else { "done" };
    if json {
        let step = |(step, done): (&guestright_setup::Step, &Done)| json!({ "says": step.says, "done": word(*done) });
        let steps: Vec<_> = plan.steps.iter().zip(&applied.steps).map(step).collect();
        let answer =
            json!({ "state": state, "steps": steps, "notes": plan.notes, "choices": summary(choices) });
        return Ok(writeln!(out, "{answer}")?);
    }
    for (step, done) in plan.steps.iter().zip(&applied.steps) {
        match done {
            Done::Changed => writeln!(out, "done: {}", step.says)?,
            Done::Edited => writeln!(out, "left as you changed it: {}", step.says)?,
            Done::AlreadySo => {}
        }
    }
    if applied.changed() == 0 {
        return Ok(writeln!(out, "nothing to do: everything is set up")?);
    }
    notes(plan, out)?;
    writeln!(
        out,
        "\nthis computer serves guests. Who is there: guestright ap status --config /etc/guestright/ap.toml"
    )?;
    Ok(())
}

fn word(done: Done) -> &'static str {
    match done {
        Done::Changed => "changed",
        Done::AlreadySo => "already so",
        Done::Edited => "edited",
    }
}

fn notes(plan: &Plan, out: &mut Output) -> Outcome {
    if !plan.notes.is_empty() {
        writeln!(out)?;
    }
    for note in &plan.notes {
        writeln!(out, "note: {note}")?;
    }
    Ok(())
}

pub(super) fn undone(lines: &[String], json: bool, out: &mut Output) -> Outcome {
    if json {
        return Ok(writeln!(out, "{}", json!({ "state": "undone", "steps": lines }))?);
    }
    for line in lines {
        writeln!(out, "{line}")?;
    }
    Ok(writeln!(out, "this computer is as it was before setup")?)
}

pub(super) fn nothing_to_undo(json: bool, out: &mut Output) -> Outcome {
    if json {
        return Ok(writeln!(out, "{}", json!({ "state": "unchanged", "steps": [] }))?);
    }
    Ok(writeln!(out, "nothing to do: setup has left nothing on this computer")?)
}

fn arrivals(choices: &Choices) -> Vec<String> {
    let wifi = choices.wifi.iter().map(|wifi| format!("the Wi-Fi {:?} of {}", wifi.ssid, wifi.interface));
    let tag = choices.vlan.map_or_else(String::new, |id| format!(" (VLAN {id})"));
    choices.ports.iter().map(|port| format!("{port}{tag}")).chain(wifi).collect()
}

fn summary(choices: &Choices) -> Value {
    json!({
        "uplink": choices.uplink, "ports": choices.ports, "vlan": choices.vlan, "bridge": choices.bridge,
        "network": choices.network.to_string(), "address": choices.address(),
        "wifi": choices.wifi.as_ref().map(|wifi| json!({ "interface": wifi.interface, "ssid": wifi.ssid,
            "channel": wifi.channel, "country": wifi.country })),
        "gateway": choices.gateway_endpoint(),
    })
}
