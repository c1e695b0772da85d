use serde_json::json;

use super::*;

/// A workspace in which nothing is wrong.
fn workspace() -> Value {
    let mut packages: Vec<Value> = all_names().map(package).collect();
    packages.push(json!({ "name": "guestright", "version": "0.1.0", "publish": [] }));
    json!({ "packages": packages })
}

fn package(name: &str) -> Value {
    json!({
        "name": name,
        "version": "0.1.0",
        "manifest_path": format!("/w/{name}/Cargo.toml"),
        "publish": ["crates-io"],
        "description": "What it is",
        "license": "MIT OR Apache-2.0",
        "rust_version": "1.94",
        "readme": "README.md",
        "documentation": format!("https://docs.rs/{name}"),
        "keywords": ["e-model", "rtp"],
        "categories": ["network-programming"],
        "features": { "default": [] },
        "dependencies": [
            { "name": "libm", "req": "^0.2", "kind": null, "source": "registry+x" },
            { "name": "guestright-units", "req": "^0.1.0", "kind": null, "path": "/w/guestright-units" },
        ],
        "targets": [{ "kind": ["lib"] }, { "kind": ["example"] }],
    })
}

fn problems(metadata: &Value) -> Vec<String> {
    check(metadata, &|_| true)
}

/// What is wrong once `change` was made to the third package, which is the first that others want.
fn after(change: impl FnOnce(&mut Value)) -> Vec<String> {
    let mut metadata = workspace();
    assert_eq!(metadata["packages"][2]["name"], WANTED[0]);
    change(&mut metadata["packages"][2]);
    problems(&metadata)
}

fn one(problem: &str) -> Vec<String> {
    vec![format!("{}: {problem}", WANTED[0])]
}

#[test]
fn a_good_workspace_has_no_problems() {
    assert_eq!(problems(&workspace()), Vec::<String>::new());
}

#[test]
fn every_field_that_crates_io_wants_is_missed() {
    for (field, want) in [
        ("description", "it has no description"),
        ("license", "it has no license"),
        ("rust_version", "it has no rust-version"),
        ("readme", "it has no readme"),
        ("keywords", "it has 0 keywords; 1 to 5 are allowed"),
        ("categories", "it has 0 categories; 1 to 5 are allowed"),
        ("targets", "it has no example"),
        ("documentation", "its documentation is at https://docs.rs/guestright-identity"),
        ("publish", "say `publish = [\"crates-io\"]`, so that it is published there and nowhere else"),
    ] {
        assert_eq!(after(|package| package[field] = Value::Null), one(want), "{field}");
    }
}

#[test]
fn words_that_crates_io_refuses_are_found() {
    let refused = |field: &str, word: &str| after(|package| package[field] = json!([word]));
    for word in ["e model", "-x", "ümlaut", "a-keyword-of-many-letters"] {
        assert_eq!(
            refused("keywords", word),
            one(&format!("crates.io does not take `{word}` among its keywords"))
        );
    }
    let want = one("crates.io does not take `telephony` among its categories");
    assert_eq!(refused("categories", "telephony"), want);
    let six = after(|package| package["keywords"] = json!(["a", "b", "c", "d", "e", "f"]));
    assert_eq!(six, one("it has 6 keywords; 1 to 5 are allowed"));
}

#[test]
fn an_invented_address_is_refused() {
    let got = after(|package| package["repository"] = json!("https://git.example.org/guestright"));
    assert_eq!(got, one("its repository is no real address; leave it out until there is one"));
}

#[test]
fn what_is_published_depends_on_nothing_that_is_not() {
    let depends = |name: &str, req: &str, kind: Value| {
        after(|package| {
            package["dependencies"] = json!([{ "name": name, "req": req, "kind": kind, "path": "/w/x" }]);
        })
    };
    let unpublished = one("it depends on guestright, which is not published");
    assert_eq!(depends("guestright", "*", Value::Null), unpublished);
    assert_eq!(depends("guestright", "^0.1.0", json!("dev")), unpublished, "Cargo keeps it in the package");
    assert_eq!(depends("guestright", "*", json!("dev")), Vec::<String>::new(), "Cargo leaves it out");
    let no_version = one("it names no version of guestright-units; say `version` beside `path`");
    assert_eq!(depends("guestright-units", "*", Value::Null), no_version);
    let behind = one("it wants guestright-units ^0.0.9, which is at 0.1.0");
    assert_eq!(depends("guestright-units", "^0.0.9", Value::Null), behind);
    assert_eq!(depends("elsewhere", "*", Value::Null), one("elsewhere is not on crates.io"));
}

#[test]
fn documentation_is_built_without_libraries_of_the_system() {
    let all = json!({ "docs": { "rs": { "all-features": true } } });
    let got = after(|package| {
        package["metadata"] = all.clone();
        package["features"] = json!({ "legacy-suites": ["dep:openssl"] });
    });
    assert_eq!(got, one("docs.rs is to build all features, and legacy-suites needs what it may lack"));
    assert_eq!(after(|package| package["metadata"] = all.clone()), Vec::<String>::new());
}

#[test]
fn a_licence_that_is_not_there_is_missed() {
    let metadata = workspace();
    let got = check(&metadata, &|path| !path.ends_with("guestright-wire/LICENSE-MIT"));
    assert_eq!(got, ["guestright-wire: LICENSE-MIT is not beside its manifest"]);
}

#[test]
fn nothing_else_is_published_by_accident() {
    let mut metadata = workspace();
    let last = metadata["packages"].as_array().unwrap().len() - 1;
    metadata["packages"][last]["publish"] = Value::Null;
    let want = "guestright: it could be published, and is not on the list; say `publish = false`";
    assert_eq!(problems(&metadata), [want]);
    metadata["packages"].as_array_mut().unwrap().remove(0);
    assert!(
        problems(&metadata).iter().any(|problem| problem == "guestright-units: there is no such package")
    );
}
