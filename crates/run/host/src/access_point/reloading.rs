//! Settings that change while visitors are served.

use super::calls::Calls;
use super::guard::Order;
use super::{Loop, Settings};
use crate::reload::{self, Fresh, Reload};
use guestright_error::RunError;
use serde_json::{Value, json};
use tokio::sync::oneshot;

/// What was read again and waits for the firewall.
#[derive(Debug, Default)]
pub(super) struct Reloading {
    pending: Option<Pending>,
    /// Whether it is to be read once more, because it was asked for meanwhile.
    again: bool,
}

#[derive(Debug)]
struct Pending {
    fresh: Fresh<Settings>,
    /// What will be in force: what waits for the next start is as it was.
    next: Settings,
    reply: Option<oneshot::Sender<Value>>,
}

impl Loop {
    /// Reads the settings and its own certificate again, and has the firewall take its part first: it alone may still
    /// refuse.
    pub(super) fn begin_reload(
        &mut self,
        reload: &mut Reload<Settings>,
        reply: Option<oneshot::Sender<Value>>,
    ) {
        if self.reloading.pending.is_some() {
            self.reloading.again |= reply.is_none();
            let busy = json!({ "error": "the settings are being read again at this moment" });
            reply.into_iter().for_each(|reply| drop(reply.send(busy.clone())));
            return;
        }
        let read = reload.read().and_then(|fresh| {
            let mut next = self.settings.clone();
            next.machine.clone_from(&fresh.settings.machine);
            next.retention = fresh.settings.retention;
            next.radio.clone_from(&fresh.settings.radio);
            if let (Some(in_force), Some(read)) = (&mut next.splash, &fresh.settings.splash) {
                (in_force.texts, in_force.trial) = (read.texts.clone(), read.trial);
            }
            if next.shaping.is_some() && fresh.settings.shaping.is_some() {
                next.shaping = fresh.settings.shaping;
            }
            if let (Some(phones), Some(fresh)) = (&mut next.phones, &fresh.settings.phones) {
                phones.reply_message = fresh.reply_message;
            }
            // Before anything is changed.
            next.rules()?;
            Ok((fresh, next))
        });
        match read {
            Ok((fresh, next)) => {
                self.order(Order::Reconfigure { lease_ms: next.lease_ms(), shaping: next.shaping });
                self.reloading.pending = Some(Pending { fresh, next, reply });
            }
            Err(error) => self.refuse_reload(error, reply),
        }
    }

    /// The firewall has taken it, or refuses.
    pub(super) fn end_reload(&mut self, reload: &mut Reload<Settings>, result: Result<(), String>) {
        let Some(Pending { fresh, next, reply }) = self.reloading.pending.take() else { return };
        match result {
            Ok(()) => {
                let now = self.clock.now();
                self.machine.reconfigure(next.machine.clone(), now);
                super::splash::change_page(self, &next);
                super::retention::change(self, next.retention);
                self.pace = next.pace();
                if next.radio != self.settings.radio {
                    self.calls = Calls::new(next.radio.as_ref());
                }
                if let (Some(phones), Some(settings)) = (&mut self.phones, &next.phones) {
                    phones.reconfigure(settings);
                }
                self.settings = next;
                self.own.look_again();
                reload.accepted();
                let answer = reload::answer(&Ok(fresh));
                // Whoever asked may have gone.
                reply.into_iter().for_each(|reply| drop(reply.send(answer.clone())));
            }
            Err(reason) => {
                let error = RunError::network(format!("the system refuses the queues: {reason}"));
                self.refuse_reload(error, reply);
            }
        }
        if std::mem::take(&mut self.reloading.again) {
            self.begin_reload(reload, None);
        }
    }

    fn refuse_reload(&self, error: RunError, reply: Option<oneshot::Sender<Value>>) {
        let answer = reload::answer(&Err::<Fresh<Settings>, _>(error));
        reply.into_iter().for_each(|reply| drop(reply.send(answer.clone())));
    }
}
