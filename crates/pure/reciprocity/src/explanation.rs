//! The chains of debts behind a decision.

use crate::decision::Decision;
use crate::flow::FlowPath;
use guestright_units::TeamId;

/// A decision with the flow paths that it weighed. Made by [`Judge::explain`](crate::Judge::explain).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Explanation {
    /// Who was asked.
    pub provider: TeamId,
    /// Who asked.
    pub consumer: TeamId,
    /// The verdict and its figures.
    pub decision: Decision,
    /// How the provider owes the consumer, the largest part first; only as much as was looked for.
    pub owed_to_consumer: Vec<FlowPath>,
    /// How the consumer owes the provider, the largest part first.
    pub owed_by_consumer: Vec<FlowPath>,
}

impl Explanation {
    /// The explanation as lines of text, with teams called what `name` calls them.
    pub fn lines(&self, name: impl Fn(TeamId) -> String) -> Vec<String> {
        let (provider, consumer) = (name(self.provider), name(self.consumer));
        let mut lines = vec![self.decision.reason()];
        for (debtor, creditor, paths) in
            [(&provider, &consumer, &self.owed_to_consumer), (&consumer, &provider, &self.owed_by_consumer)]
        {
            if paths.is_empty() {
                lines.push(format!("{debtor} owes {creditor} nothing that counted."));
                continue;
            }
            lines.push(format!("{debtor} owes {creditor}:"));
            for path in paths {
                let names: Vec<_> = path.teams.iter().map(|team| name(*team)).collect();
                lines.push(format!("  {:>9}  {}", path.bytes.to_string(), names.join(" -> ")));
            }
        }
        lines
    }
}
