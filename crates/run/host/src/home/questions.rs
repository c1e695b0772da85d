//! What a running home is asked at its control socket.

use super::{Loop, Settings, about, blocked, everybody, ikev2, orders, overview, store_copy, why};
use crate::export;
use crate::reload::Reload;
use guestright_store::Store;
use serde_json::{Value, json};
use tokio::sync::oneshot;

pub(super) fn answer(
    this: &mut Loop,
    question: &str,
    reply: oneshot::Sender<Value>,
    reload: &mut Reload<Settings>,
) {
    match question.split_once(' ') {
        None if question == "status" => {
            let mut status = this.status();
            let ikev2 = this.ikev2.clone();
            let job = move |store: &mut Store| {
                status["receipts"] = json!(store.count());
                ikev2::answer(status, ikev2, reply);
            };
            if let Err(error) = this.store.run(job) {
                tracing::warn!(%error, "the store is too busy to be asked");
            }
        }
        Some((export::QUESTION, after)) => export::answer(&this.store, after, reply),
        None if question == export::QUESTION => export::answer(&this.store, "", reply),
        #[cfg(feature = "history")]
        Some((crate::history::QUESTION, words)) => crate::history::answer(&this.store, this.team, words, reply),
        None if question == "overview" => overview::handle_question(this, None, reply),
        Some(("overview", team)) => overview::handle_question(this, Some(team), reply),
        Some(("why", team)) => drop(reply.send(why::why(this, team))),
        #[cfg(feature = "page")]
        None if question == "web" => drop(reply.send(this.doors.page.answer(""))),
        #[cfg(feature = "page")]
        Some(("web", words)) => drop(reply.send(this.doors.page.answer(words))),
        Some(("sponsor", words)) => drop(reply.send(this.sponsor(words))),
        Some((question @ ("block" | "unblock"), team)) => drop(reply.send(blocked::answer(this, question, team))),
        None if question == "everybody" => drop(reply.send(everybody::answer(this, ""))),
        Some(("everybody", words)) => drop(reply.send(everybody::answer(this, words))),
        Some((question @ ("about" | "forget"), words)) => about::answer(this, question, words, reply),
        None if question == "block" => drop(reply.send(blocked::answer(this, question, ""))),
        Some((question @ ("block-device" | "unblock-device"), device)) => blocked::answer_device(this, question, device, reply),
        Some(("end-guest", words)) => orders::answer_end_guest(this, words, reply),
        Some(("phone", words)) => {
            let now = this.clock.now();
            drop(reply.send(this.phones.answer(words, &mut this.rng, now)));
        }
        None if question == "reload" => drop(reply.send(this.reload(reload))),
        None if question == "backup" => copy_store(this, reply),
        None if question == "accounts" => drop(reply.send(this.accounts())),
        None if question == "stop" => drop(reply.send(json!({ "stopping": true }))),
        _ => drop(
            reply.send(json!({ "error": "the questions are: status, overview, overview TEAM, accounts, why TEAM, sponsor TEAM BYTES, block, block TEAM, unblock TEAM, block-device MAC, unblock-device MAC, end-guest ACCESS-POINT GUEST, about TEAM, forget TEAM, everybody, everybody SECONDS, everybody stop, phone …, web …, backup, export, history …, reload, stop" })),
        ),
    }
}

/// Copies the store while it is in use: its own thread does, and receipts wait for it meanwhile.
fn copy_store(this: &mut Loop, reply: oneshot::Sender<Value>) {
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
    if let Err(error) = this.store.run(job) {
        tracing::warn!(%error, "the store is too busy to be copied");
    }
}
