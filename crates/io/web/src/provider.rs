//! What is served, by whoever has it.

use crate::{Accepts, Encoding};
use bytes::Bytes;
use std::future::Future;

/// What somebody may do, by the door that they came through.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Access {
    Look,
    Change,
}

/// A file, the same for everybody.
#[derive(Clone, Debug)]
pub struct File {
    pub content_type: &'static str,
    /// In quotation marks (RFC 9110, section 8.8.3); another one for each encoding.
    pub etag: String,
    pub encoding: Encoding,
    pub content: Bytes,
}

/// Metrics as a monitoring program reads them.
#[derive(Clone, Debug)]
pub struct Exposition {
    pub content_type: &'static str,
    pub content: Bytes,
}

/// Why the provider does not do what it is asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// It has nothing of that name.
    Unknown,
    /// What it was asked for makes no sense, and why.
    Invalid(String),
    /// It cannot be done as things are, and why.
    Conflict(String),
    /// Something that is needed does not answer, and what.
    Away(String),
}

/// What a server serves. It is asked only by those who may see the answer, and only while they wait for it.
pub trait Provider: Send + Sync + 'static {
    /// A file of the page, for anybody. It must say nothing of the household. `/` is the page.
    fn file(&self, path: &str, accepts: Accepts) -> Option<File>;

    /// The page as it is written for somebody who is let in, where it is not made of files: HTML without a script.
    /// `None`: `/` is a file.
    fn page(
        &self,
        _access: Access,
        _why: Option<&str>,
    ) -> impl Future<Output = Option<Result<Bytes, Refusal>>> + Send {
        async { None }
    }

    /// What is to be seen now: JSON in one line.
    fn overview(
        &self,
        access: Access,
        why: Option<&str>,
    ) -> impl Future<Output = Result<Bytes, Refusal>> + Send;

    /// What is set, in JSON. Only those who may change it are answered.
    fn settings(&self) -> impl Future<Output = Result<Bytes, Refusal>> + Send;

    /// A picture that an action's answer named, by what stands behind `/v1/codes/`.
    fn code(&self, name: &str) -> impl Future<Output = Option<File>> + Send;

    /// The metrics, in a format that `accept` names. They must name nobody: a monitoring program keeps them for long.
    fn metrics(&self, _accept: &str) -> impl Future<Output = Result<Exposition, Refusal>> + Send {
        async { Err(Refusal::Unknown) }
    }

    /// Does what `POST` asks for. `path` begins with `/v1/`, and the answer is JSON or empty.
    fn act(&self, path: &str, body: Bytes) -> impl Future<Output = Result<Bytes, Refusal>> + Send;
}
