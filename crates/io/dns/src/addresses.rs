//! The addresses of a host, asked for by a program that chooses the way of its question.

use crate::DnsError;
use crate::exchange::{Aside, ask_aside};
use crate::lookup::parse_name;
use hickory_proto::op::{Message, Query, ResponseCode};
use hickory_proto::rr::{RData, RecordType};
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

/// So many addresses of an answer are taken.
const ADDRESSES_MAX: usize = 8;

/// The IPv4 addresses of `name`, asked of this server over UDP; none if there is no such name. Nothing proves them: who
/// stands in between can say what it likes.
///
/// # Errors
/// [`DnsError`].
pub async fn addresses(
    server: SocketAddr,
    name: &str,
    aside: Aside<'_>,
    limit: Duration,
) -> Result<Vec<Ipv4Addr>, DnsError> {
    let mut question = Message::query();
    question.add_query(Query::query(parse_name(name)?, RecordType::A));
    question.metadata.recursion_desired = true;
    question.metadata.id = rand::random();
    let answer = ask_aside(server, &question, aside, limit).await?;
    let code = answer.response_code;
    if code == ResponseCode::NXDomain {
        return Ok(vec![]);
    }
    if code != ResponseCode::NoError {
        return Err(DnsError::Refused { server, code: code.to_string(), hint: "" });
    }
    Ok(addresses_of(&answer))
}

/// The IPv4 addresses in an answer, as many as are taken.
pub(crate) fn addresses_of(answer: &Message) -> Vec<Ipv4Addr> {
    let found = answer
        .answers
        .iter()
        .filter_map(|record| if let RData::A(address) = &record.data { Some(address.0) } else { None });
    found.take(ADDRESSES_MAX).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use hickory_proto::rr::rdata::A;
    use hickory_proto::rr::{Name, Record};
    use tokio::net::UdpSocket;

    #[tokio::test]
    async fn of_an_answer_the_addresses_are_taken_and_no_name_has_none() {
        let server = UdpSocket::bind("127.0.0.1:0").await.unwrap();
        let address = server.local_addr().unwrap();
        let name = Name::from_ascii("home.example.").unwrap();
        let answers: [(ResponseCode, Vec<Ipv4Addr>); 3] = [
            (ResponseCode::NoError, vec![Ipv4Addr::new(192, 0, 2, 7), Ipv4Addr::new(192, 0, 2, 8)]),
            (ResponseCode::NXDomain, vec![]),
            (ResponseCode::NoError, vec![Ipv4Addr::LOCALHOST; 20]),
        ];
        for (code, given) in answers {
            let limit = Duration::from_secs(10);
            let (found, ()) =
                tokio::join!(addresses(address, "home.example", Aside::default(), limit), async {
                    let mut buffer = [0; 1_500];
                    let (length, from) = server.recv_from(&mut buffer).await.unwrap();
                    let mut answer = Message::from_vec(&buffer[..length]).unwrap().into_response();
                    answer.metadata.response_code = code;
                    for address in &given {
                        answer.answers.push(Record::from_rdata(name.clone(), 60, RData::A(A(*address))));
                    }
                    server.send_to(&answer.to_vec().unwrap(), from).await.unwrap();
                });
            assert_eq!(found.unwrap(), given[..given.len().min(ADDRESSES_MAX)]);
        }
    }
}
