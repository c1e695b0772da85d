//! One call: from ringing to the end.

use super::{phrase, printable};
use rsipstack::dialog::dialog::{DialogState, DialogStateReceiver, TerminatedReason, TransactionHandle};
use rsipstack::dialog::dialog_layer::DialogLayer;
use rsipstack::dialog::invitation::InviteAsyncResult;
use rsipstack::dialog::invite_dialog::InviteDialog;
use rsipstack::sip::{Header, HeadersExt, Method, Request, StatusCode};
use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, mpsc};
use tokio::task::JoinHandle;

/// Hanging up waits at most so long for the other side's word.
const HANG_UP_MAX: Duration = Duration::from_secs(2);
/// A session description has at most so many bytes (the largest datagram that the stack reads).
const BODY_MAX: usize = 8_192;

/// What is new about a call.
#[derive(Debug)]
pub enum CallEvent {
    /// The request has reached somebody (100).
    Trying,
    /// It rings there (180 or 183).
    Ringing,
    /// The other side has picked up; its answer to our offer.
    Answered {
        /// A session description, not yet looked at; none if there was none.
        answer: Option<String>,
    },
    /// The other side has our answer, and its own one if we made the offer in our answer (RFC 3261 section 13.2.2.4).
    Acknowledged {
        /// A session description, not yet looked at.
        answer: Option<String>,
    },
    /// The other side wants to change the session (re-INVITE, or UPDATE). It waits for [`Change::accept`].
    Changed(Change),
    /// What became of our own change.
    Modified {
        /// The other side's answer, or its status code.
        answer: Result<Option<String>, u16>,
    },
    /// Whether the other side still knows of the call, after [`Call::probe`].
    Probed {
        /// No if it says so, or nothing.
        is_alive: bool,
    },
    /// It is over.
    Ended(Ending),
}

/// Why a call is over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ending {
    /// They hung up.
    HungUp,
    /// We hung up.
    HungUpHere,
    /// Who called has given up.
    Cancelled,
    /// The call was not taken.
    Refused {
        /// The status code (RFC 3261 section 21).
        code: u16,
        /// The other side's words, cut and printable: the phrase, or what a `Warning` or `Reason` says.
        reason: String,
    },
    /// Nobody answered, or nobody acknowledged.
    Silence,
}

/// A change that the other side wants.
pub struct Change {
    /// Its offer; none if it wants ours, or only says that it is there.
    pub offer: Option<String>,
    /// Whether the answer may be our offer: a re-INVITE without one (RFC 3261 section 14.2).
    pub wants_offer: bool,
    handle: TransactionHandle,
}

impl fmt::Debug for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Change").field("wants_offer", &self.wants_offer).finish_non_exhaustive()
    }
}

impl Change {
    pub async fn accept(self, answer: Option<&str>) {
        let (headers, body) = body(answer);
        // The other side may have gone by now.
        drop(self.handle.respond(StatusCode::OK, headers, body).await);
    }

    /// Refuses; the session goes on as it was (RFC 3261 section 14.2).
    pub async fn refuse(self, code: u16) {
        drop(self.handle.reply(StatusCode::from(code)).await);
    }
}

/// One call. Dropping it forgets it without a word; [`Call::hang_up`] says goodbye.
pub struct Call {
    layer: Arc<DialogLayer>,
    dialog: InviteDialog,
    states: DialogStateReceiver,
    /// Of a call that we make, until the final response is there.
    invitation: Option<JoinHandle<InviteAsyncResult>>,
    /// States that follow the final response but were delivered before it, in order of arrival.
    deferred: VecDeque<DialogState>,
    own: (mpsc::Sender<CallEvent>, mpsc::Receiver<CallEvent>),
    is_confirmed: bool,
    is_over: bool,
    _line: OwnedSemaphorePermit,
}

impl fmt::Debug for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Call").field("peer", &self.peer()).field("is_over", &self.is_over).finish()
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        self.layer.remove_dialog(&self.dialog.id());
    }
}

