//! Doing the steps of a plan.

use crate::journal::{Journal, Record};
use crate::path_state::{Access, PathState, beside, remove, set_access, sync_parent};
use crate::users::under;
use crate::{SystemError, links, services, undo, users};
use guestright_setup::{Change, Owner, Port, Reload, Service, Step, TeamWork, paths};
use std::fs;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

/// What became of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Done {
    /// It was done now.
    Changed,
    /// There was nothing to do.
    AlreadySo,
    /// Somebody has changed it since setup was finished, and it stays so.
    Edited,
}

/// What became of all steps, in their order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    pub steps: Vec<Done>,
}

impl Outcome {
    /// How many steps changed something.
    #[must_use]
    pub fn changed(&self) -> usize {
        self.steps.iter().filter(|done| **done == Done::Changed).count()
    }
}

/// Who owns what is made: the numbers of root, and of the user that the programs run as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Owners {
    /// User and group, or nothing where the programs run as root.
    pub guestright: Option<(u32, u32)>,
}

/// Makes keys and certificates: the one thing that a caller does.
pub trait Maker {
    /// Fills an empty directory. It takes its place when this has returned, or not at all.
    ///
    /// # Errors
    /// A sentence for the person.
    fn make(&mut self, work: &TeamWork, directory: &Path, owners: Owners) -> Result<(), String>;
}

/// Does the steps of a plan, and takes them back.
///
/// ```no_run
/// # fn run(steps: &[guestright_setup::Step], maker: &mut dyn guestright_system::Maker)
/// #     -> Result<(), guestright_system::SystemError> {
/// let mut executor = guestright_system::Executor::begin("/".as_ref(), "answers")?;
/// executor.apply(steps, maker, &mut || false)?;
/// drop(executor);
/// if let Some(executor) = guestright_system::Executor::open("/".as_ref())? {
///     executor.undo(&mut || false)?;
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Executor {
    pub(crate) root: PathBuf,
    pub(crate) journal: Journal,
}

/// Asked before everything that is noted, changed or put back; yes ends the work with [`SystemError::Stopped`].
pub(crate) type Stop<'a> = &'a mut dyn FnMut() -> bool;

pub(crate) fn go_on(stop: Stop<'_>) -> Result<(), SystemError> {
    if stop() { Err(SystemError::Stopped) } else { Ok(()) }
}

impl Executor {
    /// Begins, or goes on. `root` is where files are; links and programs are always the computer's. `answers` is kept for
    /// [`Executor::answers`], unless a setup has begun already.
    ///
    /// # Errors
    /// The journal cannot be written, or another process has it.
    pub fn begin(root: &Path, answers: &str) -> Result<Self, SystemError> {
        Ok(Self { root: root.to_owned(), journal: Journal::begin(root, answers)? })
    }

    /// What an earlier setup left; nothing if there was none.
    ///
    /// # Errors
    /// The journal cannot be read, or another process has it.
    pub fn open(root: &Path) -> Result<Option<Self>, SystemError> {
        let journal = Journal::open(root)?;
        if journal.is_none() {
            // Ended before its first line: there is nothing but the empty directory.
            let directory = root.join(crate::journal::DIRECTORY);
            if directory.is_dir() {
                remove(&directory)?;
            }
        }
        Ok(journal.map(|journal| Self { root: root.to_owned(), journal }))
    }

    /// What it was begun with; nothing if it was ended before it could note that.
    #[must_use]
    pub fn answers(&self) -> Option<&str> {
        self.journal.answers()
    }

