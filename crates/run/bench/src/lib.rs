//! Experiments on real sockets, and many of them at once
