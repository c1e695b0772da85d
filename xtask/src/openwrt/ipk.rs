//! What opkg installs: a compressed archive of three files, two of which are compressed archives.

use std::fmt::Write as _;

use anyhow::Result;

use super::{File, Package};
use crate::archive::{gzip, tar};

pub(super) fn write(package: &Package) -> Result<Vec<u8>> {
    let mut control = vec![
        File { path: "/control".to_owned(), mode: 0o644, bytes: control(package).into_bytes() },
        script("/postinst", "default_postinst \"$0\" \"$@\"\n", package.after_installation),
        script("/prerm", "default_prerm \"$0\" \"$@\"\n", ""),
    ];
    if !package.conffiles.is_empty() {
        let names: String = package.conffiles.iter().map(|name| format!("{name}\n")).collect();
        control.insert(0, File { path: "/conffiles".to_owned(), mode: 0o644, bytes: names.into_bytes() });
    }
    let part = |path: &str, bytes: Vec<u8>| File { path: path.to_owned(), mode: 0o644, bytes };
    gzip(&tar(&[
        part("/debian-binary", b"2.0\n".to_vec()),
        part("/data.tar.gz", gzip(&tar(&package.files)?)?),
        part("/control.tar.gz", gzip(&tar(&control)?)?),
    ])?)
}

fn control(package: &Package) -> String {
    let Package { name, version, title, license, maintainer, section, depends, user, .. } = package;
    let mut text = format!("Package: {name}\nVersion: {version}\n");
    if !depends.is_empty() {
        writeln!(text, "Depends: {}", depends.join(", ")).expect("a String takes everything");
    }
    if let Some(user) = user {
        writeln!(text, "Require-User: {user}").expect("a String takes everything");
    }
    text + &format!(
        "License: {license}\nSection: {section}\nMaintainer: {maintainer}\nArchitecture: all\n\
         Installed-Size: {}\nDescription: {title}\n",
        package.installed_size()
    )
}

/// What `functions.sh` of OpenWrt does for every package: make the user, run what is in uci-defaults, enable the service.
fn script(path: &str, call: &str, more: &str) -> File {
    let text = format!(
        "#!/bin/sh\n[ \"${{IPKG_NO_SCRIPT}}\" = 1 ] && exit 0\n[ -s \"${{IPKG_INSTROOT}}/lib/functions.sh\" ] || exit 0\n\
         . \"${{IPKG_INSTROOT}}/lib/functions.sh\"\n{call}{more}"
    );
    File { path: path.to_owned(), mode: 0o755, bytes: text.into_bytes() }
}
