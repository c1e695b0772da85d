//! A member's telephone: the user agent of RFC 3261, on a kept stack.
//!
//! In: what to register as, whom to call, answers. Out: [`AgentEvent`]s, and for each call [`CallEvent`]s.
//!
//! Invariants: with a home, nobody but the home is listened to; names are never looked up for a peer; one call at a
//! time, and whoever else calls is told that it is busy; what a peer sent is shown only through [`printable`].

mod call;
mod description;
mod report;

pub use call::{Call, CallEvent, Change, Ending};
pub use description::{
    Agreement, Crypto, Description, DescriptionError, Direction, Format, MEDIA_MAX, OtherMedia, Profile,
};

pub use report::CallQuality;
use rsipstack::dialog::DialogId;
use rsipstack::dialog::authenticate::Credential;
use rsipstack::dialog::dialog_layer::DialogLayer;
use rsipstack::dialog::invitation::InviteOption;
use rsipstack::dialog::registration::{Registration, backoff_interval, refresh_interval};
use rsipstack::platform::CancellationToken;
use rsipstack::sip::{Auth, Header, HostWithPort, Method, Param, Scheme, StatusCode, Uri};
use rsipstack::transaction::endpoint::{EndpointInnerRef, EndpointOption};
use rsipstack::transaction::{Endpoint, EndpointBuilder, Transaction};
use rsipstack::transport::transport_layer::DomainResolver;
use rsipstack::transport::udp::UdpConnection;
use rsipstack::transport::{SipAddr, TcpListenerConnection, TransportLayer};
use std::fmt;
use std::future::Future;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;
use thiserror::Error;
use tokio::sync::{Semaphore, mpsc, watch};

/// SIP's port (RFC 3261 section 19.1.2).
pub const PORT: u16 = 5060;
/// A request line or a header that goes to a person is cut after so many characters.
pub const SHOWN_MAX: usize = 128;
/// So many requests are worked on at a time; more are told to come again.
const REQUESTS_MAX: usize = 64;
/// Goodbye to the registrar may take so long.
const GOODBYE_MAX: Duration = Duration::from_secs(2);
/// A request that has overtaken the final response waits for it at most so long: the other side repeats it (RFC 3261
/// section 17.1.2.2, T1).
const FINAL_RESPONSE_MAX: Duration = Duration::from_millis(500);
/// So many ports are tried for one that is free in UDP and in TCP.
pub(crate) const PORT_ATTEMPTS: usize = 16;

/// What SIP goes over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transport {
    Udp,
    Tcp,
}

impl From<Transport> for rsipstack::sip::Transport {
    fn from(transport: Transport) -> Self {
        match transport {
            Transport::Udp => Self::Udp,
            Transport::Tcp => Self::Tcp,
        }
    }
}

/// What a telephone is to be.
#[derive(Clone, Debug)]
pub struct AgentSettings {
    /// The name that it has at home, the user part of its address (RFC 3261 section 19.1.1).
    pub user: String,
    /// This computer's own address, and the port for SIP (0: any).
    pub bind: SocketAddr,
    /// What SIP goes over.
    pub transport: Transport,
    /// The member's registrar and proxy; without one, calls go straight to the address that was dialled.
    pub home: Option<SocketAddr>,
    /// A registration is asked for, for so many seconds.
    pub expires_s: u32,
}

/// Why there is no telephone, or no call.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum AgentError {
    #[error("cannot listen for calls on {address}: {reason}")]
    Bind {
        address: SocketAddr,
        /// The operating system's word.
        reason: String,
    },
    #[error("`{got}` is no SIP address: expected `sip:name@address`")]
    Address {
        /// What was given, cut.
        got: String,
    },
    /// There is one line.
    #[error("there is a call already")]
    Busy,
    /// The stack could not send.
    #[error("cannot send to {peer}: {reason}")]
    Send {
        peer: String,
        /// The stack's word.
        reason: String,
    },
}

