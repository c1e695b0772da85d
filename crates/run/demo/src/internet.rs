//! The demo's Internet: a web server that sends as many bytes as it is asked for, and says whom it sees.
//!
//! `GET /bytes/N` answers with N zero bytes and the client's address in the header `X-Client`.

use guestright_error::{OrFail as _, RunError};
use std::net::SocketAddr;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};

static CHUNK: [u8; 65_536] = [0; 65_536];
/// No request line is longer.
const REQUEST_MAX: usize = 1_024;

/// # Errors
/// The address is taken, or is none of this computer's.
pub async fn listen(address: SocketAddr) -> Result<TcpListener, RunError> {
    TcpListener::bind(address).await.or_network(|| format!("listen at {address}"))
}

/// Answers until it cannot, and gives the reason.
pub async fn serve(listener: TcpListener) -> RunError {
    loop {
        let (stream, client) = match listener.accept().await {
            Ok(accepted) => accepted,
            Err(error) => return RunError::network(error),
        };
        tokio::spawn(async move {
            if let Err(error) = answer(stream, client).await {
                tracing::debug!(%error, "a download ended early");
            }
        });
    }
}

async fn answer(mut stream: TcpStream, client: SocketAddr) -> std::io::Result<()> {
    let (read, mut write) = stream.split();
    let mut lines = BufReader::new(read).lines();
    let request = lines.next_line().await?.filter(|line| line.len() <= REQUEST_MAX).unwrap_or_default();
    while lines.next_line().await?.is_some_and(|line| !line.is_empty()) {}
    let path = request.split(' ').nth(1).unwrap_or_default();
    let Some(mut left) = path.strip_prefix("/bytes/").and_then(|count| count.parse::<u64>().ok()) else {
        return write
            .write_all(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
            .await;
    };
    let client = client.ip();
    let head = format!(
        "HTTP/1.1 200 OK\r\nContent-Length: {left}\r\nX-Client: {client}\r\nConnection: close\r\n\r\n"
    );
    write.write_all(head.as_bytes()).await?;
    while left > 0 {
        let length = usize::try_from(left).unwrap_or(usize::MAX).min(CHUNK.len());
        write.write_all(&CHUNK[..length]).await?;
        left -= length as u64;
    }
    write.shutdown().await
}
