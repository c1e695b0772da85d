//! What the crates that end up in our programs are licensed under.

mod expression;

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use anyhow::{Context as _, Result};
use serde_json::Value;

use crate::steps;
use crate::workspace::array;

/// SPDX names of what may be linked into a program that is itself under MIT or Apache-2.0.
const ALLOWED: [&str; 14] = [
    "0BSD",
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "BSL-1.0",
    "CC0-1.0",
    "CDLA-Permissive-2.0",
    "ISC",
    "MIT",
    "MPL-2.0",
    "Unicode-3.0",
    "Unlicense",
    "Zlib",
];

/// What `cargo metadata` says, by package id.
struct Graph<'a> {
    packages: BTreeMap<&'a str, &'a Value>,
    /// Without what only tests need.
    needs: BTreeMap<&'a str, Vec<&'a str>>,
    members: Vec<&'a str>,
}

pub(crate) fn run() -> Result<()> {
    let mut arguments = vec!["metadata", "--format-version", "1", "--all-features"];
    if steps::is_ci() {
        arguments.push("--locked");
    }
    let text = steps::output(&mut steps::cargo(&arguments))?;
    let metadata = serde_json::from_str(&text).context("parse `cargo metadata`")?;
    let graph = Graph::read(&metadata).context("`cargo metadata` lacks a field")?;
    let reached = graph.reach();
    let mut problems = Vec::new();
    for (id, needed_by) in &reached {
        let package = graph.packages.get(id).with_context(|| format!("no package {id}"))?;
        let Err(why) = check(package) else { continue };
        let chain = chain(&graph, &reached, needed_by.unwrap_or(id));
        problems.push(format!("{}: {why}; needed by {chain}", name(package)));
    }
    steps::report("licences", &format!("{} crates", reached.len()), &problems)
}

impl<'a> Graph<'a> {
    fn read(metadata: &'a Value) -> Option<Self> {
        let packages = array(&metadata["packages"]).iter();
        let nodes = array(&metadata["resolve"]["nodes"]).iter();
        let members = array(&metadata["workspace_members"]).iter();
        Some(Self {
            packages: packages
                .map(|package| Some((package["id"].as_str()?, package)))
                .collect::<Option<_>>()?,
            needs: nodes
                .map(|node| {
                    let linked = array(&node["deps"]).iter().filter(|dependency| is_linked(dependency));
                    let ids = linked.map(|dependency| dependency["pkg"].as_str()).collect::<Option<_>>()?;
                    Some((node["id"].as_str()?, ids))
                })
                .collect::<Option<_>>()?,
            members: members.map(Value::as_str).collect::<Option<_>>()?,
        })
    }

    /// Every package that a member needs, with the one through which we first came to it.
    fn reach(&self) -> BTreeMap<&'a str, Option<&'a str>> {
        let mut reached: BTreeMap<_, _> = self.members.iter().map(|id| (*id, None)).collect();
        let mut queue: VecDeque<_> = self.members.iter().copied().collect();
        while let Some(id) = queue.pop_front() {
            for needed in self.needs.get(id).into_iter().flatten() {
                if !reached.contains_key(needed) {
                    reached.insert(needed, Some(id));
                    queue.push_back(needed);
                }
            }
        }
        reached
    }
}

fn is_linked(dependency: &Value) -> bool {
    array(&dependency["dep_kinds"]).iter().any(|kind| kind["kind"] != "dev")
}

fn check(package: &Value) -> Result<(), String> {
    let Some(licence) = package["license"].as_str() else {
        return Err("says no licence that we can read".to_owned());
    };
    match expression::is_allowed(licence, &BTreeSet::from(ALLOWED)) {
        Ok(true) => Ok(()),
        Ok(false) => Err(format!("`{licence}` is not on our list")),
        Err(error) => Err(format!("`{licence}` cannot be read: {error}")),
    }
}

/// From the one that needs it up to one of ours.
fn chain<'a>(graph: &Graph<'a>, reached: &BTreeMap<&'a str, Option<&'a str>>, from: &'a str) -> String {
    let up = std::iter::successors(Some(from), |id| reached.get(id).copied().flatten());
    let names = up.filter_map(|id| graph.packages.get(id)).map(|package| name(package));
    names.collect::<Vec<_>>().join(" <- ")
}

fn name(package: &Value) -> String {
    let word = |field: &str| package[field].as_str().unwrap_or("?").to_owned();
    format!("{} {}", word("name"), word("version"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn says_who_needs_what_we_cannot_link() {
        let metadata = serde_json::json!({
            "workspace_members": ["ours"],
            "packages": [
                { "id": "ours", "name": "ours", "version": "1", "license": "MIT" },
                { "id": "mid", "name": "mid", "version": "2", "license": "MIT/Apache-2.0" },
                { "id": "bad", "name": "bad", "version": "3", "license": "GPL-3.0-only" },
                { "id": "test", "name": "test", "version": "4", "license": "GPL-3.0-only" },
            ],
            "resolve": { "nodes": [
                { "id": "ours", "deps": [
                    { "pkg": "mid", "dep_kinds": [{ "kind": null }] },
                    { "pkg": "test", "dep_kinds": [{ "kind": "dev" }] },
                ] },
                { "id": "mid", "deps": [{ "pkg": "bad", "dep_kinds": [{ "kind": "dev" }, { "kind": "build" }] }] },
            ] },
        });
        let graph = Graph::read(&metadata).expect("complete metadata");
        let reached = graph.reach();
        assert_eq!(reached.keys().copied().collect::<Vec<_>>(), ["bad", "mid", "ours"]);
        assert_eq!(check(graph.packages["mid"]), Ok(()));
        assert!(check(graph.packages["bad"]).is_err());
        assert_eq!(chain(&graph, &reached, "mid"), "mid 2 <- ours 1");
    }
}
