//! The schema that the feature `describe` gives, held against what is written.

use super::{arbitrary, recorded};
use guestright_overview::{Overview, openapi};
use proptest::prelude::*;
use serde_json::{Value, json};

fn schemas() -> Value {
    serde_json::to_value(openapi()).unwrap()["components"]["schemas"].take()
}

#[test]
fn recorded_overviews_fit_the_schema() {
    let schemas = schemas();
    for (name, text) in recorded() {
        assert_eq!(problems(&schemas, &serde_json::from_str(&text).unwrap()), Vec::<String>::new(), "{name}");
    }
}

#[test]
fn the_schema_knows_each_limit() {
    let schemas = schemas();
    let (_, text) = recorded().into_iter().find(|(name, _)| name == "serving").unwrap();
    let serving: Value = serde_json::from_str(&text).unwrap();
    #[rustfmt::skip]
    let cases = [
        ("/team",                    json!("ab")),
        ("/version",                 json!("a".repeat(65))),
        ("/standing/says",           json!("a".repeat(513))),
        ("/standing/state",          json!("asleep")),
        ("/guests/0/class",          json!("best")),
        ("/guests/0/counted",        json!(-1)),
        ("/guests/0/counted",        json!(1_u64 << 53)),
        ("/guests/2/chain",          json!(vec!["0".repeat(48); 17])),
        ("/guests",                  json!(vec![serving["guests"][0].clone(); 257])),
        ("/calls/0/mos_to_caller",   json!(4.6)),
        ("/why/owed_to_consumer/0",  json!({})),
        ("/credit/allowance",        json!(7)),
        ("/may",                     json!(null)),
    ];
    for (pointer, value) in cases {
        let mut wrong = serving.clone();
        *wrong.pointer_mut(pointer).unwrap() = value;
        assert!(!problems(&schemas, &wrong).is_empty(), "{pointer}");
        assert!(Overview::from_json(wrong.to_string().as_bytes()).is_err(), "{pointer}");
    }
}

#[test]
fn each_field_and_type_is_explained() {
    for (name, schema) in schemas().as_object().unwrap() {
        assert!(schema["description"].is_string(), "{name}");
        for (field, inner) in schema["properties"].as_object().into_iter().flatten() {
            // Where a value may be `null`, the text stands beside the reference.
            let text = inner["description"].as_str().or_else(|| inner["oneOf"][0]["description"].as_str());
            assert!(text.is_some_and(|text| !text.is_empty()), "{name}.{field}: {inner}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn what_is_written_fits_the_schema(overview in arbitrary::overview()) {
        let written = serde_json::from_str(&overview.to_json()).unwrap();
        prop_assert_eq!(problems(&schemas(), &written), Vec::<String>::new());
    }
}

/// What does not fit the schema of an overview. Of JSON Schema (2020-12) it knows what this schema has, and stops at anything else.
fn problems(schemas: &Value, overview: &Value) -> Vec<String> {
    let mut found = Vec::new();
    check(schemas, &json!({ "$ref": "#/components/schemas/Overview" }), overview, "", &mut found);
    found
}

fn check(schemas: &Value, schema: &Value, value: &Value, path: &str, found: &mut Vec<String>) {
    for (word, rule) in schema.as_object().unwrap() {
        let fits = match word.as_str() {
            "description" | "format" | "propertyNames" | "pattern" => true,
            "$ref" => {
                let name = rule.as_str().unwrap().rsplit('/').next().unwrap();
                check(schemas, &schemas[name], value, path, found);
                true
            }
            "oneOf" | "anyOf" => rule.as_array().unwrap().iter().any(|one| {
                let mut inner = Vec::new();
                check(schemas, one, value, path, &mut inner);
                inner.is_empty()
            }),
            "type" => match rule.as_array() {
                Some(all) => all.iter().any(|one| has_type(value, one.as_str().unwrap())),
                None => has_type(value, rule.as_str().unwrap()),
            },
            "enum" => rule.as_array().unwrap().contains(value),
            "minimum" => value.as_f64().is_none_or(|number| number >= rule.as_f64().unwrap()),
            // Above 2^53 - 1 not every number is a double: whole numbers are compared as such.
            "maximum" => match (value.as_u64(), rule.as_u64()) {
                (Some(number), Some(most)) => number <= most,
                _ => value.as_f64().is_none_or(|number| number <= rule.as_f64().unwrap()),
            },
            "minLength" => length(value).is_none_or(|got| got >= rule.as_u64().unwrap()),
            "maxLength" => length(value).is_none_or(|got| got <= rule.as_u64().unwrap()),
            "maxItems" => value.as_array().is_none_or(|all| all.len() as u64 <= rule.as_u64().unwrap()),
            "required" => value.as_object().is_none_or(|all| {
                rule.as_array().unwrap().iter().all(|key| all.contains_key(key.as_str().unwrap()))
            }),
            "properties" => {
                for (key, inner) in value.as_object().into_iter().flatten() {
                    match rule.get(key) {
                        Some(schema) => check(schemas, schema, inner, &format!("{path}/{key}"), found),
                        None => found.push(format!("{path}/{key}: not in the schema")),
                    }
                }
                true
            }
            "additionalProperties" => {
                for (key, inner) in value.as_object().into_iter().flatten() {
                    check(schemas, rule, inner, &format!("{path}/{key}"), found);
                }
                true
            }
            "items" => {
                for (index, inner) in value.as_array().into_iter().flatten().enumerate() {
                    check(schemas, rule, inner, &format!("{path}/{index}"), found);
                }
                true
            }
            _ => panic!("{path}: this test does not know `{word}`: {rule}"),
        };
        if !fits {
            found.push(format!("{path}: {word} is {rule}, got {value}"));
        }
    }
}

fn length(value: &Value) -> Option<u64> {
    value.as_str().map(|text| text.chars().count() as u64)
}

fn has_type(value: &Value, name: &str) -> bool {
    match name {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_u64() || value.is_i64(),
        "number" => value.is_number(),
        "string" => value.is_string(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        _ => panic!("no type is called {name}"),
    }
}
