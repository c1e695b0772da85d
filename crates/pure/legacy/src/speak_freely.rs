//! Speak Freely 7: its own packets, and RTP.
