//! One question, one answer: over UDP, or over TCP.

use crate::DnsError;
use hickory_proto::op::{Message, MessageType};
use std::future::Future;
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpStream, UdpSocket};
use tokio::time::timeout;

/// The largest answer that we say we take over UDP: no fragments on any usual way (RFC 9715).
pub(crate) const UDP_MAX: u16 = 1_232;
/// So many datagrams that are no answer are passed over before we give up.
const STRAYS_MAX: usize = 32;

/// Which way a question takes, where it must not take the usual one.
#[derive(Clone, Copy, Debug, Default)]
pub struct Aside<'a> {
    /// What its packets are marked with (`SO_MARK`, socket(7)); needs an administrator's rights.
    pub mark: Option<u32>,
    /// The interface that it leaves by.
    pub interface: Option<&'a str>,
}

/// Asks over UDP alone. An answer that did not fit is given as far as it came.
pub(crate) async fn ask_aside(
    server: SocketAddr,
    question: &Message,
    aside: Aside<'_>,
    limit: Duration,
) -> Result<Message, DnsError> {
    within(server, limit, async { over_udp(server, question, &encode(server, question)?, aside).await }).await
}

/// Asks over UDP, and over TCP where the answer did not fit.
pub(crate) async fn ask(
    server: SocketAddr,
    question: &Message,
    limit: Duration,
) -> Result<Message, DnsError> {
    within(server, limit, async {
        let bytes = encode(server, question)?;
        let answer = over_udp(server, question, &bytes, Aside::default()).await?;
        if !answer.truncation {
            return Ok(answer);
        }
        tracing::debug!(%server, "the answer does not fit a datagram, asking over TCP");
        let bytes = over_tcp(server, &bytes).await?;
        read_answer(server, question, &bytes)
    })
    .await
}

/// Asks over TCP; gives the answer's bytes, too, for its signature.
pub(crate) async fn ask_tcp(
    server: SocketAddr,
    question: &Message,
    limit: Duration,
) -> Result<(Message, Vec<u8>), DnsError> {
    within(server, limit, async {
        let bytes = over_tcp(server, &encode(server, question)?).await?;
        Ok((read_answer(server, question, &bytes)?, bytes))
    })
    .await
}

async fn within<T>(
    server: SocketAddr,
    limit: Duration,
    work: impl Future<Output = Result<T, DnsError>>,
) -> Result<T, DnsError> {
    let late = |_| DnsError::Timeout { server, seconds: limit.as_secs().max(1) };
    timeout(limit, work).await.map_err(late)?
}

fn encode(server: SocketAddr, question: &Message) -> Result<Vec<u8>, DnsError> {
    question
        .to_vec()
        .map_err(|error| DnsError::Answer { server, problem: format!("our own question: {error}") })
}

async fn over_udp(
    server: SocketAddr,
    question: &Message,
    bytes: &[u8],
    aside: Aside<'_>,
) -> Result<Message, DnsError> {
    let failed = |error| DnsError::Io { server, error };
    let any: SocketAddr = match server {
        SocketAddr::V4(_) => (Ipv4Addr::UNSPECIFIED, 0).into(),
        SocketAddr::V6(_) => (Ipv6Addr::UNSPECIFIED, 0).into(),
    };
    // A socket, hence a port, for each question: one more thing that a forger has to guess (RFC 5452 section 9.2).
    let socket = UdpSocket::bind(any).await.map_err(failed)?;
    if let Some(mark) = aside.mark {
        socket2::SockRef::from(&socket).set_mark(mark).map_err(failed)?;
    }
    if let Some(interface) = aside.interface {
        socket.bind_device(Some(interface.as_bytes())).map_err(failed)?;
    }
    socket.connect(server).await.map_err(failed)?;
    socket.send(bytes).await.map_err(failed)?;
    let mut buffer = vec![0; 65_535];
    let mut problem = String::from("nothing came");
    for _ in 0..STRAYS_MAX {
        let length = socket.recv(&mut buffer).await.map_err(failed)?;
        match read_answer(server, question, &buffer[..length]) {
            Ok(answer) => return Ok(answer),
            Err(DnsError::Answer { problem: what, .. }) => problem = what,
            Err(other) => return Err(other),
        }
    }
    Err(DnsError::Answer { server, problem })
}

