//! BoAT as paper D prints it: RC4 and MD5 under keys that a Blowfish handshake brings.
