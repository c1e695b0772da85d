//! The local API as OpenAPI, from its types.

use crate::action::{
    AddMember, Block, Code, DryRun, DryRunAnswer, DryRunSettings, EndGuest, Everybody, Limits, MemberCode,
    MemberKey, SettingsAnswer,
};
use serde_json::{Map, Value, json};
use utoipa::OpenApi as _;

#[derive(utoipa::OpenApi)]
#[openapi(components(schemas(
    AddMember,
    Block,
    Code,
    DryRun,
    DryRunAnswer,
    DryRunSettings,
    EndGuest,
    Everybody,
    Limits,
    MemberCode,
    MemberKey,
    SettingsAnswer
)))]
struct Schemas;

/// What is asked for by `GET`.
struct Question {
    path: &'static str,
    summary: &'static str,
    content_type: &'static str,
    /// `None`: a text.
    schema: Option<&'static str>,
    has_why: bool,
}

/// What is asked for by `POST`.
struct Order {
    path: &'static str,
    summary: &'static str,
    body: &'static str,
    /// `None`: nothing is answered (204).
    answer: Option<&'static str>,
}

const JSON: &str = "application/json";

#[rustfmt::skip]
const QUESTIONS: [Question; 5] = [
    Question { path: "/v1/overview", summary: "What is to be seen now", content_type: JSON, schema: Some("Overview"), has_why: true },
    Question { path: "/v1/events", summary: "An overview whenever something changes, as server-sent events", content_type: "text/event-stream", schema: None, has_why: true },
    Question { path: "/v1/settings", summary: "What is set, and who is not served", content_type: JSON, schema: Some("SettingsAnswer"), has_why: false },
    Question { path: "/v1/codes/{name}", summary: "A picture that an answer named", content_type: "image/svg+xml", schema: None, has_why: false },
    Question { path: "/v1/openapi.json", summary: "This description", content_type: JSON, schema: None, has_why: false },
];

#[rustfmt::skip]
const ORDERS: [Order; 10] = [
    Order { path: "/v1/session", summary: "Makes a session of a one-time link's code, with a cookie", body: "SignIn", answer: None },
    Order { path: "/v1/guests/end", summary: "Ends a guest's session", body: "EndGuest", answer: None },
    Order { path: "/v1/block", summary: "Serves a team or a device no longer, or again", body: "Block", answer: None },
    Order { path: "/v1/everybody", summary: "Serves everybody in the lowest class until then", body: "Everybody", answer: None },
    Order { path: "/v1/members/add", summary: "Makes a new member, with a code", body: "AddMember", answer: Some("Code") },
    Order { path: "/v1/members/code", summary: "Makes another code for a member", body: "MemberCode", answer: Some("Code") },
    Order { path: "/v1/members/renew", summary: "Makes a member's certificate last longer", body: "MemberKey", answer: None },
    Order { path: "/v1/members/revoke", summary: "Lets a member's key count no longer", body: "MemberKey", answer: None },
    Order { path: "/v1/settings/dry-run", summary: "Tries limits on what has happened", body: "DryRunSettings", answer: Some("DryRunAnswer") },
    Order { path: "/v1/settings", summary: "Sets the limits", body: "Limits", answer: None },
];

/// The local API as OpenAPI 3.1: each path, and the schemas of all that it takes and answers.
pub fn openapi() -> Value {
    let write = |document| serde_json::to_value(document).expect("a description can be written");
    let mut document = write(guestright_overview::openapi());
    let mut ours = write(Schemas::openapi());
    if let Value::Object(schemas) = ours["components"]["schemas"].take() {
        for (name, schema) in schemas {
            document["components"]["schemas"][name] = schema;
        }
    }
    let text = json!({ "type": "string" });
    document["components"]["schemas"]["SignIn"] =
        json!({ "type": "object", "required": ["link"], "properties": { "link": text } });
    document["components"]["schemas"]["Error"] =
        json!({ "type": "object", "required": ["says"], "properties": { "says": text } });
    let mut paths: Map<String, Value> = Map::new();
    for question in QUESTIONS {
        paths.entry(question.path).or_insert(json!({}))["get"] = question.describe();
    }
    for order in ORDERS {
        paths.entry(order.path).or_insert(json!({}))["post"] = order.describe();
    }
    document["paths"] = Value::Object(paths);
    document
}

