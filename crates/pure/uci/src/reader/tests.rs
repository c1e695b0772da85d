use super::*;
use proptest::prelude::*;

/// Sections as `KIND NAME{option=value list=[a,b]}`, or the error.
fn read(text: &str) -> String {
    let document = match Document::parse(text) {
        Ok(document) => document,
        Err(error) => return error.to_string(),
    };
    let entry = |Entry { name, value, .. }: &Entry| match value {
        Value::One(text) => format!("{name}={text}"),
        Value::List(items) => {
            let items: Vec<_> = items.iter().map(|item| item.text.as_str()).collect();
            format!("{name}=[{}]", items.join(","))
        }
    };
    let section = |section: &Section| {
        let entries: Vec<_> = section.entries.iter().map(entry).collect();
        let name = section.name.as_deref().unwrap_or("-");
        format!("{} {name}{{{}}}", section.kind, entries.join(" "))
    };
    document.sections.iter().map(section).collect::<Vec<_>>().join("\n")
}

#[test]
fn words_are_quoted_as_libuci_quotes_them() {
    let value = |written: &str| read(&format!("config t\noption o {written}\n"));
    #[rustfmt::skip]
    let cases = [
        ("plain", "plain"),
        ("'two words'", "two words"),
        ("\"two words\"", "two words"),
        ("'a'\"b\"c", "abc"),
        (r"'it'\''s'", "it's"),
        (r#""a \" b""#, r#"a " b"#),
        (r"'a \ b'", r"a \ b"),
        (r"a\ b", "a b"),
        (r#""\n""#, "n"),
        ("'#1'", "#1"),
        ("a#b", "a"),
        ("a # b", "a"),
        (r"a\#b", "a#b"),
        ("'first\nsecond'", "first\nsecond"),
        ("'first\\\nsecond'", "first\\\nsecond"),
        ("\"first\\\nsecond\"", "firstsecond"),
        ("\"first\\\r\nsecond\"", "firstsecond"),
        ("'a;b'", "a;b"),
        (r"a\;b", "a;b"),
        ("'ä'", "ä"),
    ];
    for (written, want) in cases {
        assert_eq!(value(written), format!("t -{{o={want}}}"), "{written}");
    }
}

#[test]
fn sections_options_and_lists_are_read_in_their_order() {
    let text = "# a file\npackage guestright\n\nconfig ap 'ap'\r\n\toption port '7273' # why\n\tlist net a\n\
                \toption x 1\n\toption y 2\n\toption w ''\n\tlist net 'b'\nc home\no z \"3\"\nl w 4";
    assert_eq!(read(text), "ap ap{port=7273 net=[a,b] x=1 y=2}\nhome -{z=3 w=[4]}");
    let document = Document::parse(text).unwrap();
    let lines: Vec<_> = document.sections[0].entries.iter().map(|entry| entry.line).collect();
    assert_eq!((document.sections[0].line, lines, document.sections[1].line), (4, vec![5, 6, 7, 8], 11));
    assert_eq!(document.package.as_deref(), Some("guestright"));
    assert_eq!(read(""), "");
    assert_eq!(read("\n \n# nothing\n"), "");
}

#[test]
fn a_mistake_is_named_with_its_line_and_a_remedy() {
    #[rustfmt::skip]
    let cases = [
        ("config t\n\n  optoin a b\n", "line 3: \"optoin\" is no command"),
        ("config t\noption a 'b\n\n", "line 2: ' begins a quotation that nothing ends"),
        ("config t\noption a \"b\\\"\n", "line 2: \" begins a quotation that nothing ends"),
        ("option a b\n", "line 1: this belongs to no section; put a line `config TYPE 'NAME'` before it"),
        ("config\n", "line 1: config lacks its type"),
        ("config ''\n", "line 1: config lacks its type"),
        ("config t\noption a\n", "line 2: option lacks its value; write `option NAME 'VALUE'`"),
        ("config t\nlist\n", "line 2: list lacks its name"),
        ("config t\noption a two words\n", "line 2: \"words\" is too much on this line; put a value with blanks"),
        ("config t\noption a-b 1\n", "line 2: \"a-b\" is no name"),
        ("config t 'a b'\n", "line 1: \"a b\" is no name"),
        ("config 'a b'\n", "line 1: \"a b\" is no type"),
        ("config t\noption a 1\noption b 1\noption a 2\n", "line 4: a is in line 2 of this section already"),
        ("config t\noption a 1\nlist a 2\n", "line 3: a is in line 2 of this section already"),
        ("config t\nlist a 1\noption a 2\n", "line 3: a is in line 2 of this section already"),
        ("config t x\nconfig u x\n", "line 2: a section is named \"x\" in line 1 already"),
        ("config t\npackage p\n", "line 2: `package` comes once, before all sections"),
        ("package 'a b'\n", "line 1: \"a b\" is no name"),
        ("config t; option a b\n", "line 1: `;` outside of quotes"),
        ("config t\noption a b\\\nc\n", "line 2: a backslash at the end of a line"),
        ("config t\n;\n", "line 2: `;` outside of quotes"),
        ("config t\noption a 'x\0y'\n", "line 2: the control character '\\0' has no place"),
    ];
    for (text, want) in cases {
        let got = read(text);
        assert!(got.starts_with(want), "{text:?}\n got {got}\nwant {want}");
    }
}

#[test]
fn every_limit_refuses_one_more() {
    let sections = |count| "config t\n".repeat(count);
    let entries = |count| format!("config t\n{}", "list a b\n".repeat(count));
    let value = |count| format!("config t\noption a '{}'\n", "x".repeat(count));
    let name = |count| format!("config t\noption {} 1\n", "x".repeat(count));
    let comment = |count| format!("#{}", "x".repeat(count - 1));
    for (text, limit) in [
        (&sections as &dyn Fn(usize) -> String, SECTIONS_MAX),
        (&entries, ENTRIES_MAX),
        (&value, VALUE_BYTES_MAX),
        (&name, NAME_BYTES_MAX),
        (&comment, TEXT_BYTES_MAX),
    ] {
        assert!(Document::parse(&text(limit)).is_ok(), "{limit}");
        assert!(Document::parse(&text(limit + 1)).is_err(), "{limit}");
    }
}

/// The same without lines, which a written document has in other places.
fn without_lines(mut document: Document) -> Document {
    for section in &mut document.sections {
        section.line = 0;
        for entry in &mut section.entries {
            entry.line = 0;
            if let Value::List(items) = &mut entry.value {
                items.iter_mut().for_each(|item| item.line = 0);
            }
        }
    }
    document
}

fn entries() -> impl Strategy<Value = Vec<Entry>> {
    let text = r#"[ -~\n\t'"\\#;ä]{0,12}"#;
    // An empty option is none.
    let one = text.prop_filter("not empty", |text| !text.is_empty()).prop_map(Value::One);
    let items = prop::collection::vec(text.prop_map(|text| Item { line: 0, text }), 1..4);
    let value = prop_oneof![one, items.prop_map(Value::List)];
    let entries = prop::collection::btree_map("[a-z_0-9]{1,6}", value, 0..5);
    entries
        .prop_map(|entries| entries.into_iter().map(|(name, value)| Entry { line: 0, name, value }).collect())
}

proptest! {
    #[test]
    fn what_is_written_is_read_as_the_same(
        sections in prop::collection::btree_map("[a-zA-Z0-9_]{1,6}", ("[!-~]{1,6}", any::<bool>(), entries()), 0..5),
    ) {
        let sections = sections.into_iter().map(|(name, (kind, named, entries))| {
            Section { line: 0, kind, name: named.then_some(name), entries }
        });
        let document = Document { package: None, sections: sections.collect() };
        let text = document.to_string();
        let read = Document::parse(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
        prop_assert_eq!(without_lines(read), document, "{}", text);
    }

    #[test]
    fn nothing_makes_it_panic(text in r#"([ -~\n\t\r'"\\#;ä]|config |option |list |package ){0,40}"#) {
        if let Ok(document) = Document::parse(&text) {
            let again = Document::parse(&document.to_string()).unwrap();
            prop_assert_eq!(without_lines(again), without_lines(document));
        }
    }
}
