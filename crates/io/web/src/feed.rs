//! What is to be seen, made once however many look, and not at all while nobody does.

use crate::{Access, Provider, Refusal};
use bytes::Bytes;
use guestright_units::{Micros, Time};
use std::sync::Arc;
use tokio::sync::{Mutex, watch};

/// How many different overviews are kept: by access, and by what was asked about.
const KEPT_MAX: usize = 16;

/// Between the provider and those who look: it says that something has changed, and sees whether anybody wants to know.
#[derive(Debug, Default)]
pub struct Watch {
    generation: watch::Sender<u64>,
    watchers: watch::Sender<usize>,
}

impl Watch {
    /// Something has changed: whoever looks gets a new overview.
    pub fn changed(&self) {
        self.generation.send_modify(|generation| *generation = generation.wrapping_add(1));
    }

    /// How many streams of changes are open.
    pub fn watchers(&self) -> usize {
        *self.watchers.borrow()
    }

    /// Comes back when somebody looks.
    pub async fn looked_at(&self) {
        let mut watchers = self.watchers.subscribe();
        watchers.wait_for(|watchers| *watchers > 0).await.expect("its sender is in `self`");
    }

    /// Comes back when nobody looks.
    pub async fn looked_away(&self) {
        let mut watchers = self.watchers.subscribe();
        watchers.wait_for(|watchers| *watchers == 0).await.expect("its sender is in `self`");
    }

    pub(crate) fn subscribe(&self) -> watch::Receiver<u64> {
        self.generation.subscribe()
    }

    pub(crate) fn look(self: Arc<Self>) -> Look {
        self.watchers.send_modify(|watchers| *watchers += 1);
        Look(self)
    }
}

/// Somebody looks, until this is dropped.
#[derive(Debug)]
pub(crate) struct Look(Arc<Watch>);

impl Drop for Look {
    fn drop(&mut self) {
        self.0.watchers.send_modify(|watchers| *watchers -= 1);
    }
}

#[derive(Debug)]
struct Kept {
    access: Access,
    why: Option<String>,
    made: Time,
    overview: Bytes,
}

#[derive(Debug, Default)]
struct Overviews {
    generation: u64,
    kept: Vec<Kept>,
}

/// The overviews of now.
#[derive(Debug)]
pub(crate) struct Feed {
    age_max: Micros,
    /// Held while one is made, so that those who ask for the same wait for it.
    overviews: Mutex<Overviews>,
}

impl Feed {
    pub(crate) fn new(age_max: Micros) -> Self {
        Self { age_max, overviews: Mutex::default() }
    }

    pub(crate) async fn overview<P: Provider>(
        &self,
        provider: &P,
        watch: &Watch,
        access: Access,
        why: Option<&str>,
        now: Time,
    ) -> Result<Bytes, Refusal> {
        let mut overviews = self.overviews.lock().await;
        let generation = *watch.generation.borrow();
        if overviews.generation != generation {
            overviews.generation = generation;
            overviews.kept.clear();
        }
        overviews.kept.retain(|kept| now.since(kept.made) < self.age_max);
        let found = overviews.kept.iter().find(|kept| kept.access == access && kept.why.as_deref() == why);
        if let Some(kept) = found {
            return Ok(kept.overview.clone());
        }
        let overview = provider.overview(access, why).await?;
        if overviews.kept.len() >= KEPT_MAX {
            overviews.kept.remove(0);
        }
        let why = why.map(str::to_owned);
        overviews.kept.push(Kept { access, why, made: now, overview: overview.clone() });
        Ok(overview)
    }
}
