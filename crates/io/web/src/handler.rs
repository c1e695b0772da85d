//! One request, from its head to its answer.

use crate::body::Answer;
use crate::events::{self, View};
use crate::origin::Arrival;
use crate::request::{self, Form, METRICS_PATH, SESSION_PATH};
use crate::response::{self, Denied};
use crate::server::Inner;
use crate::session::{Origin, SessionId};
use crate::{Accepts, Access, Peer, Provider, Refusal, Refused};
use bytes::Bytes;
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use hyper::body::{Body as _, Incoming};
use hyper::header;
use hyper::http::request::Parts;
use hyper::{Method, Request, Response};
use serde::Deserialize;
use std::future::Future;
use std::sync::Arc;
use tokio::sync::mpsc;
use tokio::time::timeout;

/// What a door lets those do who come through it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Door {
    Everything,
    WithLink,
    Look,
    /// Nothing but the metrics.
    Metrics,
}

/// Where a connection came from.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Visit {
    pub(crate) door: Door,
    pub(crate) origin: Origin,
    pub(crate) arrival: Arrival,
}

impl Visit {
    pub(crate) fn peer(&self) -> Peer {
        self.origin.peer
    }
}

pub(crate) async fn answer<P: Provider>(
    inner: &Arc<Inner<P>>,
    visit: Visit,
    request: Request<Incoming>,
) -> Response<Answer> {
    let result = serve(inner, visit, request).await;
    inner.counts.count(result.as_ref().err().map(|denied| denied.why));
    let mut response = result.unwrap_or_else(Denied::response);
    response::secure(response.headers_mut(), inner.config.has_sign_in_form);
    response
}

async fn serve<P: Provider>(
    inner: &Arc<Inner<P>>,
    visit: Visit,
    request: Request<Incoming>,
) -> Result<Response<Answer>, Denied> {
    if !inner.admit(visit.peer()) {
        return Err(Refused::Rate.into());
    }
    let (head, body) = request.into_parts();
    request::check(&head, visit.arrival)?;
    let is_for_metrics = head.uri.path() == METRICS_PATH && head.method == Method::GET;
    match visit.door {
        Door::Metrics | Door::Everything if is_for_metrics => return metrics(inner, &head).await,
        Door::Metrics => return Err(Refused::Unknown.into()),
        Door::Everything | Door::WithLink | Door::Look => {}
    }
    if head.method != Method::POST {
        return get(inner, visit, &head).await;
    }
    let form = request::form(&head, inner.config.has_sign_in_form)?;
    let path = head.uri.path();
    if path == SESSION_PATH && visit.door == Door::WithLink {
        let body = read(inner, &head, body).await?;
        return sign_in(inner, visit, form, &body);
    }
    if !path.starts_with("/v1/") {
        return Err(Refused::Method.into());
    }
    change(inner, visit, &head)?;
    let body = read(inner, &head, body).await?;
    let answer = within(inner, inner.provider.act(path, body)).await?;
    inner.watch.changed();
    Ok(response::json(answer))
}

async fn metrics<P: Provider>(inner: &Inner<P>, head: &Parts) -> Result<Response<Answer>, Denied> {
    if head.uri.query().is_some_and(|query| !query.is_empty()) {
        return Err(Refused::Unknown.into());
    }
    let accept = head.headers.get(header::ACCEPT).and_then(|accept| accept.to_str().ok()).unwrap_or_default();
    Ok(response::exposition(within(inner, inner.provider.metrics(accept)).await?))
}

async fn get<P: Provider>(
    inner: &Arc<Inner<P>>,
    visit: Visit,
    head: &Parts,
) -> Result<Response<Answer>, Denied> {
    let path = head.uri.path();
    match path {
        "/v1/overview" => {
            let (access, _) = access(inner, visit, head)?;
            let why = request::why(head)?;
            let overview = within(inner, inner.overview(access, why.as_deref())).await?;
            Ok(response::json(overview))
        }
        "/v1/settings" => {
            change(inner, visit, head)?;
            Ok(response::json(within(inner, inner.provider.settings()).await?))
        }
        "/v1/events" => {
            let (access, session) = access(inner, visit, head)?;
            let view = View { access, why: request::why(head)?, session };
            let (sender, receiver) = mpsc::channel(1);
            tokio::spawn(events::follow(Arc::clone(inner), view, sender));
            Ok(response::events(Answer::Events(receiver)))
        }
        _ => match path.strip_prefix("/v1/codes/") {
            Some(name) => {
                change(inner, visit, head)?;
                let code =
                    within(inner, async { inner.provider.code(name).await.ok_or(Refusal::Unknown) }).await?;
                let mut response = response::file(code, None);
                response
                    .headers_mut()
                    .insert(header::CACHE_CONTROL, header::HeaderValue::from_static("no-store"));
                Ok(response)
            }
            None => page(inner, visit, head).await,
        },
    }
}

