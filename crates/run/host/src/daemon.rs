//! What is asked of a program that runs for long, with systemd notified of it.

use crate::{Fresh, Reloader, Requests, Reread, Stop, notify, probe, reload};
use guestright_error::RunError;

/// The requests that a loop waits for, and what asks it to read its settings again. Needs the runtime: systemd's watchdog is
/// answered as long as the loop goes round.
pub fn requests<S>(stop: Stop, reread: impl Reread<Settings = S> + 'static) -> (Requests<S>, Reloader) {
    let (reloader, reload) = reload(Announced(reread));
    let (prober, probes) = probe();
    notify::keep_watchdog(move || {
        let prober = prober.clone();
        async move { prober.is_answered().await }
    });
    (Requests { stop, reload, probes }, reloader)
}

/// Settings of whose reading systemd is notified, also when a signal asks for it (systemd.service(5), `notify-reload`).
struct Announced<R>(R);

impl<R: Reread> Reread for Announced<R> {
    type Settings = R::Settings;

    fn read(&mut self) -> Result<Fresh<R::Settings>, RunError> {
        notify::reloading();
        let read = self.0.read();
        notify::notify(notify::READY);
        read
    }

    fn accepted(&mut self) {
        self.0.accepted();
    }
}
