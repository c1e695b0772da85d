//! Lists and tables with a limit: what is beyond it is refused while it is read, not afterwards.

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;

/// A list of at most `MAX`.
pub(crate) fn at_most<'de, const MAX: usize, T, D>(deserializer: D) -> Result<Vec<T>, D::Error>
where
    T: Deserialize<'de>,
    D: Deserializer<'de>,
{
    deserializer.deserialize_seq(Limited::<MAX, T>(PhantomData))
}

/// A table of at most `MAX` entries, each key once.
pub(crate) fn table_at_most<'de, const MAX: usize, K, V, D>(
    deserializer: D,
) -> Result<BTreeMap<K, V>, D::Error>
where
    K: Deserialize<'de> + Ord,
    V: Deserialize<'de>,
    D: Deserializer<'de>,
{
    deserializer.deserialize_map(LimitedTable::<MAX, K, V>(PhantomData))
}

struct Limited<const MAX: usize, T>(PhantomData<T>);

impl<'de, const MAX: usize, T: Deserialize<'de>> Visitor<'de> for Limited<MAX, T> {
    type Value = Vec<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a list of at most {MAX}")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Vec<T>, A::Error> {
        let mut all = Vec::new();
        while let Some(one) = list.next_element()? {
            if all.len() == MAX {
                return Err(A::Error::custom(format_args!("a list of more than {MAX}")));
            }
            all.push(one);
        }
        Ok(all)
    }
}

struct LimitedTable<const MAX: usize, K, V>(PhantomData<(K, V)>);

impl<'de, const MAX: usize, K, V> Visitor<'de> for LimitedTable<MAX, K, V>
where
    K: Deserialize<'de> + Ord,
    V: Deserialize<'de>,
{
    type Value = BTreeMap<K, V>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a table of at most {MAX} entries")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut table: A) -> Result<BTreeMap<K, V>, A::Error> {
        let mut all = BTreeMap::new();
        while let Some((key, value)) = table.next_entry()? {
            if all.len() == MAX {
                return Err(A::Error::custom(format_args!("a table of more than {MAX} entries")));
            }
            if all.insert(key, value).is_some() {
                return Err(A::Error::custom("a table with the same key twice"));
            }
        }
        Ok(all)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(text: &str) -> Result<Vec<u8>, String> {
        at_most::<2, _, _>(&mut serde_json::Deserializer::from_str(text)).map_err(|error| error.to_string())
    }

    fn table(text: &str) -> Result<BTreeMap<String, u8>, String> {
        table_at_most::<2, _, _, _>(&mut serde_json::Deserializer::from_str(text))
            .map_err(|error| error.to_string())
    }

    #[test]
    fn a_list_ends_at_its_limit() {
        assert_eq!(list("[1, 2]"), Ok(vec![1, 2]));
        assert!(list("[1, 2, 3]").unwrap_err().starts_with("a list of more than 2"));
        assert!(list("{}").unwrap_err().contains("expected a list of at most 2"));
    }

    #[test]
    fn a_table_ends_at_its_limit_and_has_each_key_once() {
        assert_eq!(table(r#"{"a": 1, "b": 2}"#).unwrap().len(), 2);
        assert!(table(r#"{"a": 1, "b": 2, "c": 3}"#).unwrap_err().starts_with("a table of more than 2"));
        assert!(table(r#"{"a": 1, "a": 2}"#).unwrap_err().contains("the same key twice"));
        assert!(table("[]").unwrap_err().contains("expected a table of at most 2 entries"));
    }
}
