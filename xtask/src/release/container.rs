//! Images of containers with one program and nothing else, as OCI layouts in one file each, by umoci: no daemon takes part.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result, ensure};

use super::HERE;
use super::contents::Contents;
use crate::archive::{below, tar};
use crate::package::Stage;
use crate::steps::{execute, output};

/// What an image does unless it is given other words, what it keeps, and where it is reached.
struct Image {
    product: &'static str,
    name: &'static str,
    words: &'static [&'static str],
    volumes: &'static [&'static str],
    ports: &'static [&'static str],
}

const IMAGES: [Image; 2] = [
    Image {
        product: "guestright",
        name: "home",
        words: &["home", "--config", "/etc/guestright/home.toml"],
        volumes: &["/etc/guestright", "/var/lib/guestright"],
        ports: &["7274/tcp", "7275/tcp"],
    },
    Image { product: "guestright-lab", name: "lab", words: &["--help"], volumes: &["/results"], ports: &[] },
];

/// Whoever it is outside: the program needs no rights, and no name.
const USER: &str = "65532:65532";

/// Where OCI's runtimes want their own processors' names.
const ARCHITECTURE: &str = "amd64";

pub(super) fn check_tool() -> Result<()> {
    let found = Command::new("umoci").arg("--version").output();
    ensure!(found.is_ok(), "umoci is missing: sh scripts/setup.sh release");
    Ok(())
}

pub(super) fn add(contents: &mut Contents, stage: &Stage, product: &str, version: &str) -> Result<()> {
    let image = IMAGES.iter().find(|image| image.product == product).context("no such image")?;
    let layout = stage.folder().join("image");
    image.write(&layout, &stage.program(product), version, stage.date())?;
    let mut files = Vec::new();
    below(&layout, "", &mut files)?;
    files.sort_by(|one, other| one.path.cmp(&other.path));
    contents.write(&format!("guestright-{}-{version}-{HERE}.oci.tar", image.name), &tar(&files)?)
}

impl Image {
    fn write(&self, layout: &Path, program: &Path, version: &str, date: &str) -> Result<()> {
        if layout.exists() {
            fs::remove_dir_all(layout).with_context(|| format!("empty {}", layout.display()))?;
        }
        let seconds = format!("@{date}");
        let created =
            output(Command::new("date").args(["--utc", "--date", &seconds, "+%Y-%m-%dT%H:%M:%SZ"]))?;
        let created = created.trim();
        // A layer has its files' times.
        execute(Command::new("touch").args(["--date", &seconds]).arg(program))?;
        let tagged = format!("{}:{version}", layout.display());
        let umoci = |words: &[&str]| {
            let mut command = Command::new("umoci");
            command.arg(words[0]).args(&words[1..]).args(["--image", &tagged]);
            command
        };
        execute(Command::new("umoci").args(["init", "--layout"]).arg(layout))?;
        execute(&mut umoci(&["new"]))?;
        let inside = format!("/usr/bin/{}", self.product);
        let history = ["--history.created", created, "--history.created_by", "cargo xtask release"];
        execute(umoci(&["insert", "--rootless"]).args(history).arg(program).arg(&inside))?;
        let mut config = umoci(&["config", "--created", created, "--os", "linux"]);
        config.args(history);
        config.args(["--architecture", ARCHITECTURE, "--config.user", USER, "--config.entrypoint", &inside]);
        let label = format!("org.opencontainers.image.version={version}");
        config.args(["--config.label", &label, "--config.workingdir", self.volumes[0]]);
        for (option, values) in [("cmd", self.words), ("volume", self.volumes), ("exposedports", self.ports)]
        {
            for value in values {
                config.arg(format!("--config.{option}")).arg(value);
            }
        }
        execute(&mut config)?;
        // What the steps before the last have written.
        execute(Command::new("umoci").args(["gc", "--layout"]).arg(layout))?;
        let listed = output(Command::new("umoci").args(["list", "--layout"]).arg(layout))?;
        ensure!(listed.trim() == version, "the image has {listed:?} in place of {version}");
        Ok(())
    }
}
