//! What a telephone tells its home of a call that is over: a session report of RFC 6035, in PUBLISH (RFC 3903).

use super::{Agent, printable};
use rsipstack::sip::typed::{From, To};
use rsipstack::sip::{Auth, Header, Method, SipMessage, Uri};
use rsipstack::transaction::key::{TransactionKey, TransactionRole};
use rsipstack::transaction::make_tag;
use rsipstack::transaction::transaction::Transaction;
use rsipstack::transport::SipAddr;
use std::time::Duration;

/// A home that does not answer is not waited for: a person waits for the program to end.
const ANSWER_MAX: Duration = Duration::from_secs(2);

/// How well a call was heard here.
#[derive(Clone, Debug, PartialEq)]
pub struct CallQuality {
    /// The call's Call-ID on this side.
    pub call_id: String,
    /// When it began and ended, as RFC 3339 writes it.
    pub began: String,
    pub ended: String,
    /// The mean opinion score of listening, 1 to 4.5.
    pub mos_listening: f64,
}

impl Agent {
    /// Tells the home how a call was, within two seconds; without a home nothing happens. A home that does not want to know is no
    /// failure: the call is over.
    pub async fn report(&self, quality: &CallQuality) {
        let sent = tokio::time::timeout(ANSWER_MAX, self.publish(quality)).await;
        if let Ok(Err(error)) = sent {
            tracing::debug!(error = %printable(&error.to_string()), "how the call was could not be reported");
        }
    }

    async fn publish(&self, quality: &CallQuality) -> rsipstack::Result<()> {
        let Some(home) = self.settings.home else { return Ok(()) };
        let server = self.server(home);
        let own =
            Uri { auth: Some(Auth { user: self.settings.user.clone(), password: None }), ..server.clone() };
        let from = From { display_name: None, uri: own.clone(), params: Vec::new() }.with_tag(make_tag());
        let to = To { display_name: None, uri: own, params: Vec::new() };
        let target = SipAddr::try_from(&server)?;
        let (connection, _) = self.endpoint.transport_layer.lookup(&target, None).await?;
        let via = self.endpoint.get_via(Some(connection.get_addr().clone()), None)?;
        let mut request = self.endpoint.make_request(Method::Publish, server, via, from, to, 1, None);
        let body = quality.body(&self.settings.user, self.address.ip(), home.ip());
        for (name, value) in
            [("Event", "vq-rtcpxr"), ("Expires", "3600"), ("Content-Type", "application/vq-rtcpxr")]
        {
            request.headers.push(Header::Other(name.to_owned(), value.to_owned()));
        }
        request.headers.push(Header::ContentLength(u32::try_from(body.len()).unwrap_or(0).into()));
        request.body = body.into_bytes();
        let key = TransactionKey::from_request(&request, TransactionRole::Client)?;
        let mut transaction = Transaction::new_client(key, request, self.endpoint.clone(), None);
        transaction.send().await?;
        while let Some(message) = transaction.receive().await {
            if let SipMessage::Response(response) = message
                && response.status_code.code() >= 200
            {
                return Ok(());
            }
        }
        Ok(())
    }
}

impl CallQuality {
    /// What a report has to have (RFC 6035, section 4.6.1), and the score. Who was called, and where voice came from, the home
    /// knows already, and nobody else reads it: those fields name the home and this telephone.
    fn body(&self, user: &str, own: std::net::IpAddr, home: std::net::IpAddr) -> String {
        let Self { call_id, began, ended, mos_listening } = self;
        format!(
            "VQSessionReport: CallTerm\r\nCallID: {call_id}\r\nLocalID: <sip:{user}@{home}>\r\nRemoteID: <sip:{home}>\r\n\
             OrigID: <sip:{user}@{home}>\r\nLocalAddr: IP={own} PORT=0 SSRC=0\r\nRemoteAddr: IP={home} PORT=0 SSRC=0\r\n\
             LocalGroup: guestright\r\nRemoteGroup: guestright\r\nLocalMetrics:\r\nTimestamps: START={began} STOP={ended}\r\n\
             QualityEst: MOSLQ={mos_listening:.1}\r\n"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The fields that a session report cannot be without, in their order (RFC 6035, section 4.6.1), and one of those that it may have.
    #[test]
    fn a_report_has_every_field_that_it_must_have() {
        let quality = CallQuality {
            call_id: "c1".to_owned(),
            began: "2026-11-28T12:00:00Z".to_owned(),
            ended: "2026-11-28T12:01:00Z".to_owned(),
            mos_listening: 4.27,
        };
        let body = quality.body("alice", [10, 73, 5, 2].into(), [10, 73, 5, 1].into());
        let names: Vec<_> = body.lines().map(|line| line.split_once(':').unwrap().0).collect();
        let want = [
            "VQSessionReport",
            "CallID",
            "LocalID",
            "RemoteID",
            "OrigID",
            "LocalAddr",
            "RemoteAddr",
            "LocalGroup",
            "RemoteGroup",
            "LocalMetrics",
            "Timestamps",
            "QualityEst",
        ];
        assert_eq!(names, want);
        assert!(body.ends_with("QualityEst: MOSLQ=4.3\r\n"), "{body}");
    }
}
