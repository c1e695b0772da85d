//! Sealed channels between programs of one team: a peer that says anything, and somebody on the way who changes a bit.

use crate::seeds::Seed;
use guestright_channel::{Credentials, accept, connect};
use guestright_vectors::actors::{CONSUMER, Household, NOW};
use std::cell::Cell;
use std::sync::LazyLock;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::{Builder, Runtime};

/// Longer than a message in these tests with everything around it.
const MESSAGE_MAX: usize = 4_096;

static RUNTIME: LazyLock<Runtime> =
    LazyLock::new(|| Builder::new_current_thread().enable_all().build().expect("a runtime"));

fn credentials(household: &Household, home: bool) -> Credentials {
    let (key, certificate) = if home { &household.home } else { &household.access_point };
    Credentials { key: key.clone(), certificate: certificate.clone() }
}

/// Both ends of a connection.
async fn pair() -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a socket");
    let address = listener.local_addr().expect("an address");
    let (near, far) = tokio::join!(TcpStream::connect(address), listener.accept());
    (near.expect("a connection"), far.expect("a connection").0)
}

/// The first byte says what happens: the rest is said to either end in place of a peer, or a bit of what two good peers
/// say is changed, where the next two bytes say, and the rest is the message that follows.
pub fn channel(bytes: &[u8]) {
    let Some((&choice, rest)) = bytes.split_first() else { return };
    match choice % 4 {
        0 | 1 => RUNTIME.block_on(nobody_gets_in(choice % 4 == 0, rest)),
        _ => {
            let Some((bit, message)) = rest.split_first_chunk::<2>() else { return };
            let bit = usize::from(u16::from_be_bytes(*bit));
            let message = &message[..message.len().min(MESSAGE_MAX)];
            RUNTIME.block_on(nothing_is_changed(choice % 4 == 2, bit, message));
        }
    }
}

/// Whoever has no certified key is refused, whatever it says.
async fn nobody_gets_in(at_home: bool, words: &[u8]) {
    let (mut peer, own) = pair().await;
    let words = async {
        // The other end may have had enough of it.
        let _ = peer.write_all(words).await;
        let _ = peer.shutdown().await;
        let _ = peer.read_to_end(&mut Vec::new()).await;
    };
    let own = async {
        let (team, mine) = (CONSUMER.id(), credentials(&CONSUMER, at_home));
        if at_home { accept(own, &mine, team, NOW).await } else { connect(own, &mine, team, NOW).await }
    };
    let (_, secured) = tokio::join!(words, own);
    assert!(secured.is_err(), "a stranger was let in");
}

/// What arrives is what was sent, or the channel is over.
async fn nothing_is_changed(towards_home: bool, bit: usize, message: &[u8]) {
    let ((near, mut near_wire), (far, mut far_wire)) = (pair().await, pair().await);
    let is_spoiled = Cell::new(false);
    let talk = async {
        let (mine, theirs) = (credentials(&CONSUMER, false), credentials(&CONSUMER, true));
        let near = async {
            let (channel, certificate) = connect(near, &mine, CONSUMER.id(), NOW).await?;
            assert_eq!(certificate, theirs.certificate);
            let (mut sender, mut receiver) = channel.split();
            sender.send(message).await?;
            receiver.receive().await
        };
        let far = async {
            let (channel, certificate) = accept(far, &theirs, CONSUMER.id(), NOW).await?;
            assert_eq!(certificate, mine.certificate);
            let (mut sender, mut receiver) = channel.split();
            let received = receiver.receive().await?;
            sender.send(message).await?;
            Ok::<_, guestright_channel::ChannelError>(received)
        };
        tokio::join!(near, far)
    };
    let relay = async {
        let (mut near_read, mut near_write) = near_wire.split();
        let (mut far_read, mut far_write) = far_wire.split();
        let (up, down) = if towards_home { (Some(bit), None) } else { (None, Some(bit)) };
        tokio::join!(
            copy(&mut near_read, &mut far_write, up, &is_spoiled),
            copy(&mut far_read, &mut near_write, down, &is_spoiled)
        )
    };
    let ((near, far), _) = tokio::join!(talk, relay);
    for received in [near, far] {
        match received {
            Ok(received) => {
                assert!(is_spoiled.get() && received.is_none() || received.as_deref() == Some(message))
            }
            Err(error) => assert!(is_spoiled.get(), "nobody changed anything: {error}"),
        }
    }
}

/// Passes on what comes. Whoever has changed a bit hangs up, so that nobody waits for what a wrong length promises.
async fn copy(
    from: &mut (impl tokio::io::AsyncRead + Unpin),
    to: &mut (impl tokio::io::AsyncWrite + Unpin),
    bit: Option<usize>,
    is_spoiled: &Cell<bool>,
) {
    let (mut buffer, mut passed) = ([0; 2_048], 0);
    while let Ok(length @ 1..) = from.read(&mut buffer).await {
        let here = bit.and_then(|bit| (bit / 8).checked_sub(passed)).filter(|at| *at < length);
        if let (Some(at), Some(bit)) = (here, bit) {
            buffer[at] ^= 1 << (bit % 8);
            is_spoiled.set(true);
        }
        passed += length;
        if to.write_all(&buffer[..length]).await.is_err() || here.is_some() {
            break;
        }
    }
    // The other end may have gone.
    let _ = to.shutdown().await;
}

pub(crate) fn seeds(seeds: &mut Vec<Seed>) {
    // A first message of Noise XX: its length, and a key.
    let first = [&[0, 32][..], &[9; 32]].concat();
    seeds.push(("channel", "first-words".to_owned(), [&[0][..], &first, &[0, 200], &[7; 200]].concat()));
    seeds.push(("channel", "an-answer".to_owned(), [&[1, 1, 0][..], &[7; 256]].concat()));
    seeds.push(("channel", "too-long".to_owned(), vec![0, 0xff, 0xff, 1, 2, 3]));
    for (name, bit) in [("untouched", u16::MAX), ("in-the-proof", 3_000), ("in-a-key", 40)] {
        seeds.push(("channel", name.to_owned(), [&[2][..], &bit.to_be_bytes(), b"a message"].concat()));
    }
    seeds.push(("channel", "home-spoiled".to_owned(), [&[3, 2, 0][..], b"a message"].concat()));
}