/// What is new about the telephone.
#[derive(Debug)]
pub enum AgentEvent {
    /// The home knows us, and calls come through, for so many seconds unless refreshed.
    Registered {
        /// Granted seconds.
        seconds: u32,
    },
    /// The home does not answer, or does not want us. It is tried again.
    NotRegistered {
        /// Its status code (RFC 3261 section 21), if it answered.
        code: Option<u16>,
        reason: String,
    },
    /// Somebody calls.
    Incoming(Box<Call>),
}

/// A telephone. Dropping it stops it at once; [`Agent::stop`] says goodbye first.
pub struct Agent {
    settings: AgentSettings,
    address: SocketAddr,
    layer: Arc<DialogLayer>,
    endpoint: EndpointInnerRef,
    cancel: CancellationToken,
    events: mpsc::Receiver<AgentEvent>,
    sender: mpsc::Sender<AgentEvent>,
    /// One call at a time.
    line: Arc<Semaphore>,
    /// The Call-ID of the call that we make and that has no final response yet.
    invitation: watch::Sender<Option<String>>,
    is_registered: bool,
}

impl fmt::Debug for Agent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Agent").field("settings", &self.settings).field("address", &self.address).finish()
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        self.cancel.cancel();
    }
}

impl Agent {
    /// Opens the sockets and begins to listen. Needs a runtime.
    ///
    /// # Errors
    /// The address is not this computer's, or the port is taken.
    pub async fn start(settings: AgentSettings) -> Result<Self, AgentError> {
        let cancel = CancellationToken::new();
        let transport_layer =
            TransportLayer::new_with_domain_resolver(cancel.child_token(), Box::new(NoNames));
        let address = open(&settings, &transport_layer, &cancel).await?;
        if let Some(home) = settings.home {
            let allowed = home.ip();
            transport_layer.set_whitelist(move |peer: IpAddr| async move { peer == allowed });
        }
        let endpoint: Endpoint = EndpointBuilder::new()
            .with_transport_layer(transport_layer)
            .with_cancel_token(cancel.child_token())
            .with_user_agent(concat!("guestright/", env!("CARGO_PKG_VERSION")))
            .with_allows(allowed_methods())
            .with_option(EndpointOption {
                callid_suffix: Some(address.ip().to_string()),
                ..EndpointOption::default()
            })
            .build();
        let incoming = endpoint
            .incoming_transactions()
            .map_err(|error| AgentError::Bind { address, reason: error.to_string() })?;
        let inner = endpoint.inner.clone();
        let layer = Arc::new(DialogLayer::new(inner.clone()));
        let (sender, events) = mpsc::channel(16);
        let agent = Self {
            address,
            layer,
            endpoint: inner.clone(),
            cancel: cancel.clone(),
            events,
            sender,
            line: Arc::new(Semaphore::new(1)),
            invitation: watch::Sender::new(None),
            is_registered: false,
            settings,
        };
        let front = agent.front();
        tokio::spawn(async move { drop(inner.serve().await) });
        tokio::spawn(front.receive(incoming));
        Ok(agent)
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Waits for what is new.
    pub async fn event(&mut self) -> AgentEvent {
        match self.events.recv().await {
            Some(event) => event,
            // We hold a sender ourselves.
            None => std::future::pending().await,
        }
    }

    /// Registers at home, and again before it runs out, for as long as the telephone lives (RFC 3261 section 10.2).
    /// Without a home nothing happens.
    pub fn register(&mut self) {
        let Some(home) = self.settings.home else { return };
        if std::mem::replace(&mut self.is_registered, true) {
            return;
        }
        let mut registration = self.registration();
        let server = self.server(home);
        let (sender, cancel, expires) = (self.sender.clone(), self.cancel.clone(), self.settings.expires_s);
        tokio::spawn(async move {
            let mut failures = 0;
            loop {
                let outcome = registration.register(server.clone(), Some(expires)).await;
                let granted = outcome.as_ref().ok().filter(|response| response.status_code.code() / 100 == 2);
                let (event, wait) = match (granted, &outcome) {
                    (Some(_), _) => {
                        failures = 0;
                        let seconds = registration.expires().clamp(1, expires);
                        (AgentEvent::Registered { seconds }, refresh_interval(seconds))
                    }
                    (None, outcome) => {
                        failures += 1;
                        (refusal(outcome), backoff_interval(failures - 1))
                    }
                };
                if sender.send(event).await.is_err() {
                    return;
                }
                tokio::select! {
                    () = cancel.cancelled() => return,
                    () = tokio::time::sleep(wait) => {}
                }
            }
        });
    }

    fn registration(&self) -> Registration {
        // The tunnel is the login: there is no password. The name is needed for the address of record.
        let credential = Credential {
            username: self.settings.user.clone(),
            password: String::new(),
            realm: None,
            auth_username: None,
        };
        let mut registration = Registration::new(self.endpoint.clone(), Some(credential));
        registration.contact = Some(rsipstack::sip::typed::Contact {
            display_name: None,
            uri: self.contact(),
            params: Vec::new(),
        });
        registration
    }

    fn server(&self, home: SocketAddr) -> Uri {
        Uri {
            scheme: Some(Scheme::Sip),
            host_with_port: HostWithPort::from(home),
            params: self.transport_parameter(),
            ..Uri::default()
        }
    }

    fn transport_parameter(&self) -> Vec<Param> {
        match self.settings.transport {
            Transport::Udp => Vec::new(),
            Transport::Tcp => vec![Param::Transport(rsipstack::sip::Transport::Tcp)],
        }
    }

    fn contact(&self) -> Uri {
        contact(&self.settings.user, self.address, self.settings.transport)
    }

    /// Calls `to`, a SIP address, with an offer (RFC 3264). The call's events say what becomes of it.
    ///
    /// # Errors
    /// `to` is no SIP address, it cannot be sent to, or there is a call already.
    pub fn dial(&self, to: &str, offer: &str) -> Result<Call, AgentError> {
        self.dial_with(to, offer, None)
    }

    /// The same, with one more header: its name and its value, of which the stack knows nothing. One whose value is not
    /// printable ASCII is left out.
    ///
    /// # Errors
    /// As [`Agent::dial`].
    pub fn dial_with(&self, to: &str, offer: &str, header: Option<(&str, &str)>) -> Result<Call, AgentError> {
        let header = header.filter(|(_, value)| value.bytes().all(|byte| (b' '..=b'~').contains(&byte)));
        let header = header.map(|(name, value)| Header::Other(name.to_owned(), value.to_owned()));
        let shown = || AgentError::Address { got: printable(to) };
        let permit = self.line.clone().try_acquire_owned().map_err(|_| AgentError::Busy)?;
        let callee = Uri::try_from(to).map_err(|_| shown())?;
        if callee.scheme != Some(Scheme::Sip) || callee.user().is_none() {
            return Err(shown());
        }
        let target = match self.settings.home {
            Some(home) => home,
            None => direct(&callee).ok_or_else(shown)?,
        };
        let own = self.settings.home.unwrap_or(self.address);
        let caller = Uri {
            scheme: Some(Scheme::Sip),
            auth: Some(Auth { user: self.settings.user.clone(), password: None }),
            host_with_port: HostWithPort::from(own),
            ..Uri::default()
        };
        let option = InviteOption {
            caller,
            callee,
            destination: Some(SipAddr::new(self.settings.transport.into(), HostWithPort::from(target))),
            content_type: Some("application/sdp".to_owned()),
            offer: Some(offer.as_bytes().to_vec()),
            contact: self.contact(),
            headers: header.map(|header| vec![header]),
            ..InviteOption::default()
        };
        let (states, events) = self.layer.new_dialog_state_channel();
        let (dialog, answer) = self.layer.do_invite_async(option, states).map_err(|error| {
            AgentError::Send { peer: printable(to), reason: printable(&error.to_string()) }
        })?;
        let id = dialog.id().call_id;
        self.invitation.send_replace(Some(id.clone()));
        let invitation = self.invitation.clone();
        let answer = tokio::spawn(async move {
            let answer = answer.await;
            invitation.send_if_modified(|open| open.take_if(|open| *open == id).is_some());
            match answer {
                Ok(answer) => answer,
                Err(error) => Err(rsipstack::Error::Error(error.to_string())),
            }
        });
        Ok(Call::outgoing(self.layer.clone(), dialog, events, answer, permit))
    }

    /// Says goodbye to the home, within two seconds, and stops.
    pub async fn stop(self) {
        if let (Some(home), true) = (self.settings.home, self.is_registered) {
            let mut registration = self.registration();
            let goodbye = registration.register(self.server(home), Some(0));
            drop(tokio::time::timeout(GOODBYE_MAX, goodbye).await);
        }
    }

    fn front(&self) -> Front {
        Front {
            layer: self.layer.clone(),
            sender: self.sender.clone(),
            cancel: self.cancel.clone(),
            contact: self.contact(),
            line: self.line.clone(),
            invitation: self.invitation.subscribe(),
            requests: Arc::new(Semaphore::new(REQUESTS_MAX)),
        }
    }
}

/// What a person may see of what a peer sent: one line of printable characters, cut after [`SHOWN_MAX`].
pub fn printable(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { '?' } else { c }).take(SHOWN_MAX).collect()
}

