//! What has to be done so that a computer shares its Wi-Fi.
//!
//! In: what there is on the computer ([`Facts`]) and what the person wants ([`Answers`]). Out: every choice that was made
//! ([`Choices`]), and the steps that lead there ([`Plan`]): what each changes, what it says, and how it is taken back.
//! Or a [`PlanError`] that says what stands in the way. Nothing is done here; `guestright-system` does it.
//!
//! ```
//! use guestright_setup::{Answers, Choices, Facts, Plan};
//!
//! # fn show(facts: &Facts, answers: &Answers) -> Result<(), guestright_setup::PlanError> {
//! let choices = Choices::choose(facts, answers)?;
//! let plan = Plan::new(facts, &choices);
//! for step in &plan.steps {
//!     println!("{}", step.says); // And step.change is what is to be done.
//! }
//! # Ok(())
//! # }
//! ```
//!
//! Invariants: the guests' network overlaps with no network that the computer knows; no interface is touched that has an
//! address, or is the uplink; every file is one that nobody but us writes. The same facts and answers give the same plan,
//! and the choices made of them ([`Choices::answers`]) give it again. Design note 0011.

mod answers;
mod change;
mod choices;
mod error;
mod facts;
mod plan;
mod render;
mod subnet;

pub use answers::{Answers, HomeAnswer, Splash, SplashCertificate, TeamAnswer, WifiAnswer};
pub use change::{Change, GatewayWork, Owner, Port, Reload, Service, Step, TeamWork};
pub use choices::{Choices, HomeChoice, Names, TeamChoice, Wifi};
pub use error::PlanError;
pub use facts::{Facts, Init, Interface, Kind, Manager, Radio};
pub use plan::{Plan, paths};
pub use subnet::Subnet;
