//! Between the server, which knows paths and bytes, and a home.

use crate::files::{self, FILES};
use crate::{Action, Home, describe, plain};
use bytes::Bytes;
use guestright_overview::{May, Team};
use guestright_web::{Accepts, Access, Encoding, Exposition, File, Provider, Refusal};
use std::future::Future;

/// Whether the page is written here, because none was built.
pub(crate) const IS_PLAIN: bool = FILES.is_empty();

#[derive(Debug)]
pub(crate) struct Page<H>(pub(crate) H);

impl<H: Home> Provider for Page<H> {
    fn file(&self, path: &str, accepts: Accepts) -> Option<File> {
        match path {
            "/v1/openapi.json" => Some(text("application/json", "api", describe::openapi().to_string())),
            "/" if IS_PLAIN => Some(text("text/html; charset=utf-8", "sign-in", plain::sign_in())),
            plain::STYLE_PATH if IS_PLAIN => {
                Some(text("text/css; charset=utf-8", "style", plain::STYLE.to_owned()))
            }
            _ => files::find(FILES, path, accepts),
        }
    }

    async fn page(&self, access: Access, why: Option<&str>) -> Option<Result<Bytes, Refusal>> {
        if !IS_PLAIN {
            return None;
        }
        let overview = async { self.0.overview(may(access), team(why)?).await }.await;
        Some(overview.map(|overview| plain::page(&overview.shortened()).into()))
    }

    async fn overview(&self, access: Access, why: Option<&str>) -> Result<Bytes, Refusal> {
        let overview = self.0.overview(may(access), team(why)?).await?;
        Ok(overview.shortened().to_json().into())
    }

    async fn settings(&self) -> Result<Bytes, Refusal> {
        let settings = self.0.settings().await?;
        Ok(serde_json::to_string(&settings).expect("numbers and texts can be written").into())
    }

    fn code(&self, name: &str) -> impl Future<Output = Option<File>> + Send {
        let code = self.0.code(name);
        async { Some(text("image/svg+xml", "code", code.await?)) }
    }

    async fn metrics(&self, accept: &str) -> Result<Exposition, Refusal> {
        self.0.metrics(accept).await
    }

    async fn act(&self, path: &str, body: Bytes) -> Result<Bytes, Refusal> {
        let answer = self.0.act(Action::parse(path, &body)?).await?;
        Ok(answer.to_json().into())
    }
}

fn may(access: Access) -> May {
    match access {
        Access::Look => May::Look,
        Access::Change => May::Change,
    }
}

fn team(why: Option<&str>) -> Result<Option<Team>, Refusal> {
    let team = why.map(|why| Team::try_from(why.to_owned())).transpose();
    team.map_err(|error| Refusal::Invalid(format!("This is no team: {error}.")))
}

/// What is written here. It changes with the program alone.
fn text(content_type: &'static str, name: &str, content: String) -> File {
    let etag = format!("\"{name}-{}\"", env!("CARGO_PKG_VERSION"));
    File { content_type, etag, encoding: Encoding::Plain, content: content.into() }
}