/// What a status code means in words, without the number that stands before them.
fn phrase(code: &StatusCode) -> String {
    let text = code.to_string();
    let words = text.trim_start_matches(|c: char| c.is_ascii_digit()).trim();
    if words.is_empty() { text } else { words.to_owned() }
}

fn allowed_methods() -> Vec<Method> {
    vec![Method::Invite, Method::Ack, Method::Cancel, Method::Bye, Method::Options, Method::Update]
}

fn contact(user: &str, address: SocketAddr, transport: Transport) -> Uri {
    Uri {
        scheme: Some(Scheme::Sip),
        auth: Some(Auth { user: user.to_owned(), password: None }),
        host_with_port: HostWithPort::from(address),
        params: vec![Param::Transport(transport.into())],
        ..Uri::default()
    }
}

/// The address in a SIP address; none if there is a name.
fn direct(uri: &Uri) -> Option<SocketAddr> {
    let ip = IpAddr::try_from(uri.host_with_port.host.clone()).ok()?;
    let port = uri.host_with_port.port.map_or(PORT, |port| port.value());
    Some(SocketAddr::new(ip, port))
}

fn refusal(outcome: &rsipstack::Result<rsipstack::sip::Response>) -> AgentEvent {
    match outcome {
        Ok(response) => AgentEvent::NotRegistered {
            code: Some(response.status_code.code()),
            reason: printable(&phrase(&response.status_code)),
        },
        Err(error) => AgentEvent::NotRegistered { code: None, reason: printable(&error.to_string()) },
    }
}

