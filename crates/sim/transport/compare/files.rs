//! What `path.tcl` reads.

use super::scenario::Load;
use guestright_transport::Workload;
use std::fmt::Write;

/// The name of the folder with the files of a load.
pub(crate) fn folder(load: &Load) -> String {
    format!("{}-{}-{}-{}", load.flows, load.bulk, load.per_million, load.seed)
}

/// Names of files and what is in them.
///
/// # Errors
///
/// If the load cannot be drawn.
pub(crate) fn files(load: &Load) -> Result<[(&'static str, String); 3], String> {
    let drawn = load.draw()?;
    let workload = Workload::of_flows(&drawn.arrivals).ok_or("too many arrivals for a file")?;
    let mut errors = String::new();
    for (flow, ways) in drawn.errors.iter().enumerate() {
        for (way, numbers) in ways.iter().enumerate() {
            let numbers: Vec<String> = numbers.iter().map(u64::to_string).collect();
            writeln!(errors, "{flow} {way} {}", numbers.join(" ")).map_err(|error| error.to_string())?;
        }
    }
    let mut starts = String::new();
    for at in drawn.starts {
        writeln!(starts, "{}.{:09}", at.0 / 1_000_000_000, at.0 % 1_000_000_000)
            .map_err(|error| error.to_string())?;
    }
    Ok([("arrivals", workload.emit()), ("errors", errors), ("bulk", starts)])
}
