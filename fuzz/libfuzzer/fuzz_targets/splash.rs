#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| guestright_fuzz::splash(bytes));
