//! Links, queues, senders and whole paths, by hand, by properties and against ns-2.

mod compare;
mod dumbbell;
mod errors;
mod harness;
mod link;
mod lossy;
mod ns2;
mod options;
mod path;
mod queues;
mod real;
mod receiver;
mod sources;
mod tfrc_ends;
mod traces;