/// A UDP socket, and with TCP a listener on the same port.
async fn open(
    settings: &AgentSettings,
    layer: &TransportLayer,
    cancel: &CancellationToken,
) -> Result<SocketAddr, AgentError> {
    let failed =
        |error: &dyn fmt::Display| AgentError::Bind { address: settings.bind, reason: error.to_string() };
    let mut address = settings.bind;
    for attempt in 1..=PORT_ATTEMPTS {
        let socket = UdpSocket::bind(settings.bind).map_err(|error| failed(&error))?;
        address = socket.local_addr().map_err(|error| failed(&error))?;
        if settings.transport == Transport::Tcp
            && let Err(error) = std::net::TcpListener::bind(address)
        {
            if settings.bind.port() != 0 || attempt == PORT_ATTEMPTS {
                return Err(failed(&error));
            }
            continue;
        }
        break;
    }
    let udp = UdpConnection::create_connection(address, None, Some(cancel.child_token()));
    layer.add_transport(udp.await.map_err(|error| failed(&error))?.into());
    if settings.transport == Transport::Tcp {
        let tcp = TcpListenerConnection::new(address, None).await.map_err(|error| failed(&error))?;
        layer.add_transport(tcp.into());
    }
    Ok(address)
}

/// Looks no name up: a peer that writes a name into a header would have us ask for it.
struct NoNames;

