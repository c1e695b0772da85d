//! A charon of our own, from its start to its being told everything.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::Path;
use std::time::{Duration, Instant};

use crate::configuration::{self, SOCKET};
use crate::connections;
use crate::leftover;
use crate::process::{Launch, Running};
use crate::{DataPlane, Installation, Session, Settings, StrongswanError};

/// How long charon may take until its control socket answers.
const START_PATIENCE: Duration = Duration::from_secs(15);
/// charon says nothing that a program could wait for when the socket is open.
const START_POLL: Duration = Duration::from_millis(20);
/// How the names of kernel-libipsec's TUN devices begin.
const DEVICES: &str = "ipsec";
/// Where charon notes its process id, in the directory that it sees as `/run`.
const NUMBER: &str = "charon.pid";
const APPARMOR: &str = "/etc/apparmor.d/usr.lib.ipsec.charon";

/// What it takes to start charon, found out once.
#[derive(Debug)]
pub(crate) struct Charon {
    launch: Launch,
    pub(crate) data_plane: DataPlane,
}

impl Charon {
    /// Looks for everything that is needed and writes charon's configuration.
    pub(crate) fn prepare(settings: &Settings) -> Result<Self, StrongswanError> {
        let installation = Installation::find()?;
        let data_plane = match settings.data_plane {
            DataPlane::Probe if crate::kernel_has_esp() => DataPlane::Kernel,
            DataPlane::Probe => DataPlane::Userspace,
            DataPlane::Kernel => DataPlane::Kernel,
            DataPlane::Userspace => DataPlane::Userspace,
        };
        if data_plane == DataPlane::Userspace {
            installation.require("kernel-libipsec", "libcharon-extra-plugins")?;
        }
        if settings.certificate.is_some() {
            installation.require("eap-mschapv2", "libcharon-extauth-plugins")?;
        }
        let directory = &settings.directory;
        private_directory(directory)?;
        let text = configuration::render(&installation, data_plane);
        write_private(&directory.join(configuration::FILE), &text)?;
        let launch = Launch {
            name: "charon",
            program: installation.charon,
            arguments: Vec::new(),
            environment: vec![("STRONGSWAN_CONF", format!("/run/{}", configuration::FILE).into())],
            run: directory.clone(),
            ppp: None,
        };
        Ok(Self { launch, data_plane })
    }

    /// Starts it, and tells it everything.
    pub(crate) fn start(
        &self,
        settings: &Settings,
        on_end: impl FnOnce() + Send + 'static,
    ) -> Result<Running, StrongswanError> {
        leftover::end(&self.launch.run, self.launch.name)?;
        // A charon that was killed could not remove them, and the next one believes in any process of that number.
        for file in [NUMBER, SOCKET] {
            match fs::remove_file(settings.directory.join(file)) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                    let path = settings.directory.join(file);
                    return Err(StrongswanError::File { path, reason: error.to_string() });
                }
                _ => {}
            }
        }
        let mut running = self.launch.start(on_end)?;
        let mut session = connect(&mut running, &settings.directory)?;
        if self.data_plane == DataPlane::Userspace {
            let_devices_forward()?;
        }
        connections::load(&mut session, settings)?;
        Ok(running)
    }
}

/// Waits until charon answers. One that could open no socket for IKE is no use.
fn connect(running: &mut Running, directory: &Path) -> Result<Session, StrongswanError> {
    let deadline = Instant::now() + START_PATIENCE;
    loop {
        if let Ok(mut session) = Session::connect(directory, SOCKET)
            && session.request("version", &crate::Section::new()).is_ok()
        {
            return Ok(session);
        }
        let hint = hint(&running.last_words());
        if let Some(status) = running.ended() {
            let reason = format!("it ended ({status})");
            return Err(StrongswanError::Dead { reason, hint, log: running.last_words() });
        }
        if Instant::now() > deadline {
            let reason = format!("its control socket did not open within {START_PATIENCE:?}");
            return Err(StrongswanError::Dead { reason, hint, log: running.last_words() });
        }
        std::thread::sleep(START_POLL);
    }
}

/// Members' packets go on from charon's TUN devices, which are as new as charon and do not forward by themselves.
fn let_devices_forward() -> Result<(), StrongswanError> {
    let conf = Path::new("/proc/sys/net/ipv4/conf");
    let broken =
        |error: std::io::Error| StrongswanError::File { path: conf.to_owned(), reason: error.to_string() };
    for entry in fs::read_dir(conf).map_err(broken)? {
        let device = entry.map_err(broken)?.file_name();
        if device.to_string_lossy().starts_with(DEVICES) {
            fs::write(conf.join(&device).join("forwarding"), "1").map_err(broken)?;
        }
    }
    Ok(())
}

fn hint(log: &str) -> &'static str {
    if log.contains("Address already in use") {
        "; another program has the ports 500 and 4500: stop the strongSwan (or other IPsec service) that is running"
    } else if log.contains("Permission denied") && Path::new(APPARMOR).exists() {
        "; AppArmor may be in the way: `journalctl -k` shows what it denied"
    } else if log.contains("Operation not permitted") || log.contains("Permission denied") {
        "; run this as root"
    } else {
        ""
    }
}

/// Makes a directory that only its owner may enter, unless it is there.
pub(crate) fn private_directory(path: &Path) -> Result<(), StrongswanError> {
    let made = fs::DirBuilder::new().recursive(true).mode(0o700).create(path);
    made.map_err(|error| StrongswanError::File { path: path.to_owned(), reason: error.to_string() })
}

/// Writes a file that only its owner may read, in place of what is there.
pub(crate) fn write_private(path: &Path, text: &str) -> Result<(), StrongswanError> {
    let broken =
        |error: std::io::Error| StrongswanError::File { path: path.to_owned(), reason: error.to_string() };
    match fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(broken(error)),
        _ => {}
    }
    let mut file = fs::File::options().write(true).create_new(true).mode(0o600).open(path).map_err(broken)?;
    file.write_all(text.as_bytes()).map_err(broken)
}
