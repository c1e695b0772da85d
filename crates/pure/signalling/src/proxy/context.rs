//! Response contexts (RFC 3261 section 16.7): what a request was forwarded as, and the best answer so far.
//!
//! A context lives as long as its server transaction, a branch as long as its client transaction: the transaction
//! layer says when they end.

use super::calls::LegId;
use super::event::CallId;
use crate::Message;
use crate::transaction::{ClientKey, ServerKey};
use std::collections::BTreeMap;

/// A request that is being answered.
#[derive(Debug)]
pub(super) struct Context {
    pub(super) request: Message,
    /// The leg that it came from, if it belongs to a call.
    pub(super) leg: Option<LegId>,
    /// What it was forwarded as.
    pub(super) branches: Vec<ClientKey>,
    /// Whether its body was an offer; then bodies in answers are answers.
    pub(super) had_offer: bool,
    /// The best failure of the branches so far.
    pub(super) best: Option<Message>,
    /// Our own tag, for answers that are ours.
    pub(super) tag: String,
}

/// A request that was forwarded.
#[derive(Clone, Debug)]
pub(super) struct Branch {
    /// What it was forwarded for.
    pub(super) server: ServerKey,
    pub(super) call: CallId,
    /// Whether the call that it has made was ended at once.
    pub(super) is_hung_up: bool,
}

/// All response contexts.
#[derive(Debug, Default)]
pub(super) struct Contexts {
    contexts: BTreeMap<ServerKey, Context>,
    branches: BTreeMap<ClientKey, Branch>,
}

impl Contexts {
    pub(super) fn open(&mut self, key: ServerKey, request: Message, tag: String) {
        let (branches, had_offer, best) = (Vec::new(), false, None);
        self.contexts.insert(key, Context { request, leg: None, branches, had_offer, best, tag });
    }

    pub(super) fn get(&self, key: &ServerKey) -> Option<&Context> {
        self.contexts.get(key)
    }

    pub(super) fn get_mut(&mut self, key: &ServerKey) -> Option<&mut Context> {
        self.contexts.get_mut(key)
    }

    /// Its server transaction has ended.
    pub(super) fn close(&mut self, key: &ServerKey) {
        self.contexts.remove(key);
    }

    /// The request was forwarded.
    pub(super) fn add_branch(&mut self, server: &ServerKey, call: CallId, client: ClientKey) {
        if let Some(context) = self.contexts.get_mut(server) {
            context.branches.push(client.clone());
        }
        self.branches.insert(client, Branch { server: server.clone(), call, is_hung_up: false });
    }

    pub(super) fn branch(&self, key: &ClientKey) -> Option<&Branch> {
        self.branches.get(key)
    }

    pub(super) fn branch_mut(&mut self, key: &ClientKey) -> Option<&mut Branch> {
        self.branches.get_mut(key)
    }

    /// Its client transaction has ended.
    pub(super) fn close_branch(&mut self, key: &ClientKey) -> Option<Branch> {
        self.branches.remove(key)
    }

    /// What a request was forwarded as.
    pub(super) fn branches(&self, key: &ServerKey) -> Vec<ClientKey> {
        self.contexts.get(key).map(|context| context.branches.clone()).unwrap_or_default()
    }

    /// Whether nothing is left of any transaction.
    #[cfg(test)]
    pub(super) fn is_empty(&self) -> bool {
        self.contexts.is_empty() && self.branches.is_empty()
    }
}
