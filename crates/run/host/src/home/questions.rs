//! What a running home is asked at its control socket.

use super::{Loop, Settings, about, blocked, everybody, ikev2, orders, overview, store_copy, why};
use crate::reload::Reload;
use crate::{export, history};
use guestright_store::Store;
use serde_json::{Value, json};
use tokio::sync::oneshot;

impl Loop {
    pub(super) fn answer(
        &mut self,
        question: &str,
        reply: oneshot::Sender<Value>,
        reload: &mut Reload<Settings>,
    ) {
        match question.split_once(' ') {
            None if question == "status" => {
                let mut status = self.status();
                let ikev2 = self.ikev2.clone();
                let job = move |store: &mut Store| {
                    status["receipts"] = json!(store.count());
                    ikev2::answer(status, ikev2, reply);
                };
                if let Err(error) = self.store.run(job) {
                    tracing::warn!(%error, "the store is too busy to be asked");
                }
            }
            Some((export::QUESTION, after)) => export::answer(&self.store, after, reply),
            None if question == export::QUESTION => export::answer(&self.store, "", reply),
            Some((history::QUESTION, words)) => history::answer(&self.store, self.team, words, reply),
            None if question == "overview" => overview::handle_question(self, None, reply),
            Some(("overview", team)) => overview::handle_question(self, Some(team), reply),
            Some(("why", team)) => drop(reply.send(why::why(self, team))),
            #[cfg(feature = "page")]
            None if question == "web" => drop(reply.send(self.doors.page.answer(""))),
            #[cfg(feature = "page")]
            Some(("web", words)) => drop(reply.send(self.doors.page.answer(words))),
            Some(("sponsor", words)) => drop(reply.send(self.sponsor(words))),
            Some((question @ ("block" | "unblock"), team)) => drop(reply.send(blocked::answer(self, question, team))),
            None if question == "everybody" => drop(reply.send(everybody::answer(self, ""))),
            Some(("everybody", words)) => drop(reply.send(everybody::answer(self, words))),
            Some((question @ ("about" | "forget"), words)) => about::answer(self, question, words, reply),
            None if question == "block" => drop(reply.send(blocked::answer(self, question, ""))),
            Some((question @ ("block-device" | "unblock-device"), device)) => blocked::answer_device(self, question, device, reply),
            Some(("end-guest", words)) => orders::answer_end_guest(self, words, reply),
            Some(("phone", words)) => {
                let now = self.clock.now();
                drop(reply.send(self.phones.answer(words, &mut self.rng, now)));
            }
            None if question == "reload" => drop(reply.send(self.reload(reload))),
            None if question == "backup" => self.copy_store(reply),
            None if question == "accounts" => drop(reply.send(self.accounts())),
            None if question == "stop" => drop(reply.send(json!({ "stopping": true }))),
            _ => drop(
                reply.send(json!({ "error": "the questions are: status, overview, overview TEAM, accounts, why TEAM, sponsor TEAM BYTES, block, block TEAM, unblock TEAM, block-device MAC, unblock-device MAC, end-guest ACCESS-POINT GUEST, about TEAM, forget TEAM, everybody, everybody SECONDS, everybody stop, phone …, web …, backup, export, history …, reload, stop" })),
            ),
        }
    }

    /// Copies the store while it is in use: its own thread does, and receipts wait for it meanwhile.
    fn copy_store(&mut self, reply: oneshot::Sender<Value>) {
        let job = move |store: &mut Store| {
            let copy = store_copy(store.path());
            let _ = std::fs::remove_file(&copy); // Of a backup that was killed.
            let answer = match store.copy_to(&copy) {
                Ok(()) => json!({ "copy": copy }),
                Err(error) => {
                    let _ = std::fs::remove_file(&copy);
                    json!({ "error": error.to_string() })
                }
            };
            let _ = reply.send(answer);
        };
        if let Err(error) = self.store.run(job) {
            tracing::warn!(%error, "the store is too busy to be copied");
        }
    }
}
