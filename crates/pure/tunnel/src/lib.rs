//! ESP (RFC 4303), L2TP (RFC 2661) and PPP framing, and what every end of a tunnel is, without input or output.