impl Call {
    pub(super) fn outgoing(
        layer: Arc<DialogLayer>,
        dialog: InviteDialog,
        states: DialogStateReceiver,
        invitation: JoinHandle<InviteAsyncResult>,
        line: OwnedSemaphorePermit,
    ) -> Self {
        Self::new(layer, dialog, states, Some(invitation), line)
    }

    pub(super) fn incoming(
        layer: Arc<DialogLayer>,
        dialog: InviteDialog,
        states: DialogStateReceiver,
        line: OwnedSemaphorePermit,
    ) -> Self {
        Self::new(layer, dialog, states, None, line)
    }

    fn new(
        layer: Arc<DialogLayer>,
        dialog: InviteDialog,
        states: DialogStateReceiver,
        invitation: Option<JoinHandle<InviteAsyncResult>>,
        line: OwnedSemaphorePermit,
    ) -> Self {
        let own = mpsc::channel(8);
        Self {
            layer,
            dialog,
            states,
            invitation,
            deferred: VecDeque::new(),
            own,
            is_confirmed: false,
            is_over: false,
            _line: line,
        }
    }

    /// Who calls, or who was called, as the `From` or `To` header says: nothing that is proven.
    pub fn peer(&self) -> String {
        let request = self.dialog.initial_request();
        let header = match self.dialog.role() {
            rsipstack::transaction::key::TransactionRole::Server => {
                request.from_header().ok().and_then(|from| from.uri().ok())
            }
            rsipstack::transaction::key::TransactionRole::Client => {
                request.to_header().ok().and_then(|to| to.uri().ok())
            }
        };
        header.map_or_else(String::new, |uri| {
            let user = uri.user().unwrap_or("anonymous");
            printable(&format!("{user}@{}", uri.host()))
        })
    }

    /// The caller's offer, not yet looked at (RFC 3264); none if it wants ours.
    pub fn offer(&self) -> Option<String> {
        text(&self.dialog.initial_request().body)
    }

    /// Says that it rings here.
    pub fn ring(&self) {
        // If it cannot be sent, the caller has gone; an event says so.
        drop(self.dialog.ringing(None, None));
    }

    /// Picks up.
    pub fn accept(&self, answer: &str) {
        let (headers, body) = body(Some(answer));
        drop(self.dialog.accept(headers, body));
    }

    /// Does not take the call, with a status code (RFC 3261 section 21) and a reason in words.
    pub fn reject(&mut self, code: u16, reason: &str) {
        self.is_over = true;
        let words = format!("SIP;cause={code};text=\"{}\"", printable(reason).replace(['"', '\\'], "'"));
        drop(self.dialog.reject(Some(StatusCode::from(code)), Some(words)));
    }

    /// Offers a change (RFC 3261 section 14.1); [`CallEvent::Modified`] says what becomes of it.
    pub fn modify(&self, offer: &str) {
        let (dialog, sender) = (self.dialog.clone(), self.own.0.clone());
        let (headers, body) = body(Some(offer));
        tokio::spawn(async move {
            let answer = match dialog.reinvite_with_glare_retry(headers, body, 3).await {
                Ok(Some(response)) if response.status_code.code() / 100 == 2 => Ok(text(&response.body)),
                Ok(Some(response)) => Err(response.status_code.code()),
                Ok(None) | Err(_) => Err(StatusCode::RequestTimeout.code()),
            };
            // The call may be over.
            drop(sender.send(CallEvent::Modified { answer }).await);
        });
    }

    /// Asks whether the other side still knows of the call: OPTIONS in the dialog (RFC 3261 section 11).
    /// [`CallEvent::Probed`] says.
    pub fn probe(&self) {
        let (dialog, sender) = (self.dialog.clone(), self.own.0.clone());
        tokio::spawn(async move {
            let answer = dialog.request(Method::Options, None, None).await;
            // Whatever else it answers, it is there (RFC 5057 section 5.1 for which codes end a dialog).
            let gone = [404, 408, 410, 416, 480, 481, 482, 483, 484, 485, 502, 604];
            let is_alive = answer.is_ok_and(|response| {
                response.is_some_and(|response| !gone.contains(&response.status_code.code()))
            });
            drop(sender.send(CallEvent::Probed { is_alive }).await);
        });
    }

