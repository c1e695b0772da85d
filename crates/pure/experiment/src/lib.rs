//! Experiments as data: plans, results, verdicts and reports.