    /// Whether every step was done once.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        self.journal.is_finished()
    }

    /// Refuses files and links that are there and were not made by us.
    ///
    /// # Errors
    /// [`SystemError::InTheWay`], `LinkInTheWay`.
    pub fn check_clear(&self, steps: &[Step]) -> Result<(), SystemError> {
        for Step { change, .. } in steps {
            match change {
                Change::File { path, .. } | Change::Symlink { path, .. } | Change::Team { path, .. } => {
                    let before = PathState::read(&under(&self.root, path))?;
                    if before != PathState::Absent
                        && !self.journal.has(&Record::Path { path: path.clone(), before })
                    {
                        return Err(SystemError::InTheWay { path: path.clone() });
                    }
                }
                Change::Bridge { name } | Change::Vlan { name, .. } => {
                    let is_ours = self.journal.has(&Record::Link { name: name.clone() });
                    if !is_ours && links::link(name)?.is_some() {
                        return Err(SystemError::LinkInTheWay { name: name.clone() });
                    }
                }
                Change::User
                | Change::Directory { .. }
                | Change::Port(_)
                | Change::Address { .. }
                | Change::Reload(_)
                | Change::Service(_) => {}
            }
        }
        Ok(())
    }

    /// Does every step whose result is not there.
    ///
    /// # Errors
    /// The first one that fails. What was done is noted; calling it again goes on.
    pub fn apply(
        &mut self,
        steps: &[Step],
        maker: &mut dyn Maker,
        stop: Stop<'_>,
    ) -> Result<Outcome, SystemError> {
        let was_finished = self.is_finished();
        let mut outcome = Outcome { steps: Vec::new() };
        let mut is_stale = false; // Something was written that a program has not read.
        for Step { change, .. } in steps {
            let done = if let Change::Reload(what) = change {
                if is_stale {
                    is_stale = false;
                    self.reload(*what, stop)?;
                    Done::Changed
                } else {
                    Done::AlreadySo
                }
            } else {
                self.step(change, was_finished, maker, stop)?
            };
            is_stale |=
                done == Done::Changed && matches!(change, Change::File { .. } | Change::Symlink { .. });
            outcome.steps.push(done);
        }
        go_on(stop)?;
        self.journal.finish()?;
        Ok(outcome)
    }

    /// Takes everything back, last things first, and removes the journal. Says what was taken back.
    ///
    /// # Errors
    /// What could not be taken back. Calling it again goes on.
    pub fn undo(self, stop: Stop<'_>) -> Result<Vec<String>, SystemError> {
        undo::run(self, stop)
    }

    fn step(
        &mut self,
        change: &Change,
        was_finished: bool,
        maker: &mut dyn Maker,
        stop: Stop<'_>,
    ) -> Result<Done, SystemError> {
        match change {
            Change::User => self.user(stop),
            Change::Directory { path, mode, owner } => {
                let state = PathState::Directory { access: self.access(*mode, *owner)? };
                self.path(path, &state, was_finished, stop)
            }
            Change::File { path, mode, owner, text } => {
                let state = PathState::file(self.access(*mode, *owner)?, text.as_bytes());
                self.path(path, &state, was_finished, stop)
            }
            Change::Symlink { path, target } => {
                self.path(path, &PathState::Symlink { target: target.clone() }, was_finished, stop)
            }
            Change::Team { path, work } => self.team(path, work, maker, stop),
            Change::Bridge { name } => {
                let is_so = links::link(name)?
                    .is_some_and(|link| links::is_kind(&link, "bridge") && links::is_up(&link));
                let record = Record::Link { name: name.clone() };
                self.change(is_so, record, stop, || links::make_bridge(name))
            }
            Change::Vlan { name, parent, id } => {
                let is_so = links::link(name)?
                    .is_some_and(|link| links::is_kind(&link, "vlan") && links::is_up(&link));
                let record = Record::Link { name: name.clone() };
                self.change(is_so, record, stop, || links::make_vlan(name, parent, *id))
            }
            Change::Port(port) => self.port(port, stop),
            Change::Address { interface, address, prefix } => {
                let is_so = links::has_address(interface, *address, *prefix)?;
                let record =
                    Record::Address { interface: interface.clone(), address: *address, prefix: *prefix };
                self.change(is_so, record, stop, || links::add_address(interface, *address, *prefix))
            }
            Change::Service(service) => self.service(service, stop),
            Change::Reload(_) => Ok(Done::AlreadySo),
        }
    }

    /// Notes, and then changes, unless it is so already.
    fn change(
        &mut self,
        is_so: bool,
        record: Record,
        stop: Stop<'_>,
        make: impl FnOnce() -> Result<(), SystemError>,
    ) -> Result<Done, SystemError> {
        if is_so {
            return Ok(Done::AlreadySo);
        }
        go_on(stop)?;
        self.journal.note(record)?;
        go_on(stop)?;
        make()?;
        Ok(Done::Changed)
    }

    fn access(&self, mode: u32, owner: Owner) -> Result<Access, SystemError> {
        let (uid, gid) = match owner {
            Owner::Root => root_of(&self.root),
            Owner::Guestright => users::find(&self.root).ok_or(SystemError::NoUser)?,
        };
        Ok(Access { mode, uid, gid })
    }

    fn path(
        &mut self,
        path: &Path,
        wanted: &PathState,
        was_finished: bool,
        stop: Stop<'_>,
    ) -> Result<Done, SystemError> {
        let real = under(&self.root, path);
        let before = PathState::read(&real)?;
        let is_directory = |state: &PathState| matches!(state, PathState::Directory { .. });
        let record = Record::Path { path: path.to_owned(), before: before.clone() };
        // A directory that was there keeps its owner and mode.
        let is_foreign = is_directory(&before) && is_directory(wanted) && !self.journal.has(&record);
        if before == *wanted || is_foreign {
            return Ok(Done::AlreadySo);
        }
        if was_finished && before != PathState::Absent {
            return Ok(Done::Edited);
        }
        self.parents(path, stop)?;
        self.change(false, record, stop, || wanted.write(&real))
    }

    /// Makes the directories above, and notes each that was not there.
    fn parents(&mut self, path: &Path, stop: Stop<'_>) -> Result<(), SystemError> {
        let above: Vec<_> = path.ancestors().skip(1).map(Path::to_owned).collect();
        for directory in above.into_iter().rev() {
            let real = under(&self.root, &directory);
            if PathState::read(&real)? == PathState::Absent {
                let record = Record::Parent { path: directory };
                let state = PathState::Directory { access: self.access(0o755, Owner::Root)? };
                self.change(false, record, stop, || state.write(&real))?;
            }
        }
        Ok(())
    }

    fn user(&mut self, stop: Stop<'_>) -> Result<Done, SystemError> {
        let root = self.root.clone();
        let record = Record::User { backups: users::backups(&root)? };
        self.change(users::find(&root).is_some(), record, stop, || users::make(&root))
    }

    fn team(
        &mut self,
        path: &Path,
        work: &TeamWork,
        maker: &mut dyn Maker,
        stop: Stop<'_>,
    ) -> Result<Done, SystemError> {
        let real = under(&self.root, path);
        let before = PathState::read(&real)?;
        let owners = Owners { guestright: users::find(&self.root) };
        let access = self.access(0o711, Owner::Root)?;
        let is_so = before != PathState::Absent;
        self.parents(path, stop)?;
        let record = Record::Path { path: path.to_owned(), before };
        self.change(is_so, record, stop, || {
            let new = beside(&real);
            remove(&new)?;
            let made = fs::DirBuilder::new().mode(0o700).create(&new);
            made.map_err(|error| SystemError::file("make", &new, &error))?;
            maker.make(work, &new, owners).map_err(SystemError::Team)?;
            set_access(&new, access)?;
            fs::rename(&new, &real).map_err(|error| SystemError::file("make", &real, &error))?;
            sync_parent(&real)
        })
    }

    fn port(&mut self, port: &Port, stop: Stop<'_>) -> Result<Done, SystemError> {
        let Port { interface, bridge } = port;
        let is_so = links::is_port(interface, bridge)?;
        let missing = || SystemError::Answer {
            command: "ip link show".to_owned(),
            reason: format!("there is no {interface} any more"),
        };
        let link = links::link(interface)?.ok_or_else(missing)?;
        let record = Record::Port {
            interface: interface.clone(),
            bridge: link["master"].as_str().map(str::to_owned),
            was_up: links::is_up(&link),
        };
        self.change(is_so, record, stop, || links::make_port(interface, bridge))
    }

    fn service(&mut self, service: &Service, stop: Stop<'_>) -> Result<Done, SystemError> {
        let Service { unit, by_systemd, command, clean_up, .. } = service.clone();
        let record = Record::Service { unit, by_systemd, command, clean_up };
        let logs = under(&self.root, Path::new(paths::STATE));
        self.change(services::is_running(service, &logs), record, stop, || services::start(service, &logs))
    }

    fn reload(&mut self, what: Reload, stop: Stop<'_>) -> Result<(), SystemError> {
        let what = match what {
            Reload::Systemd => "systemd",
            Reload::Networkd => "networkd",
            Reload::NetworkManager => "network_manager",
            Reload::Resolved => "resolved",
        };
        self.change(false, Record::Reload { what: what.to_owned() }, stop, || {
            links::reload(what);
            Ok(())
        })
        .map(drop)
    }
}

/// Who owns the root directory: root, or whoever tries this in a directory of its own.
fn root_of(root: &Path) -> (u32, u32) {
    use std::os::unix::fs::MetadataExt as _;
    fs::metadata(root).map_or((0, 0), |metadata| (metadata.uid(), metadata.gid()))
}