/// A file of the page; or the page as it is written for who is let in.
async fn page<P: Provider>(
    inner: &Arc<Inner<P>>,
    visit: Visit,
    head: &Parts,
) -> Result<Response<Answer>, Denied> {
    if head.uri.path() == "/"
        && inner.config.has_sign_in_form
        && let Ok((access, _)) = access(inner, visit, head)
    {
        let why = request::why(head)?;
        let written =
            async { inner.provider.page(access, why.as_deref()).await.unwrap_or(Err(Refusal::Unknown)) };
        return Ok(response::html(within(inner, written).await?));
    }
    let text = |name| head.headers.get(name).and_then(|value: &header::HeaderValue| value.to_str().ok());
    let accepts = Accepts::parse(text(header::ACCEPT_ENCODING));
    let file = inner.provider.file(head.uri.path(), accepts).ok_or(Refused::Unknown)?;
    Ok(response::file(file, text(header::IF_NONE_MATCH)))
}

/// What whoever asks may do, and by which session.
fn access<P: Provider>(
    inner: &Inner<P>,
    visit: Visit,
    head: &Parts,
) -> Result<(Access, Option<SessionId>), Refused> {
    match visit.door {
        Door::Everything => Ok((Access::Change, None)),
        Door::Look => Ok((Access::Look, None)),
        Door::Metrics => Err(Refused::Unknown),
        Door::WithLink => {
            let mut cookies = request::cookies(&head.headers);
            let session = cookies.find_map(|cookie| inner.resume(cookie, visit.origin));
            session.map(|session| (Access::Change, Some(session))).ok_or(Refused::Session)
        }
    }
}

fn change<P: Provider>(inner: &Inner<P>, visit: Visit, head: &Parts) -> Result<(), Refused> {
    match access(inner, visit, head)?.0 {
        Access::Change => Ok(()),
        Access::Look => Err(Refused::Look),
    }
}

#[derive(Deserialize)]
struct SignIn {
    link: String,
}

fn sign_in<P: Provider>(
    inner: &Inner<P>,
    visit: Visit,
    form: Form,
    body: &[u8],
) -> Result<Response<Answer>, Denied> {
    let link = match form {
        Form::Json => serde_json::from_slice::<SignIn>(body).map_err(|_| Refused::Body)?.link,
        // A code's characters are written in a form as they are.
        Form::SignIn => {
            let text = std::str::from_utf8(body).map_err(|_| Refused::Body)?;
            text.trim().strip_prefix("link=").ok_or(Refused::Body)?.trim_matches('+').to_owned()
        }
    };
    let cookie = inner.redeem(&link, visit.origin)?;
    Ok(response::signed_in(&request::set_cookie(&cookie), form == Form::SignIn))
}

/// A request's body, as long as head and body together may be and as long as it may take.
async fn read<P: Provider>(inner: &Inner<P>, head: &Parts, body: Incoming) -> Result<Bytes, Refused> {
    let length_max = inner.config.request_bytes_max.saturating_sub(request::head_bytes(head));
    if body.size_hint().lower() > u64::try_from(length_max).unwrap_or(u64::MAX) {
        return Err(Refused::Length);
    }
    let whole = timeout(inner.config.body_max, Limited::new(body, length_max).collect()).await;
    match whole.map_err(|_| Refused::Slow)? {
        Ok(body) => Ok(body.to_bytes()),
        Err(error) if error.is::<LengthLimitError>() => Err(Refused::Length),
        Err(_) => Err(Refused::Body),
    }
}

/// The provider's answer, if it comes in time.
async fn within<P: Provider, T>(
    inner: &Inner<P>,
    answer: impl Future<Output = Result<T, Refusal>>,
) -> Result<T, Denied> {
    match timeout(inner.config.provider_max, answer).await {
        Ok(answer) => Ok(answer?),
        Err(_) => Err(Refused::Away.into()),
    }
}
