//! The packages for OpenWrt that are the same on every processor: the service, and its page in LuCI.
//!
//! What is in them, and everything that is written about them, stands in the Makefiles of `packaging/openwrt`, which
//! OpenWrt's own build reads too. Here it becomes files that opkg (`ipk`, until OpenWrt 24.10) and apk (`apk`, since
//! 25.12) install. The same checkout gives the same bytes: nothing of the computer, the user or the hour is in them.

mod adb;
mod apk;
mod ipk;
mod makefile;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};

use crate::archive::{File, below};
use crate::workspace;
use makefile::Makefile;

const FOLDER: &str = "packaging/openwrt";
const SERVICE: &str = "guestright-service";
const LUCI: &str = "luci-app-guestright";
/// Where packages go unless somebody names another folder.
const TARGET: &str = "target/openwrt";

/// A package, before it has a format.
#[derive(Clone, Debug, Default)]
struct Package {
    name: String,
    version: String,
    title: String,
    license: String,
    maintainer: String,
    section: String,
    depends: Vec<String>,
    /// `user:group`, which the installation makes.
    user: Option<String>,
    /// What stays as it is when a new version is installed; a folder ends in `/`.
    conffiles: Vec<String>,
    /// By path.
    files: Vec<File>,
    /// What is to be done after an installation on a running router, besides what OpenWrt always does.
    after_installation: &'static str,
}

/// LuCI keeps the menu and modules in a cache, and rpcd who may do what.
const AFTER_LUCI: &str = "if [ -z \"${IPKG_INSTROOT}\" ]; then\n\trm -rf /tmp/luci-indexcache* /tmp/luci-modulecache\n\
                          \t[ ! -x /etc/init.d/rpcd ] || /etc/init.d/rpcd reload\nfi\n";

/// `package openwrt [FOLDER]`
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let folder = match arguments {
        [] => workspace::root().join(TARGET),
        [folder] => PathBuf::from(folder),
        _ => bail!("usage: cargo xtask package openwrt [FOLDER]"),
    };
    make(&folder)
}

/// Makes all of them in a folder.
pub(crate) fn make(folder: &Path) -> Result<()> {
    fs::create_dir_all(folder).with_context(|| format!("make {}", folder.display()))?;
    let packaging = workspace::root().join(FOLDER);
    for package in [service(&packaging)?, luci(&packaging)?] {
        let Package { name, version, .. } = &package;
        for (file, bytes) in [
            (format!("{name}_{version}_all.ipk"), ipk::write(&package)?),
            (format!("{name}-{version}.apk"), apk::write(&package)?),
        ] {
            let path = folder.join(file);
            fs::write(&path, &bytes).with_context(|| format!("write {}", path.display()))?;
            println!("{:>8} bytes  {}", bytes.len(), path.display());
        }
    }
    Ok(())
}

fn service(packaging: &Path) -> Result<Package> {
    let folder = packaging.join("guestright");
    let makefile = Makefile::read(&folder.join("Makefile"))?;
    let default = makefile.block("Package/guestright/Default")?;
    let own = makefile.block(&format!("Package/{SERVICE}"))?;
    let mut files = Vec::new();
    for line in makefile.block(&format!("Package/{SERVICE}/install"))? {
        files.extend(makefile::installed(line, &folder)?);
    }
    files.sort_by(|one, other| one.path.cmp(&other.path));
    Ok(Package {
        name: SERVICE.to_owned(),
        version: makefile.version()?,
        title: makefile::field(own, "TITLE")?,
        license: makefile.value("PKG_LICENSE")?,
        maintainer: makefile.value("PKG_MAINTAINER")?,
        section: makefile::field(default, "SECTION")?,
        depends: makefile::depends(&makefile::field(own, "DEPENDS")?),
        user: Some(makefile::field(own, "USERID")?),
        conffiles: makefile.block(&format!("Package/{SERVICE}/conffiles"))?.to_vec(),
        files,
        after_installation: "",
    })
}

fn luci(packaging: &Path) -> Result<Package> {
    let folder = packaging.join(LUCI);
    let makefile = Makefile::read(&folder.join("Makefile"))?;
    let mut files = Vec::new();
    // What luci.mk does with the two folders.
    below(&folder.join("htdocs"), "/www", &mut files)?;
    below(&folder.join("root"), "", &mut files)?;
    files.sort_by(|one, other| one.path.cmp(&other.path));
    Ok(Package {
        name: LUCI.to_owned(),
        version: makefile.version()?,
        title: makefile.value("LUCI_TITLE")?,
        license: makefile.value("PKG_LICENSE")?,
        maintainer: makefile.value("PKG_MAINTAINER")?,
        section: "luci".to_owned(),
        depends: makefile::depends(&makefile.value("LUCI_DEPENDS")?),
        user: None,
        conffiles: Vec::new(),
        files,
        after_installation: AFTER_LUCI,
    })
}

impl Package {
    fn installed_size(&self) -> usize {
        self.files.iter().map(|file| file.bytes.len()).sum()
    }
}