impl DomainResolver for NoNames {
    fn resolve<'a, 'b, 'c>(
        &'a self,
        target: &'b SipAddr,
    ) -> Pin<Box<dyn Future<Output = rsipstack::Result<SipAddr>> + Send + 'c>>
    where
        'a: 'c,
        'b: 'c,
        Self: 'c,
    {
        let reason = format!("names are not looked up: {}", printable(&target.to_string()));
        Box::pin(async move { Err(rsipstack::Error::DnsResolutionError(reason)) })
    }
}

/// What sees to requests that arrive.
#[derive(Clone)]
struct Front {
    layer: Arc<DialogLayer>,
    sender: mpsc::Sender<AgentEvent>,
    cancel: CancellationToken,
    contact: Uri,
    line: Arc<Semaphore>,
    invitation: watch::Receiver<Option<String>>,
    requests: Arc<Semaphore>,
}

impl Front {
    async fn receive(self, mut incoming: rsipstack::transaction::TransactionReceiver) {
        loop {
            let transaction = tokio::select! {
                () = self.cancel.cancelled() => return,
                transaction = incoming.recv() => transaction,
            };
            let Some(mut transaction) = transaction else { return };
            let Ok(permit) = self.requests.clone().try_acquire_owned() else {
                drop(transaction.reply(StatusCode::ServiceUnavailable).await);
                continue;
            };
            let front = self.clone();
            tokio::spawn(async move {
                if let Err(error) = front.handle(transaction).await {
                    tracing::debug!(error = %printable(&error.to_string()), "a request came to nothing");
                }
                drop(permit);
            });
        }
    }

    #[expect(clippy::wildcard_enum_match_arm, reason = "the library may learn more methods; we take these")]
    async fn handle(&self, mut transaction: Transaction) -> rsipstack::Result<()> {
        self.await_final_response(&transaction).await;
        if let Some(mut dialog) = self.layer.match_dialog(&transaction) {
            return dialog.handle(&mut transaction).await;
        }
        let method = transaction.original.method;
        let is_new = DialogId::try_from(&transaction).is_ok_and(|id| id.local_tag.is_empty());
        match method {
            Method::Invite if is_new => self.invited(transaction).await,
            Method::Options if is_new => {
                let allow = allowed_methods().iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
                let headers = vec![Header::Allow(allow.into()), Header::Accept("application/sdp".into())];
                transaction.reply_with(StatusCode::OK, headers, None).await
            }
            Method::Ack => Ok(()),
            _ => {
                let code = if is_new {
                    StatusCode::MethodNotAllowed
                } else {
                    StatusCode::CallTransactionDoesNotExist
                };
                transaction.reply(code).await
            }
        }
    }

    /// Waits, for a request within a call that we are just making, until the stack knows that the call has come about. It
    /// acknowledges the final response first, so the other side may be quicker: its BYE would find no dialog, or one that
    /// takes no requests yet.
    async fn await_final_response(&self, transaction: &Transaction) {
        let Ok(id) = DialogId::try_from(transaction) else { return };
        if id.local_tag.is_empty() || id.remote_tag.is_empty() {
            return;
        }
        let mut invitation = self.invitation.clone();
        let is_answered = invitation.wait_for(|open| open.as_ref() != Some(&id.call_id));
        // It ends with the telephone too.
        drop(tokio::time::timeout(FINAL_RESPONSE_MAX, is_answered).await);
    }

    async fn invited(&self, mut transaction: Transaction) -> rsipstack::Result<()> {
        let Ok(permit) = self.line.clone().try_acquire_owned() else {
            return transaction.reply(StatusCode::BusyHere).await;
        };
        let (states, events) = self.layer.new_dialog_state_channel();
        let contact = Some(self.contact.clone());
        let mut dialog = self.layer.get_or_create_server_invite(&transaction, states, None, contact)?;
        let call = Call::incoming(self.layer.clone(), dialog.clone(), events, permit);
        if self.sender.send(AgentEvent::Incoming(Box::new(call))).await.is_err() {
            return transaction.reply(StatusCode::TemporarilyUnavailable).await;
        }
        dialog.handle(&mut transaction).await
    }
}

#[cfg(test)]
mod tests;
