//! How `status` and `off` speak with a running program: one line of JSON each way over a Unix socket.
//!
//! The socket lies in the program's state directory, which only its owner may enter.

use guestright_error::{OrFail as _, RunError};
use serde_json::Value;
use std::io::{BufRead, BufReader, ErrorKind, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixListener;
use tokio::sync::{mpsc, oneshot};

/// How long no question is taken after that has failed.
const PAUSE: Duration = Duration::from_millis(100);
/// An answer usually takes no longer.
const ANSWER_MAX: Duration = Duration::from_secs(10);
/// A question has at most so many bytes.
const QUESTION_MAX: u64 = 4_096;

/// A question and where its answer goes.
pub type Question = (String, oneshot::Sender<Value>);

/// Answers questions at `path` until the receiver of `questions` is gone. Needs a tokio runtime.
///
/// # Errors
/// No socket can be made there.
pub fn serve(path: &Path, questions: mpsc::Sender<Question>) -> Result<(), RunError> {
    // What is there is left over: the state directory is locked by its program.
    let _ = std::fs::remove_file(path);
    let listener = UnixListener::bind(path).or_network(|| format!("open {}", path.display()))?;
    tokio::spawn(async move {
        loop {
            let Ok((mut stream, _)) = listener.accept().await else {
                // For want of file descriptors, which others have to close.
                tokio::time::sleep(PAUSE).await;
                continue;
            };
            let questions = questions.clone();
            tokio::spawn(async move {
                let (read, mut write) = stream.split();
                let mut line = String::new();
                let read = tokio::io::BufReader::new(read.take(QUESTION_MAX)).read_line(&mut line).await;
                let (reply, answer) = oneshot::channel();
                if read.is_ok()
                    && questions.send((line.trim().to_owned(), reply)).await.is_ok()
                    && let Ok(answer) = answer.await
                {
                    // The asker may have gone.
                    let _ = write.write_all(format!("{answer}\n").as_bytes()).await;
                }
            });
        }
    });
    Ok(())
}

/// Waits until no program runs behind `path` any more; false if one still does after `most`.
pub fn wait_until_gone(path: &Path, most: Duration) -> bool {
    let deadline = Instant::now() + most;
    while UnixStream::connect(path).is_ok() {
        if Instant::now() >= deadline {
            return false;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    true
}

/// Asks the program behind `path`. Nothing if none runs there, null if it ended without an answer.
///
/// # Errors
/// It runs and does not answer, or is another user's.
pub fn ask(path: &Path, question: &str) -> Result<Option<Value>, RunError> {
    ask_within(path, question, ANSWER_MAX)
}

/// The same where nothing can be made of a program that ended without an answer: it may have done what was asked for, or not.
///
/// # Errors
/// Those of [`ask`], and that it ended.
pub fn ask_for_answer(path: &Path, question: &str) -> Result<Option<Value>, RunError> {
    match ask(path, question)? {
        Some(Value::Null) => {
            let sentence = format!("the program behind {} ended before it had answered", path.display());
            Err(RunError::network(sentence).with_hint("start it again, and look at its log if it ends again"))
        }
        answer => Ok(answer),
    }
}

/// The same for what may take longer.
///
/// # Errors
/// It runs and does not answer in that time, or is another user's.
pub fn ask_within(path: &Path, question: &str, most: Duration) -> Result<Option<Value>, RunError> {
    let mut stream = match UnixStream::connect(path) {
        Ok(stream) => stream,
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::ConnectionRefused) => {
            return Ok(None);
        }
        Err(error) if error.kind() == ErrorKind::PermissionDenied => {
            let sentence = format!("{} is not for this user to look into", path.display());
            return Err(
                RunError::network(sentence).with_hint("ask as root, or as the user that the program runs as")
            );
        }
        Err(error) => return Err(error).or_network(|| format!("ask the program behind {}", path.display())),
    };
    let answer = (|| {
        stream.set_read_timeout(Some(most))?;
        stream.write_all(format!("{question}\n").as_bytes())?;
        let mut line = String::new();
        BufReader::new(&stream).read_line(&mut line)?;
        Ok::<_, std::io::Error>(line)
    })();
    let answer = match answer {
        // It ended before it had read the question.
        Err(error) if matches!(error.kind(), ErrorKind::ConnectionReset | ErrorKind::BrokenPipe) => {
            Ok(String::new())
        }
        answer => answer,
    };
    let answer = answer.or_network(|| format!("ask the program behind {}", path.display()))?;
    if answer.is_empty() {
        return Ok(Some(Value::Null)); // It ended while it was asked.
    }
    serde_json::from_str(&answer)
        .map(Some)
        .or_network(|| "the running program's answer is not JSON".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;
    use std::os::unix::net::UnixListener;

    #[test]
    fn a_program_that_ends_while_it_is_asked_gives_no_answer() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("control.sock");
        assert_eq!(ask(&path, "status").unwrap(), None);
        let listener = UnixListener::bind(&path).unwrap();
        let ended = std::thread::spawn(move || {
            for _ in 0..2 {
                // Closed with the question unread, which resets the connection.
                let (stream, _) = listener.accept().unwrap();
                let mut first = [0];
                Read::read_exact(&mut (&stream), &mut first).unwrap();
            }
        });
        assert_eq!(ask(&path, "status").unwrap(), Some(Value::Null));
        let error = ask_for_answer(&path, "reload").unwrap_err().to_string();
        assert!(error.contains("ended before it had answered"), "{error}");
        ended.join().unwrap();
        assert_eq!(ask(&path, "status").unwrap(), None);
    }
}
