//! PGPfone 2.1: hello, commitment, Diffie-Hellman, words to compare, and counter mode.
