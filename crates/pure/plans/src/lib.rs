//! The plans of the repository's folder `experiments`, so that an installed program has them.
//!
//! Nothing goes in; out come the texts, by name. What they mean is `guestright-experiment`'s business.

/// Every plan, by name and in the order of the names: `("paper-a/table-2", "…")`.
pub const BUILT_IN: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/plans.rs"));

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plans_are_in_the_order_of_their_names_and_none_is_empty() {
        assert!(BUILT_IN.is_sorted_by(|one, other| one.0 < other.0));
        assert!(BUILT_IN.iter().any(|plan| plan.0 == "paper-a/table-2"));
        assert!(BUILT_IN.iter().all(|plan| plan.1.contains("testbed")));
    }
}
