//! Calls of guests, in a program that does not count them.

use super::Loop;
use super::stations::Stations;
use crate::absent::Absent;
use guestright_airtime::{CallShape, Room};
use guestright_error::RunError;
use guestright_firewall::Reading;
use guestright_overview::CallRoom;
use guestright_roaming::access_point::Address;
use guestright_units::Time;
use serde_json::Value;

/// No radio is known.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Radio(Absent);

impl Radio {
    #[expect(clippy::missing_errors_doc, reason = "it is never called")]
    pub fn check(&self) -> Result<(guestright_airtime::Radio, CallShape), RunError> {
        match self.0 {}
    }
}

#[derive(Debug)]
pub(super) struct Calls;

impl Calls {
    pub(super) fn new(_: Option<&Radio>) -> Self {
        Self
    }

    pub(super) fn wants_rates(&self, _: Time) -> bool {
        false
    }

    pub(super) fn handle_reading(
        &mut self,
        _: &[(Address, Reading)],
        _: Option<Result<Stations, String>>,
        _: Time,
    ) {
    }

    pub(super) fn handle_timeout(&mut self, _: Time) {}

    pub(super) fn room(&self) -> Option<Room> {
        None
    }

    pub(super) fn status(&self) -> Value {
        Value::Null
    }
}

pub(super) fn room(_: &Loop) -> Option<CallRoom> {
    None
}