    /// Waits for what is new. After [`CallEvent::Ended`] nothing is.
    pub async fn event(&mut self) -> CallEvent {
        loop {
            if self.is_over {
                std::future::pending::<()>().await;
            }
            let deferred = match self.invitation {
                None => self.deferred.pop_front(),
                Some(_) => None,
            };
            let state = match deferred {
                Some(state) => Some(state),
                None => tokio::select! {
                    biased;
                    result = finished(&mut self.invitation) => match self.handle_final(result) {
                        Some(event) => return event,
                        None => continue,
                    },
                    Some(event) = self.own.1.recv() => return event,
                    state = self.states.recv() => state,
                },
            };
            // The stack acknowledges the final response before it returns it, so the other side's next request can
            // be here first. It would be judged as if nothing had been agreed on.
            match state {
                Some(state) if self.invitation.is_some() && follows_the_final_response(&state) => {
                    self.deferred.push_back(state);
                    continue;
                }
                state => {
                    if let Some(event) = self.handle_state(state).await {
                        return event;
                    }
                }
            }
        }
    }

    fn handle_final(&mut self, result: Option<InviteAsyncResult>) -> Option<CallEvent> {
        self.invitation = None;
        let response = match result {
            Some(Ok((_, Some(response)))) => response,
            Some(Ok((_, None)) | Err(_)) | None => return self.end(Ending::Silence),
        };
        let code = response.status_code.code();
        if code / 100 == 2 {
            self.is_confirmed = true;
            return Some(CallEvent::Answered { answer: text(&response.body) });
        }
        let mut reason = phrase(&response.status_code);
        for header in response.headers.iter() {
            if let Header::Warning(words) = header {
                reason = warned(words.value());
            } else if let Header::Reason(words) = header {
                reason = quoted(words.value());
            }
        }
        match code {
            408 => self.end(Ending::Silence),
            487 => self.end(Ending::HungUpHere),
            _ => self.end(Ending::Refused { code, reason: printable(&reason) }),
        }
    }

    fn end(&mut self, ending: Ending) -> Option<CallEvent> {
        (!std::mem::replace(&mut self.is_over, true)).then_some(CallEvent::Ended(ending))
    }

    async fn handle_state(&mut self, state: Option<DialogState>) -> Option<CallEvent> {
        match state {
            None => self.end(Ending::Silence),
            Some(DialogState::Calling(_) | DialogState::WaitAck(..) | DialogState::Publish(..)) => None,
            Some(DialogState::Trying(_)) => Some(CallEvent::Trying),
            Some(DialogState::Early(..)) => {
                let rings = self.invitation.is_some() && !self.is_confirmed;
                rings.then_some(CallEvent::Ringing)
            }
            Some(DialogState::Confirmed(..)) => {
                // Said again after each request within the call.
                if self.invitation.is_some() || std::mem::replace(&mut self.is_confirmed, true) {
                    return None;
                }
                let acknowledgement = self.dialog.last_remote_ack();
                let answer = acknowledgement.and_then(|request| text(&request.body));
                Some(CallEvent::Acknowledged { answer })
            }
            Some(DialogState::Updated(_, request, handle)) => {
                Some(CallEvent::Changed(change(&request, handle)))
            }
            Some(DialogState::Options(_, _, handle) | DialogState::Info(_, _, handle)) => {
                drop(handle.reply(StatusCode::OK).await);
                None
            }
            Some(
                DialogState::Notify(_, _, handle)
                | DialogState::Refer(_, _, handle)
                | DialogState::Message(_, _, handle),
            ) => {
                drop(handle.reply(StatusCode::MethodNotAllowed).await);
                None
            }
            Some(DialogState::Terminated(_, reason)) => self.terminated(&reason),
        }
    }

