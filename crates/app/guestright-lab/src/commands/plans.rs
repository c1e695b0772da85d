//! Where plans come from: files, folders, and the program itself.

use guestright_bench::plan_files;
pub(super) use guestright_bench::plan_files::{MISTAKE_HINT, Source, testbeds};
use guestright_bench::record::Program;
use guestright_error::RunError;
use guestright_plans::BUILT_IN;

/// All plans that are built in.
pub(super) fn built_in() -> Vec<Source> {
    plan_files::sources(BUILT_IN)
}

/// The plans that these words mean, each once, in their order.
pub(super) fn find(words: &[String]) -> Result<Vec<Source>, RunError> {
    plan_files::find(words, BUILT_IN)
}

/// This program, with the commit that it was built from.
pub(super) fn program() -> Result<Program, RunError> {
    Program::this(option_env!("GUESTRIGHT_COMMIT"))
}