impl Question {
    fn describe(&self) -> Value {
        let schema = self.schema.map_or(json!({ "type": "string" }), reference);
        let mut parameters = Vec::new();
        if self.has_why {
            parameters.push(json!({ "name": "why", "in": "query", "schema": reference("Team") }));
        }
        if self.path.contains("{name}") {
            parameters.push(
                json!({ "name": "name", "in": "path", "required": true, "schema": { "type": "string" } }),
            );
        }
        let answer =
            json!({ "description": self.summary, "content": { self.content_type: { "schema": schema } } });
        json!({ "summary": self.summary, "parameters": parameters, "responses": responses("200", answer) })
    }
}

impl Order {
    fn describe(&self) -> Value {
        let header = json!({
            "name": "x-guestright", "in": "header", "required": true, "schema": { "type": "string", "enum": ["1"] }
        });
        let body = json!({ "required": true, "content": { JSON: { "schema": reference(self.body) } } });
        let responses = match self.answer {
            Some(answer) => {
                let content = json!({ JSON: { "schema": reference(answer) } });
                responses("200", json!({ "description": self.summary, "content": content }))
            }
            None => responses("204", json!({ "description": "Done" })),
        };
        json!({ "summary": self.summary, "parameters": [header], "requestBody": body, "responses": responses })
    }
}

fn responses(status: &str, answer: Value) -> Value {
    let error = json!({ "description": "Refused", "content": { JSON: { "schema": reference("Error") } } });
    json!({ status: answer, "401": { "description": "No session" }, "default": error })
}

fn reference(schema: &str) -> Value {
    json!({ "$ref": format!("#/components/schemas/{schema}") })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Action;
    use guestright_web::Refusal;

    /// Every `$ref` anywhere in a document.
    fn references(value: &Value, found: &mut Vec<String>) {
        match value {
            Value::Object(fields) => {
                for (name, field) in fields {
                    if name == "$ref" {
                        found.push(field.as_str().unwrap().to_owned());
                    }
                    references(field, found);
                }
            }
            Value::Array(items) => items.iter().for_each(|item| references(item, found)),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }

    #[test]
    fn the_description_is_whole() {
        let document = openapi();
        assert_eq!(document["openapi"], "3.1.0");
        let mut found = Vec::new();
        references(&document, &mut found);
        assert!(found.len() > 40, "{}", found.len());
        for reference in found {
            let pointer = reference.strip_prefix('#').unwrap();
            assert!(document.pointer(pointer).is_some(), "{reference} leads nowhere");
        }
    }

    /// The page's own file of actions is the reference: what it can ask for is described, and read.
    #[test]
    fn each_path_of_the_page_is_described_and_known() {
        let actions = include_str!("../../../../web/src/api/actions.ts");
        let client = include_str!("../../../../web/src/api/client.ts");
        let document = openapi();
        let posted: Vec<&str> = actions
            .lines()
            .filter_map(|line| line.trim().strip_prefix("'/v1/")?.split('\'').next())
            .collect();
        assert_eq!(posted.len(), ORDERS.len());
        for name in posted {
            let path = format!("/v1/{name}");
            assert!(document["paths"][&path]["post"].is_object(), "{path}");
            let is_known = !matches!(Action::parse(&path, b""), Err(Refusal::Unknown));
            assert_eq!(is_known, path != "/v1/session", "{path}");
        }
        for path in ["/v1/overview", "/v1/events", "/v1/settings"] {
            assert!(client.contains(path) && document["paths"][path]["get"].is_object(), "{path}");
        }
    }
}
