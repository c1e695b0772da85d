//! In a program without the household's page: what nobody can wish for.

use super::{Loop, Settings};
use crate::reload::Reload;

/// How many may wait for the loop: none comes.
pub(super) const WISHES_MAX: usize = 1;

/// There is none.
#[derive(Debug)]
pub(super) enum Wished {}

/// Never called.
pub(super) fn handle(_: &mut Loop, wished: Wished, _: &mut Reload<Settings>) {
    match wished {}
}
