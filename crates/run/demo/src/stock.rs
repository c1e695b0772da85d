//! A guest with nothing but a stock WireGuard client: the kernel's where there is one, else the reference
//! implementation `wireguard-go`, set up with `wg` and `ip` from the text that its team gave it.

use super::cast::Cast;
use super::error::{DemoError, missing};
use super::town::{Guest, Household};
use guestright_error::OrFail as _;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;
use tokio::process::{Child, Command};

/// Its tunnel's interface.
const INTERFACE: &str = "wg-home";
/// Lines that are for people's tools (wg-quick(8)) and that `wg` itself does not take.
const NOT_FOR_WG: [&str; 3] = ["Address", "DNS", "MTU"];
/// Where `wireguard-go` lets itself be configured.
const SOCKET: &str = "/run/wireguard/wg-home.sock";

impl Cast {
    /// Whether this computer has such a client.
    pub(crate) fn has_app(&self, guest: Guest) -> bool {
        let runs = |program: &str, arguments: &[&str]| self.world.run(guest.name, program, arguments).is_ok();
        let in_kernel = || {
            runs("ip", &["link", "add", INTERFACE, "type", "wireguard"])
                && runs("ip", &["link", "delete", INTERFACE])
        };
        runs("wg", &["--version"]) && (in_kernel() || runs("wireguard-go", &["--version"]))
    }

    /// Brings the tunnel up, as somebody does who opens the app.
    pub(crate) async fn open_app(
        &mut self,
        guest: Guest,
        team: &str,
        home: Household,
    ) -> Result<&'static str, DemoError> {
        let file = self.directory().join(team).join(format!("{}.conf", guest.name));
        let text = std::fs::read_to_string(&file).or_network(|| format!("read {}", file.display()))?;
        let value = |key: &str| {
            let line = text.lines().find_map(|line| line.strip_prefix(key)?.trim().strip_prefix('='));
            line.map(|value| value.trim().to_owned())
                .ok_or_else(|| DemoError::unexpected(format!("{key} in the configuration")))
        };
        let client =
            if self.world.run(guest.name, "ip", &["link", "add", INTERFACE, "type", "wireguard"]).is_ok() {
                "the kernel's WireGuard"
            } else {
                let program = self.start_wireguard_go(guest)?;
                self.until_it_listens(program, guest).await?;
                "wireguard-go"
            };
        let keeps = |line: &&str| !NOT_FOR_WG.iter().any(|key| line.trim_start().starts_with(key));
        let stripped: String = text.lines().filter(keeps).flat_map(|line| [line, "\n"]).collect();
        let plain = self.directory().join(format!("{}.wg", guest.name));
        std::fs::write(&plain, stripped)?;
        let run = |program: &str, arguments: &[&str]| self.world.run(guest.name, program, arguments);
        run(
            "wg",
            &["setconf", INTERFACE, plain.to_str().ok_or_else(missing("the demo's paths are plain"))?],
        )?;
        run("ip", &["address", "add", &value("Address")?, "dev", INTERFACE])?;
        let mtu = value("MTU").unwrap_or_else(|_| "1420".to_owned());
        run("ip", &["link", "set", INTERFACE, "mtu", &mtu, "up"])?;
        let (home, gateway) = (home.address.to_string(), guest.gateway().to_string());
        run("ip", &["route", "add", &home, "via", &gateway])?;
        run("ip", &["route", "replace", "default", "dev", INTERFACE])?;
        Ok(client)
    }

    fn start_wireguard_go(&self, guest: Guest) -> Result<Child, DemoError> {
        let mut command = Command::from(self.world.command(guest.name, "wireguard-go")?);
        // Without this it asks whether one would not rather use a kernel that has WireGuard.
        command.env("WG_I_PREFER_BUGGY_USERSPACE_TO_POLISHED_KMOD", "1").args(["-f", INTERFACE]);
        let log = self.log(&format!("{}-wireguard-go", guest.name))?;
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log).kill_on_drop(true);
        let what = "start wireguard-go; `make setup GROUP=demo` installs it";
        Ok(command.spawn().or_network(|| what.to_owned())?)
    }

    async fn until_it_listens(&mut self, mut program: Child, guest: Guest) -> Result<(), DemoError> {
        let deadline = tokio::time::Instant::now() + super::cast::PATIENCE;
        while !Path::new(SOCKET).exists() {
            let ended = program.try_wait()?.is_some();
            if ended || tokio::time::Instant::now() >= deadline {
                return Err(DemoError::unexpected(format!(
                    "wireguard-go did not start:\n{}",
                    self.read_log(&format!("{}-wireguard-go", guest.name))
                )));
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        self.programs.push(program);
        Ok(())
    }
}
