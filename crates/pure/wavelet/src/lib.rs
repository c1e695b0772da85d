//! Speech codecs whose packets can be cut anywhere: `w1` on a wavelet transform, as BoAT had it, and `w2` on an MDCT.
