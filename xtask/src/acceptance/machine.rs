//! The two machines: how they are started, watched, and ended in time.

use std::fs;
use std::io::{BufRead as _, BufReader, Read, Write as _};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use rustix::process::{Pid, Signal, getuid, kill_process_group};

use super::kernel;
use super::stage::Stage;
use super::verdicts::{Report, Verdicts};

/// Whoever owns nothing: User Mode Linux needs no rights, so it gets none.
const NOBODY: u32 = 65_534;
/// How long a machine may take to end once it is told to.
const FAREWELL: Duration = Duration::from_secs(3);
/// How long a machine may take to say its steps: several times what it needs beside other work.
const BOOT: Duration = Duration::from_secs(90);
/// How often a machine is started at most. An emulated one stands still now and then while its kernel boots, before any
/// program of ours runs.
const STARTS: u32 = 3;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Machine {
    /// Debian's `user-mode-linux`: a kernel that is an ordinary program. ESP, L2TP, PPP.
    UserMode,
    /// Debian's stock kernel on a processor in software. WireGuard, nftables, radios.
    Emulated,
}

/// Until when a machine has to say its steps, and to come to its end.
#[derive(Clone, Copy, Debug)]
struct Deadlines {
    steps: Instant,
    end: Instant,
}

impl Machine {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::UserMode => "uml",
            Self::Emulated => "qemu",
        }
    }

    /// Boots the machine and takes in what it says, until it powers itself off or its time is over. One that does not
    /// get as far as its steps is started again.
    pub(super) fn run(
        self,
        stage: &Stage,
        cache: &Path,
        limit: Duration,
        verdicts: &mut Verdicts,
    ) -> Result<()> {
        let logs = fresh(&cache.join("logs").join(self.name()))?;
        let mut command = match self {
            Self::UserMode => user_mode(stage),
            Self::Emulated => emulated(stage, &kernel::prepare(cache)?),
        };
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
        let began = Instant::now();
        let mut start = 1;
        let watched = loop {
            let console = logs.join(format!("console-{start}.txt"));
            let mut child = command.spawn().with_context(|| format!("start {:?}", command.get_program()))?;
            let lines = lines_of(&mut child);
            let deadlines = Deadlines { steps: Instant::now() + BOOT, end: began + limit };
            let watched = self.watch(&lines, &console, began, deadlines, verdicts);
            end(&mut child)?;
            match watched {
                Err(error) if !verdicts.has_plan() && start < STARTS => {
                    println!("{:>4} {:>6.1} s  {error:#}; again", self.name(), began.elapsed().as_secs_f64());
                }
                watched => break watched,
            }
            start += 1;
        };
        stage.keep_logs(self, &logs)?;
        watched
    }

    fn watch(
        self,
        lines: &Receiver<String>,
        path: &Path,
        began: Instant,
        deadlines: Deadlines,
        verdicts: &mut Verdicts,
    ) -> Result<()> {
        let mut console = fs::File::create(path).with_context(|| format!("make {}", path.display()))?;
        // What the machine quotes from the log of a step that failed.
        let mut quotes = false;
        loop {
            let (deadline, what) = if verdicts.has_plan() {
                (deadlines.end, "has not ended")
            } else {
                (deadlines.steps.min(deadlines.end), "has not said its steps")
            };
            let text = match lines.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
                Ok(text) => text,
                Err(RecvTimeoutError::Disconnected) => return Ok(()),
                Err(RecvTimeoutError::Timeout) => {
                    bail!(
                        "{what} after {:.0} s; its console: {}",
                        began.elapsed().as_secs_f64(),
                        path.display()
                    )
                }
            };
            writeln!(console, "{text}")?;
            quotes = if quotes { text != "---" } else { text.starts_with("--- ") };
            if let Some(report) = Report::read(&text) {
                verdicts.record(&report);
                self.print(began, &report);
            } else if quotes {
                println!("{:>4}           {text}", self.name());
            }
        }
    }

    fn print(self, began: Instant, report: &Report) {
        let text = match report {
            Report::Plan(steps) => format!("{} steps", steps.len()),
            Report::Note(text) => text.clone(),
            Report::Passed(name, seconds) => format!("ok   {name} ({seconds} s)"),
            Report::Failed(name, reason) => format!("FAIL {name}: {reason}"),
            Report::Ended => "the end".to_owned(),
        };
        println!("{:>4} {:>6.1} s  {text}", self.name(), began.elapsed().as_secs_f64());
    }
}

