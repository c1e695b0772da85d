//! Taking back what was done.

use crate::executor::{Executor, Stop, go_on};
use crate::journal::Record;
use crate::path_state::{PathState, beside, remove};
use crate::users::under;
use crate::{SystemError, links, services, users};
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

pub(crate) fn run(executor: Executor, stop: Stop<'_>) -> Result<Vec<String>, SystemError> {
    let Executor { root, journal } = executor;
    let mut says = Vec::new();
    let mut reloads = BTreeSet::new();
    for record in journal.records().iter().rev() {
        go_on(stop)?;
        if let Record::Reload { what } = record {
            reloads.insert(what.clone()); // Only when all files are back.
        }
        says.extend(take_back(&root, record)?);
    }
    for what in &reloads {
        go_on(stop)?;
        links::reload(what);
    }
    go_on(stop)?;
    journal.remove()?;
    Ok(says)
}

fn take_back(root: &Path, record: &Record) -> Result<Option<String>, SystemError> {
    Ok(Some(match record {
        Record::Path { path, before } => {
            let real = under(root, path);
            remove(&beside(&real))?;
            if PathState::read(&real)? == *before {
                return Ok(None);
            }
            put_back(&real, before)?;
            let verb = if *before == PathState::Absent { "removed" } else { "put back" };
            format!("{verb} {}", path.display())
        }
        Record::Parent { path } => {
            // Somebody else may have put something there since: then it stays.
            let _ = fs::remove_dir(under(root, path));
            return Ok(None);
        }
        Record::User { backups } => {
            users::remove(root, backups)?;
            "removed the user guestright".to_owned()
        }
        Record::Link { name } => {
            links::remove_link(name)?;
            format!("removed {name}")
        }
        Record::Port { interface, bridge, was_up } => {
            links::restore_port(interface, bridge.as_deref(), *was_up)?;
            format!("left {interface} as it was")
        }
        Record::Address { interface, address, prefix } => {
            links::remove_address(interface, *address, *prefix)?;
            format!("took {address}/{prefix} from {interface}")
        }
        Record::Service { unit, by_systemd, command, clean_up } => {
            services::stop(unit, *by_systemd, command, clean_up.as_deref())?;
            format!("stopped {unit}")
        }
        Record::Begun { .. } | Record::Finished | Record::Reload { .. } => return Ok(None),
    }))
}

/// Whatever is there goes, unless it is a directory that was one before.
fn put_back(path: &Path, before: &PathState) -> Result<(), SystemError> {
    let is_directory = |state: &PathState| matches!(state, PathState::Directory { .. });
    if is_directory(&PathState::read(path)?) && !is_directory(before) {
        remove(path)?;
    }
    before.write(path)
}
