//! Tests of the machine.

mod rules;
