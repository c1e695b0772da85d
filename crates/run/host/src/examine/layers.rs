//! Which layers of an access point's firewall this computer can have (design note 0009).
//!
//! They are put in force for real, by this program started again in a sandbox, whose network ends with it.

use super::Finding;
use guestright_error::RunError;
use guestright_firewall::{Trial, try_layers};
use guestright_netns::{Mode, Sandbox};
use serde_json::{Value, json};
use std::process::Stdio;

/// A layer as the trial's JSON names it, and what is said of it.
struct Layer {
    name: &'static str,
    what: &'static str,
    /// Whether there is no access point without it.
    needed: bool,
    says: &'static str,
    to_do: &'static str,
}

const LAYERS: [Layer; 4] = [
    Layer {
        name: "leases",
        what: "layer: grants that end",
        needed: true,
        says: "a grant that nobody renewed was gone in time",
        to_do: "an access point needs nftables with timeouts: a kernel that has them",
    },
    Layer {
        name: "routing",
        what: "layer: policy routing",
        needed: true,
        says: "what is not granted was not routed on",
        to_do: "an access point needs policy routing: a kernel with CONFIG_IP_MULTIPLE_TABLES",
    },
    Layer {
        name: "static_filter",
        what: "layer: static filter",
        needed: false,
        says: "the kernel took it (cls_bpf)",
        to_do: "install the kernel's cls_bpf (OpenWrt: kmod-sched-bpf); until then nothing but nftables guards the \
                router's own ports",
    },
    Layer {
        name: "owned_table",
        what: "layer: owned table",
        needed: false,
        says: "nobody else can flush our nftables table",
        to_do: "it needs Linux 6.9; until then a flushed table is put back within half a second",
    },
];

/// Inside the sandbox: tries them, and gives for each the reason why not.
///
/// # Errors
/// The sandbox cannot be filled, or nothing of the firewall can be tried in it.
pub fn try_out() -> Result<Value, RunError> {
    Sandbox::prepare().map_err(RunError::network)?;
    let trial = try_layers("/run/trial.json".as_ref()).map_err(RunError::network)?;
    let Trial { leases, routing, static_filter, owned_table } = trial;
    Ok(json!({ "leases": leases, "routing": routing, "static_filter": static_filter,
        "owned_table": owned_table }))
}

/// What is to be said of each layer, where sandboxes of this mode work. `trial` are the words with which this program prints
/// what [`try_out`] gives.
pub fn findings(mode: Option<Mode>, trial: &[&str]) -> Vec<Finding> {
    let Some(mode) = mode else {
        // Nobody knows, so nothing is missing.
        let says = "it was not tried: there is no sandbox to try it in";
        let to_do = "run as root, or let this computer make user namespaces";
        let untried = |Layer { what, .. }: Layer| Finding {
            what,
            good: false,
            needed: false,
            says: says.to_owned(),
            to_do: to_do.into(),
        };
        return LAYERS.into_iter().map(untried).collect();
    };
    let reasons = ask(mode, trial);
    LAYERS.into_iter().map(|layer| layer.finding(&reasons)).collect()
}

fn ask(mode: Mode, trial: &[&str]) -> Result<Value, RunError> {
    let ask = || {
        let program = std::env::current_exe()?;
        Sandbox::command(mode, &program, trial).stdin(Stdio::null()).output()
    };
    let output = ask().map_err(RunError::network)?;
    if !output.status.success() {
        let words = String::from_utf8_lossy(&output.stderr);
        let words = words.lines().next().unwrap_or("the trial said nothing");
        return Err(RunError::network(words.trim_start_matches("guestright: ").to_owned()));
    }
    serde_json::from_slice(&output.stdout).map_err(RunError::bug)
}

impl Layer {
    fn finding(self, reasons: &Result<Value, RunError>) -> Finding {
        let Self { name, what, needed, says, to_do } = self;
        let why_not = match reasons {
            Ok(reasons) if reasons[name].is_null() => None,
            Ok(reasons) => Some(reasons[name].as_str().unwrap_or_default().to_owned()),
            Err(error) => Some(error.to_string()),
        };
        let good = why_not.is_none();
        Finding { what, good, needed, says: why_not.unwrap_or_else(|| says.to_owned()), to_do: to_do.into() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_layer_that_this_computer_lacks_is_told_with_its_reason() {
        let reasons = Ok(
            json!({ "leases": null, "routing": null, "static_filter": "no cls_bpf", "owned_table": null }),
        );
        let found: Vec<_> = LAYERS.into_iter().map(|layer| layer.finding(&reasons)).collect();
        assert_eq!(found.iter().map(|finding| finding.good).collect::<Vec<_>>(), [true, true, false, true]);
        assert_eq!(found[2].says, "no cls_bpf");
    }

    #[test]
    fn a_trial_that_fails_says_why_of_each_layer() {
        let found: Vec<_> = LAYERS
            .into_iter()
            .map(|layer| layer.finding(&Err(RunError::network("nft is missing"))))
            .collect();
        assert!(found.iter().all(|finding| !finding.good && finding.says == "nft is missing"));
    }
}
