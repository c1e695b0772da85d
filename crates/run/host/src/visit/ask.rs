//! Would I be served here? A question that opens nothing and uses nothing.

use super::Transport;
use super::settings::AccessNetwork;
use super::transport::Line;
use guestright_error::RunError;
use guestright_identity::Certificate;
use guestright_receipt::Bundle;
use guestright_roaming::message::{Code, Message};
use guestright_units::Bytes;
use rand::Rng as _;
use serde_json::{Value, json};
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;
use tokio::time::{Instant, timeout_at};

/// The question is sent again after this time…
const RETRY: Duration = Duration::from_secs(1);
/// …so often in all. An access point waits two seconds for its home.
const ATTEMPTS: u32 = 8;

/// Where to ask.
#[derive(Clone, Debug)]
pub struct AskSettings {
    /// The access point; otherwise the default gateway.
    pub access_point: Option<Ipv4Addr>,
    pub port: u16,
    /// The interface to it; otherwise that of the default route.
    pub interface: Option<String>,
    pub transport: Transport,
}

/// What an access point says that it would do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Foretold {
    pub access_point: Ipv4Addr,
    /// The class; nothing: it would refuse.
    pub class: Option<&'static str>,
    /// How much at first; nothing: it names no limit.
    pub volume: Option<Bytes>,
    /// For how many seconds it says so; it may change as soon as somebody else is served.
    pub valid_for: u32,
    pub reason: String,
}

impl Foretold {
    /// One sentence for a person.
    pub fn sentence(&self) -> String {
        let Self { access_point, class, volume, reason, .. } = self;
        match (class, volume) {
            (None, _) => format!("No: the access point {access_point} would not serve you now: {reason}"),
            (Some(class), Some(volume)) => {
                format!(
                    "Yes: the access point {access_point} would serve you {volume} in class {class}: {reason}"
                )
            }
            (Some(class), None) => {
                format!("Yes: the access point {access_point} would serve you in class {class}: {reason}")
            }
        }
    }

    pub fn to_json(&self) -> Value {
        let Self { access_point, class, volume, valid_for, reason } = self;
        json!({ "access_point": access_point.to_string(), "would_serve": class.is_some(), "class": class,
            "volume": volume.map(|volume| volume.0), "valid_for_seconds": valid_for, "reason": reason })
    }
}

/// Asks the access point whether it would serve a member with this certificate. Needs a tokio runtime.
///
/// # Errors
/// There is no access point, it does not answer, or it does not know the question.
pub async fn ask(settings: &AskSettings, certificate: &Certificate) -> Result<Foretold, RunError> {
    let AccessNetwork { access_point, interface } =
        AccessNetwork::find(settings.access_point, settings.interface.as_deref())?;
    let address = SocketAddr::from((access_point, settings.port));
    let mut line = Line::open(address, &interface, settings.transport).await?;
    let reference = guestright_clock::rng().next_u64();
    let (request, session, holds, bundle) = (Bytes(0), None, true, Bundle::default());
    let certificate = Box::new(certificate.clone());
    let question = Message::Quer { reference, certificate, request, session, holds, bundle }.emit();
    for _ in 0..ATTEMPTS {
        line.send(&question).await?;
        let until = Instant::now() + RETRY;
        while let Ok(received) = timeout_at(until, line.receive()).await {
            if let Some(answer) = understand(&received?, reference, access_point) {
                return answer;
            }
        }
    }
    Err(RunError::network(format!("the access point {access_point} did not answer")).with_hint(
        "is it a guestright access point, and are you on its network? --access-point names another",
    ))
}

/// Nothing, if the message answers something else.
fn understand(bytes: &[u8], asked: u64, access_point: Ipv4Addr) -> Option<Result<Foretold, RunError>> {
    match Message::parse(bytes) {
        Ok(Message::Qrsp { reference, grant, volume, valid_for, reason, .. }) if reference == asked => {
            let (class, volume) = (grant.map(|class| class.name()), volume.map(|volume| volume.total()));
            Some(Ok(Foretold { access_point, class, volume, valid_for, reason }))
        }
        Ok(Message::Erro { code: Code::Malformed, reason, .. }) => Some(Err(RunError::network(format!(
            "the access point {access_point} does not say whom it would serve: {reason}"
        ))
        .with_hint(
            "it runs an earlier version; `guestright visit` asks for service and shows what it answers",
        ))),
        // It would say the same to whoever asks for service.
        Ok(Message::Erro { reason, .. }) => {
            Some(Ok(Foretold { access_point, class: None, volume: None, valid_for: 0, reason }))
        }
        Ok(_) | Err(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const AP: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);

    #[test]
    fn only_the_answer_to_this_question_counts_and_an_earlier_version_is_named() {
        let qrsp = |reference, grant| {
            let (volume, home, ind) = (None, None, None);
            Message::Qrsp { reference, grant, volume, home, ind, valid_for: 60, reason: "x".into() }.emit()
        };
        let class = Some(guestright_reciprocity::ServiceClass::Low);
        assert!(understand(&qrsp(6, class), 7, AP).is_none());
        let yes = understand(&qrsp(7, class), 7, AP).unwrap().unwrap();
        assert_eq!((yes.class, yes.sentence().split(':').next()), (Some("low"), Some("Yes")));
        let no = understand(&qrsp(7, None), 7, AP).unwrap().unwrap();
        assert_eq!((no.class, no.sentence().split(':').next()), (None, Some("No")));
        let earlier = Message::error(Code::Malformed, "a QUER is not for an access point").emit();
        let error = understand(&earlier, 7, AP).unwrap().unwrap_err();
        assert!(error.sentence().contains("a QUER is not for an access point"), "{error}");
        let refused = Message::error(Code::Certificate, "it has ended").emit();
        assert_eq!(understand(&refused, 7, AP).unwrap().unwrap().class, None);
        assert!(understand(b"noise", 7, AP).is_none());
    }
}
