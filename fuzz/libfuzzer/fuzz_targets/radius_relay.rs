#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| guestright_fuzz::radius_relay(bytes));
