//! Nautilus 1.5: LPC-10 in CFB mode.
