//! Short messages as a way to find a home.

use crate::clock::{now, sleep_until};
use crate::{Received, Sms};
use guestright_directory::sms::{Courier, Event, Outgoing, OutgoingId};
use guestright_directory::{Announcing, Contact, FindError, Finder, Finding, Record, Search};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;

const ORDERS_MAX: usize = 64;
const GONE: &str = "short messages are switched off";

/// What a courier may say to the program around it.
#[derive(Clone, Debug, PartialEq)]
pub enum FinderEvent {
    /// Somebody has asked and was answered.
    Answered,
    /// A question carried this record of the one who asks.
    Learned(Box<Record>),
    /// A message was refused: which kind, and why.
    Refused(&'static str, String),
}

enum Order {
    Find(Box<Contact>, Option<Box<Record>>, u32, oneshot::Sender<Result<Record, FindError>>),
    GiveOut(Box<Record>),
    Own(Vec<Record>),
    Contacts(Vec<Contact>),
}

/// Asks and answers by short message, in a task of its own.
pub struct SmsFinder {
    orders: mpsc::Sender<Order>,
    chance: Box<dyn Fn() -> u32 + Send + Sync>,
    task: JoinHandle<()>,
}

impl SmsFinder {
    /// Begins to ask and answer over `sms`. `chance` gives numbers that nobody can guess. What is heard meanwhile goes
    /// to `heard`, and is dropped where nobody takes it. Has to be called inside a tokio runtime.
    ///
    /// The record that was announced last goes along with our own questions, unless [`SmsFinder::find_for`] says which.
    pub fn start(
        courier: Courier,
        sms: Arc<dyn Sms>,
        chance: impl Fn() -> u32 + Send + Sync + 'static,
        events: Option<mpsc::Sender<FinderEvent>>,
    ) -> Self {
        let (orders, orders_in) = mpsc::channel(ORDERS_MAX);
        let (failures, failed) = mpsc::channel(ORDERS_MAX);
        let looped = Loop { courier, sms, own: None, waiting: BTreeMap::new(), events, failures };
        let task = tokio::spawn(looped.run(orders_in, failed));
        Self { orders, chance: Box::new(chance), task }
    }

    /// Says who may ask.
    ///
    /// # Errors
    /// [`FindError::Way`] if the task is gone.
    pub async fn set_contacts(&self, contacts: Vec<Contact>) -> Result<(), FindError> {
        self.order(Order::Contacts(contacts)).await
    }

    /// Asks where the contact's home is, on behalf of the member whose record goes along.
    ///
    /// # Errors
    /// [`FindError`].
    pub async fn find_for(&self, contact: &Contact, caller: Option<Record>) -> Result<Record, FindError> {
        let (answer, end) = oneshot::channel();
        let (contact, caller) = (Box::new(contact.clone()), caller.map(Box::new));
        self.order(Order::Find(contact, caller, (self.chance)(), answer)).await?;
        end.await.unwrap_or_else(|_| Err(FindError::Way(GONE.to_owned())))
    }

    /// Gives these records out from now on, and no others.
    ///
    /// # Errors
    /// [`FindError::Way`] if the task is gone or has too much to do; nothing has changed then.
    pub fn set_own(&self, records: Vec<Record>) -> Result<(), FindError> {
        self.orders.try_send(Order::Own(records)).map_err(|_| FindError::Way(GONE.to_owned()))
    }

    async fn order(&self, order: Order) -> Result<(), FindError> {
        self.orders.send(order).await.map_err(|_| FindError::Way(GONE.to_owned()))
    }
}

impl Finder for SmsFinder {
    fn name(&self) -> &'static str {
        "short messages"
    }

    fn find<'a>(&'a self, contact: &'a Contact) -> Finding<'a> {
        Box::pin(self.find_for(contact, None))
    }

    fn announce<'a>(&'a self, record: &'a Record) -> Announcing<'a> {
        Box::pin(self.order(Order::GiveOut(Box::new(record.clone()))))
    }
}

impl Drop for SmsFinder {
    fn drop(&mut self) {
        self.task.abort();
    }
}

struct Loop {
    courier: Courier,
    sms: Arc<dyn Sms>,
    own: Option<Record>,
    waiting: BTreeMap<Search, oneshot::Sender<Result<Record, FindError>>>,
    events: Option<mpsc::Sender<FinderEvent>>,
    failures: mpsc::Sender<(OutgoingId, String)>,
}

impl Loop {
    async fn run(
        mut self,
        mut orders: mpsc::Receiver<Order>,
        mut failed: mpsc::Receiver<(OutgoingId, String)>,
    ) {
        let sms = self.sms.clone();
        loop {
            while let Some(outgoing) = self.courier.poll_transmit() {
                self.send(outgoing);
            }
            while let Some(event) = self.courier.poll_event() {
                self.hear(event);
            }
            tokio::select! {
                Some(order) = orders.recv() => self.handle_order(order),
                Some((id, reason)) = failed.recv() => self.courier.handle_send_failed(id, &reason),
                Received { from, user_data } = sms.receive() => match from {
                    Some(from) => self.courier.handle_message(&from, &user_data, now()),
                    None => tracing::debug!("a short message without a number to answer to"),
                },
                () = sleep_until(self.courier.poll_timeout()) => self.courier.handle_timeout(now()),
            }
        }
    }

    fn handle_order(&mut self, order: Order) {
        match order {
            Order::Find(contact, caller, chance, answer) => {
                let caller = caller.as_deref().or(self.own.as_ref());
                let begun = self.courier.handle_find(&contact, caller, chance, now());
                match begun {
                    Ok(search) => {
                        self.waiting.insert(search, answer);
                    }
                    Err(error) => {
                        // Who asked may have gone.
                        let _ = answer.send(Err(error));
                    }
                }
            }
            Order::GiveOut(record) => {
                if self.own.as_ref().is_none_or(|own| record.member() != own.member() || record.replaces(own))
                {
                    self.own = Some((*record).clone());
                }
                self.courier.give_out(*record);
            }
            Order::Own(records) => self.courier.set_own(records),
            Order::Contacts(contacts) => self.courier.set_contacts(&contacts),
        }
    }

    /// Sends in a task of its own: the network takes its time, and answers come meanwhile.
    fn send(&self, outgoing: Outgoing) {
        let (sms, failures) = (self.sms.clone(), self.failures.clone());
        tokio::spawn(async move {
            if let Err(error) = sms.send(&outgoing.to, &outgoing.parts, outgoing.validity).await {
                tracing::info!(%error, "a short message was not sent");
                // The loop may have ended.
                let _ = failures.send((outgoing.id, error.to_string())).await;
            }
        });
    }

    fn hear(&mut self, event: Event) {
        let (search, end) = match event {
            Event::Found { search, record } => (search, Ok(*record)),
            Event::NotFound { search, reason } => (search, Err(reason)),
            Event::Answered(_) => return self.notify(FinderEvent::Answered),
            Event::Learned(record) => return self.notify(FinderEvent::Learned(record)),
            Event::Refused(kind, reason) => return self.notify(FinderEvent::Refused(kind, reason)),
        };
        if let Some(answer) = self.waiting.remove(&search) {
            // Who asked may have gone.
            let _ = answer.send(end);
        }
    }

    fn notify(&self, event: FinderEvent) {
        if let Some(listener) = &self.events {
            // A listener that is slow, or gone, misses something.
            let _ = listener.try_send(event);
        }
    }
}

impl fmt::Debug for SmsFinder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SmsFinder")
    }
}