async fn over_tcp(server: SocketAddr, bytes: &[u8]) -> Result<Vec<u8>, DnsError> {
    let talk = async {
        let mut stream = TcpStream::connect(server).await?;
        let length = u16::try_from(bytes.len()).map_err(|_| io::Error::other("the question is too long"))?;
        stream.write_all(&[&length.to_be_bytes(), bytes].concat()).await?;
        let length = stream.read_u16().await?;
        let mut answer = vec![0; usize::from(length)];
        stream.read_exact(&mut answer).await?;
        Ok(answer)
    };
    talk.await.map_err(|error| DnsError::Io { server, error })
}

/// An answer to this very question (RFC 5452 section 9.1). The question comes back whole, or not at all in an error.
pub(crate) fn read_answer(server: SocketAddr, question: &Message, bytes: &[u8]) -> Result<Message, DnsError> {
    let refused = |problem: &str| DnsError::Answer { server, problem: problem.to_owned() };
    let answer = Message::from_vec(bytes).map_err(|error| refused(&error.to_string()))?;
    if answer.message_type != MessageType::Response || answer.op_code != question.op_code {
        return Err(refused("it is not an answer"));
    }
    if answer.id != question.id {
        return Err(refused("it has another number than the question"));
    }
    if !answer.queries.is_empty() && answer.queries != question.queries {
        return Err(refused("it answers another question"));
    }
    Ok(answer)
}

#[cfg(test)]
mod tests {
    use super::*;
    use hickory_proto::op::Query;
    use hickory_proto::rr::{Name, RecordType};

    const SERVER: SocketAddr = SocketAddr::V4(std::net::SocketAddrV4::new(Ipv4Addr::LOCALHOST, 53));

    fn question() -> Message {
        let mut question = Message::query();
        question.add_query(Query::query(Name::from_ascii("a.example.").unwrap(), RecordType::TXT));
        question
    }

    #[test]
    fn only_an_answer_to_the_question_counts() {
        let question = question();
        let good = question.clone().into_response();
        let mut other_id = good.clone();
        other_id.metadata.id ^= 1;
        let mut other_name = good.clone();
        other_name.queries = vec![Query::query(Name::from_ascii("b.example.").unwrap(), RecordType::TXT)];
        let read = |message: &Message| read_answer(SERVER, &question, &message.to_vec().unwrap());
        assert_eq!(read(&good).unwrap().id, question.id);
        for wrong in [&question, &other_id, &other_name] {
            assert!(matches!(read(wrong), Err(DnsError::Answer { .. })), "{wrong:?}");
        }
        assert!(matches!(read_answer(SERVER, &question, b"\0"), Err(DnsError::Answer { .. })));
    }

    #[tokio::test]
    async fn strays_are_passed_over_and_silence_ends() {
        let server = UdpSocket::bind("127.0.0.1:0").await.unwrap();
        let address = server.local_addr().unwrap();
        let question = question();
        let limit = Duration::from_secs(5);
        let answered = tokio::join!(ask(address, &question, limit), async {
            let mut buffer = [0; 1_500];
            let (length, from) = server.recv_from(&mut buffer).await.unwrap();
            let mut forged = Message::from_vec(&buffer[..length]).unwrap().into_response();
            forged.metadata.id ^= 1;
            server.send_to(&forged.to_vec().unwrap(), from).await.unwrap();
            server.send_to(b"rubbish", from).await.unwrap();
            forged.metadata.id ^= 1;
            server.send_to(&forged.to_vec().unwrap(), from).await.unwrap();
        });
        assert_eq!(answered.0.unwrap().id, question.id);
        let silent = ask(address, &question, Duration::from_millis(50)).await;
        assert!(matches!(silent, Err(DnsError::Timeout { .. })), "{silent:?}");
    }
}
