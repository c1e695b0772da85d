//! Chromium: every state, with scripts off, on a phone and on a desk, light and dark.

use crate::peers::serve;
use crate::states::all;
use std::path::Path;
use std::process::Command;

#[test]
#[ignore = "takes minutes, and needs Chromium and `npm ci` in crates/pure/splash/browser; see the README there"]
fn in_chromium_every_state_can_be_read_and_used() {
    let sites: Vec<_> =
        all().into_iter().map(|(name, guest)| format!("{name}=http://{}", serve(guest))).collect();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("browser");
    let status = Command::new("node").arg(folder.join("check.mjs")).args(sites).status().expect("Node");
    assert!(status.success(), "{status}");
}
