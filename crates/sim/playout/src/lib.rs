//! Playout policies on the same traces: late loss against delay, and the best that hindsight could do.