/// Gives a folder to the one who runs User Mode Linux.
pub(super) fn give_away(folder: &Path) -> Result<()> {
    if !getuid().is_root() {
        return Ok(());
    }
    std::os::unix::fs::chown(folder, Some(NOBODY), Some(NOBODY))
        .with_context(|| format!("give {} away", folder.display()))
}

fn user_mode(stage: &Stage) -> Command {
    let path = stage.path().display();
    let out = stage.out(Machine::UserMode);
    let mut command = Command::new("linux.uml");
    command.args([
        "mem=768M",
        "rootfstype=hostfs",
        "rootflags=/",
        "ro",
        "con0=fd:0,fd:1",
        "con=null",
        "quiet",
    ]);
    command.arg(format!("init={path}/uml-init.sh"));
    command.arg(format!("STAGE={path}"));
    command.arg(format!("OUT={}", out.display()));
    command.arg("MACHINE=uml");
    // Its control socket.
    command.arg("umid=machine").arg(format!("uml_dir={}/", out.display()));
    command.env_clear().env("HOME", &out).env("LD_PRELOAD", stage.path().join("xstate.so"));
    if getuid().is_root() {
        command.uid(NOBODY).gid(NOBODY);
    }
    command
}

fn emulated(stage: &Stage, kernel: &kernel::Kernel) -> Command {
    let out = stage.out(Machine::Emulated);
    let share = |name: &str, path: &Path, more: &str| {
        let path = path.display();
        let folder = format!("local,id={name},path={path},security_model=none{more}");
        [
            "-fsdev".to_owned(),
            folder,
            "-device".to_owned(),
            format!("virtio-9p-pci,fsdev={name},mount_tag={name}"),
        ]
    };
    let mut command = Command::new("qemu-system-x86_64");
    command.args(["-accel", "tcg,thread=multi", "-cpu", "max", "-m", "1024", "-smp", "2"]);
    command.args(["-nodefaults", "-nographic", "-no-reboot", "-serial", "stdio"]);
    command.arg("-kernel").arg(&kernel.image).arg("-initrd").arg(&kernel.initrd);
    command.arg("-append").arg(format!(
        "console=ttyS0 panic=-1 mitigations=off tsc=reliable no_timer_check random.trust_cpu=on \
         STAGE={} MACHINE=qemu MODULES={}",
        stage.path().display(),
        kernel.modules.display()
    ));
    // The host's files are only read; several file systems may be below its root.
    command.args(share("host", Path::new("/"), ",readonly=on,multidevs=remap"));
    command.args(share("out", &out, ""));
    command
}

/// The console, line by line, without what is not text.
fn lines_of(child: &mut Child) -> Receiver<String> {
    let (send, receive) = mpsc::channel();
    let console = child.stdout.take().expect("standard output is piped");
    let errors = child.stderr.take().expect("standard error is piped");
    let console: [Box<dyn Read + Send>; 2] = [Box::new(console), Box::new(errors)];
    for part in console {
        let send = send.clone();
        std::thread::spawn(move || {
            for line in BufReader::new(part).split(b'\n').map_while(Result::ok) {
                let text = String::from_utf8_lossy(&line);
                let plain = text.chars().filter(|letter| !letter.is_control() || *letter == '\t').collect();
                if send.send(plain).is_err() {
                    break;
                }
            }
        });
    }
    receive
}

/// An empty folder.
fn fresh(folder: &Path) -> Result<PathBuf> {
    if folder.exists() {
        fs::remove_dir_all(folder).with_context(|| format!("remove {}", folder.display()))?;
    }
    fs::create_dir_all(folder).with_context(|| format!("make {}", folder.display()))?;
    Ok(folder.to_owned())
}

/// Ends whatever still runs of a machine, its helpers among it.
fn end(child: &mut Child) -> Result<()> {
    let group = i32::try_from(child.id()).ok().and_then(Pid::from_raw).context("a process has a number")?;
    let began = Instant::now();
    let mut term_sent = false;
    while child.try_wait()?.is_none() {
        if !term_sent && began.elapsed() > FAREWELL {
            // It may be gone by now.
            let _ = kill_process_group(group, Signal::TERM);
            term_sent = true;
        }
        if began.elapsed() > FAREWELL * 2 {
            let _ = kill_process_group(group, Signal::KILL);
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    let _ = kill_process_group(group, Signal::KILL);
    Ok(())
}
