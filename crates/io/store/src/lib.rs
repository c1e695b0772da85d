//! The receipt repository in SQLite: acknowledged means durable