    fn terminated(&mut self, reason: &TerminatedReason) -> Option<CallEvent> {
        self.end(match reason {
            TerminatedReason::UacCancel => Ending::Cancelled,
            TerminatedReason::UacBye
            | TerminatedReason::UasBye
            | TerminatedReason::UacBusy
            | TerminatedReason::UasBusy
            | TerminatedReason::UasDecline => Ending::HungUp,
            TerminatedReason::Timeout => Ending::Silence,
            TerminatedReason::ProxyAuthRequired => {
                Ending::Refused { code: 407, reason: "the proxy asks for a password".to_owned() }
            }
            TerminatedReason::ProxyError(code)
            | TerminatedReason::UacOther(code)
            | TerminatedReason::UasOther(code) => {
                Ending::Refused { code: code.code(), reason: printable(&phrase(code)) }
            }
        })
    }

    /// Its Call-ID.
    pub fn id(&self) -> String {
        self.dialog.id().call_id
    }

    /// Hangs up: CANCEL before it is answered, BYE after (RFC 3261 sections 9 and 15), 480 for a call that rings here.
    /// Waits at most two seconds for the other side's word.
    pub async fn hang_up(mut self) {
        if self.is_over {
            return;
        }
        if self.invitation.is_none() && !self.is_confirmed {
            self.reject(StatusCode::TemporarilyUnavailable.code(), "not answered");
            // It is handed over to the task that holds the transaction.
            tokio::task::yield_now().await;
        }
        let goodbye = async {
            if let Err(error) = self.dialog.hangup().await {
                tracing::debug!(error = %printable(&error.to_string()), "goodbye could not be said");
            }
            if let Some(invitation) = &mut self.invitation {
                // Of a call that was cancelled the answer is waited for, which is 487.
                drop(invitation.await);
            }
        };
        drop(tokio::time::timeout(HANG_UP_MAX, goodbye).await);
    }
}

/// The result of an invitation; never, if there is none.
async fn finished(invitation: &mut Option<JoinHandle<InviteAsyncResult>>) -> Option<InviteAsyncResult> {
    match invitation {
        Some(handle) => handle.await.ok(),
        None => std::future::pending().await,
    }
}

/// Whether a state belongs after the final response: a re-INVITE (RFC 3261 section 14.1 allows none before it), and the
/// end, of which the final response says more if the call was not taken. An UPDATE may come earlier (RFC 3311).
fn follows_the_final_response(state: &DialogState) -> bool {
    match state {
        DialogState::Updated(_, request, _) => request.method == Method::Invite,
        DialogState::Terminated(..) => true,
        DialogState::Calling(_)
        | DialogState::Trying(_)
        | DialogState::Early(..)
        | DialogState::WaitAck(..)
        | DialogState::Confirmed(..)
        | DialogState::Publish(..)
        | DialogState::Notify(..)
        | DialogState::Refer(..)
        | DialogState::Message(..)
        | DialogState::Info(..)
        | DialogState::Options(..) => false,
    }
}

fn change(request: &Request, handle: TransactionHandle) -> Change {
    let offer = text(&request.body);
    let wants_offer = offer.is_none() && request.method == Method::Invite;
    Change { offer, wants_offer, handle }
}

fn body(description: Option<&str>) -> (Option<Vec<Header>>, Option<Vec<u8>>) {
    let headers = description.map(|_| vec![Header::ContentType("application/sdp".into())]);
    (headers, description.map(|text| text.as_bytes().to_vec()))
}

/// A body as text, if there is one that may be a session description.
fn text(body: &[u8]) -> Option<String> {
    if body.is_empty() || body.len() > BODY_MAX {
        return None;
    }
    std::str::from_utf8(body).ok().map(str::to_owned)
}

/// What stands between the quotation marks of a `Warning`, or all of it: its code and who warns are not for people (RFC 3261,
/// section 20.43).
fn warned(warning: &str) -> String {
    let inner = warning.split_once('"').and_then(|(_, rest)| rest.rsplit_once('"'));
    inner.map_or_else(|| warning.to_owned(), |(text, _)| text.to_owned())
}

/// What stands in a `Reason` header's text, or all of it (RFC 3326).
fn quoted(reason: &str) -> String {
    let inner = reason.split_once("text=\"").and_then(|(_, rest)| rest.split_once('"'));
    inner.map_or_else(|| reason.to_owned(), |(text, _)| text.to_owned())
}
