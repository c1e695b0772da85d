//! Links, queues and TCP in virtual time.
