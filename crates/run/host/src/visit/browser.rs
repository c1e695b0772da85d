//! A browser of its own for a portal: a fresh profile, and a proxy that is the one way out.

use guestright_error::RunError;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Browsers that take a proxy on their command line, and those that take it from their profile.
const CHROMIUM: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "brave-browser"];
const FIREFOX: [&str; 2] = ["firefox", "firefox-esr"];
const PATHS: [&str; 4] = ["/usr/local/bin", "/usr/bin", "/bin", "/snap/bin"];

/// A directory for the browser, which goes with this.
#[derive(Debug)]
pub struct Profile {
    directory: PathBuf,
    proxy: String,
}

impl Profile {
    /// Makes it for a proxy.
    ///
    /// # Errors
    /// Root starts no browser, or the directory cannot be made.
    pub fn make(proxy: &str) -> Result<Self, RunError> {
        if rustix::process::geteuid().is_root() {
            return Err(RunError::user("root starts no browser")
                .with_hint("run `guestright portal` as yourself, or use --print"));
        }
        let base = std::env::var_os("XDG_RUNTIME_DIR").map_or_else(std::env::temp_dir, PathBuf::from);
        let directory = base.join(format!("guestright-portal-{}", std::process::id()));
        std::fs::DirBuilder::new().mode(0o700).create(&directory).map_err(RunError::network)?;
        let profile = Self { directory, proxy: proxy.to_owned() };
        std::fs::write(profile.directory.join("user.js"), profile.preferences())
            .map_err(RunError::network)?;
        Ok(profile)
    }

    /// What Firefox reads: our proxy for everything, and no questions.
    fn preferences(&self) -> String {
        let (host, port) = self.proxy.rsplit_once(':').unwrap_or((&self.proxy, "0"));
        format!(
            "user_pref(\"network.proxy.type\", 1);\nuser_pref(\"network.proxy.http\", \"{host}\");\n\
             user_pref(\"network.proxy.http_port\", {port});\nuser_pref(\"network.proxy.ssl\", \"{host}\");\n\
             user_pref(\"network.proxy.ssl_port\", {port});\nuser_pref(\"dom.security.https_first\", false);\n\
             user_pref(\"browser.aboutwelcome.enabled\", false);\n"
        )
    }

    /// The first browser that is here, told of profile, proxy and page.
    ///
    /// # Errors
    /// There is none that we know.
    pub fn command(&self, url: &str) -> Result<Command, RunError> {
        if let Some(program) = CHROMIUM.iter().find_map(|name| find(name)) {
            let mut command = Command::new(program);
            command.arg(format!("--proxy-server=http://{}", self.proxy));
            command.arg(format!("--user-data-dir={}", self.directory.display()));
            command.args([
                "--no-first-run",
                "--no-default-browser-check",
                "--disable-features=HttpsUpgrades",
                url,
            ]);
            return Ok(command);
        }
        if let Some(program) = FIREFOX.iter().find_map(|name| find(name)) {
            let mut command = Command::new(program);
            command.arg("--profile").arg(&self.directory).args(["--no-remote", "--new-window", url]);
            return Ok(command);
        }
        Err(RunError::network(format!(
            "there is no browser that we know: {}",
            [&CHROMIUM[..], &FIREFOX].concat().join(", ")
        ))
        .with_hint("`guestright portal --print` says the page and the proxy for any other"))
    }
}

fn find(name: &str) -> Option<PathBuf> {
    PATHS.iter().map(|path| Path::new(path).join(name)).find(|program| program.exists())
}

impl Drop for Profile {
    fn drop(&mut self) {
        // A browser that still writes leaves something; it lies where logging out clears up.
        let _ = std::fs::remove_dir_all(&self.directory);
    }
}
