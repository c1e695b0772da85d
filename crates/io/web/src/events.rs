//! A stream of overviews, as server-sent events (HTML Standard, section 9.2).

use crate::server::Inner;
use crate::session::SessionId;
use crate::{Access, Provider};
use bytes::{BufMut as _, Bytes, BytesMut};
use std::sync::Arc;
use tokio::sync::{mpsc, watch};
use tokio::time::{sleep, timeout};

/// Nothing, for the client: whether it is still there shows by that.
const HEARTBEAT: Bytes = Bytes::from_static(b":\n\n");

/// What a stream shows to whom.
#[derive(Debug)]
pub(crate) struct View {
    pub(crate) access: Access,
    pub(crate) why: Option<String>,
    /// Whose end is the stream's. An open stream is no use of it: else a forgotten page would keep it for ever.
    pub(crate) session: Option<SessionId>,
}

/// Sends overviews until the client goes, or may no longer see them.
///
/// The channel holds one event. A client that reads slowly misses overviews, and none waits for it.
pub(crate) async fn follow<P: Provider>(inner: Arc<Inner<P>>, view: View, events: mpsc::Sender<Bytes>) {
    let _look = Arc::clone(&inner.watch).look();
    let mut changes = inner.watch.subscribe();
    while inner.is_open(view.session) {
        changes.mark_unchanged();
        let overview = timeout(inner.config.provider_max, inner.overview(view.access, view.why.as_deref()));
        let made = tokio::select! {
            made = overview => made,
            () = events.closed() => return,
        };
        let Ok(Ok(overview)) = made else {
            // The client asks again, and is answered why.
            return;
        };
        if events.send(event(&overview)).await.is_err() {
            return;
        }
        tokio::select! {
            () = sleep(inner.config.event_gap_min) => {}
            () = events.closed() => return,
        }
        if !wait(&inner, &view, &mut changes, &events).await {
            return;
        }
    }
}

/// Waits for a change. `false`: nobody is there any more, or may not be.
async fn wait<P: Provider>(
    inner: &Inner<P>,
    view: &View,
    changes: &mut watch::Receiver<u64>,
    events: &mpsc::Sender<Bytes>,
) -> bool {
    loop {
        tokio::select! {
            changed = changes.changed() => return changed.is_ok(),
            () = events.closed() => return false,
            () = sleep(inner.config.heartbeat) => {
                if !inner.is_open(view.session) || events.send(HEARTBEAT).await.is_err() {
                    return false;
                }
            }
        }
    }
}

fn event(json: &[u8]) -> Bytes {
    let mut event = BytesMut::with_capacity(json.len() + 16);
    for line in json.split(|byte| matches!(byte, b'\n' | b'\r')) {
        event.put_slice(b"data: ");
        event.put_slice(line);
        event.put_u8(b'\n');
    }
    event.put_u8(b'\n');
    event.freeze()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_shown_cannot_end_its_event() {
        assert_eq!(event(b"{}"), "data: {}\n\n");
        assert_eq!(event(b"{\n\nevent: x\r}"), "data: {\ndata: \ndata: event: x\ndata: }\n\n");
    }
}
