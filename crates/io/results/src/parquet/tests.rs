use super::*;
use proptest::prelude::*;

fn column(name: &str, cells: Cells) -> Column {
    Column { name: name.to_owned(), cells }
}

fn table() -> Table {
    let columns = vec![
        column("case", Cells::Text(vec![Some("plain".to_owned()), Some("größer ≥ 7".to_owned()), None])),
        column("calls", Cells::Integer(vec![Some(-7), Some(i64::MAX), None])),
        column("seed", Cells::Unsigned(vec![Some(u64::MAX), Some(0), None])),
        column("loss", Cells::Float(vec![Some(0.1 + 0.2), None, Some(-0.0)])),
        column("steady", Cells::Bool(vec![Some(true), Some(false), None])),
        column("empty", Cells::Float(vec![None; 3])),
    ];
    Table { about: vec![("plan".to_owned(), "paper-a/table-2".to_owned())], columns }
}

#[test]
fn what_was_written_is_read() {
    let parsed = parse(emit(&table()).unwrap()).unwrap();
    assert_eq!(parsed, table());
    let Some(Cells::Float(loss)) = parsed.cells("loss") else { panic!("{parsed:?}") };
    assert!(loss[2].unwrap().is_sign_negative(), "-0.0 is not 0.0");
    assert_eq!(parsed.about("plan"), Some("paper-a/table-2"));
}

/// The beginning and the end of every file: section "File format" of the specification.
#[test]
fn a_file_says_what_it_is_at_both_ends() {
    let file = emit(&table()).unwrap();
    assert!(file.starts_with(b"PAR1") && file.ends_with(b"PAR1"));
    let length = u32::from_le_bytes(file[file.len() - 8..file.len() - 4].try_into().unwrap());
    assert!((length as usize) < file.len() - 12, "the footer is inside");
}

#[test]
fn an_empty_table_is_a_table() {
    let mut empty = table();
    for column in &mut empty.columns {
        column.cells = Cells::Float(vec![]);
    }
    assert_eq!(parse(emit(&empty).unwrap()).unwrap(), empty);
}

#[test]
fn columns_of_different_length_are_refused() {
    let mut ragged = table();
    ragged.columns.push(column("short", Cells::Bool(vec![None])));
    let want = ResultsError::Ragged { column: "short".to_owned(), got: 1, want: 3 };
    assert_eq!(emit(&ragged), Err(want));
}

#[test]
fn a_file_that_is_cut_off_is_refused() {
    let file = emit(&table()).unwrap();
    for length in 0..file.len() {
        assert!(parse(file[..length].to_vec()).is_err(), "{length} of {} bytes", file.len());
    }
}

/// More rows than one page holds, and values that are seldom the same.
#[test]
fn a_hundred_thousand_rows_come_back() {
    let number = |row: u32| (!row.is_multiple_of(7)).then(|| f64::from(row).sqrt());
    let cells = Cells::Float((0..100_000).map(number).collect());
    let names = Cells::Text((0..100_000).map(|row| Some(format!("case {}", row % 5))).collect());
    let table = Table { about: vec![], columns: vec![column("root", cells), column("case", names)] };
    assert_eq!(parse(emit(&table).unwrap()).unwrap(), table);
}

proptest! {
    #[test]
    fn parse_inverts_emit(
        rows in prop::collection::vec((any::<Option<i64>>(), any::<Option<u64>>(), prop::option::of(-1e300..1e300_f64), ".{0,9}"), 0..40)
    ) {
        let columns = vec![
            column("i", Cells::Integer(rows.iter().map(|row| row.0).collect())),
            column("u", Cells::Unsigned(rows.iter().map(|row| row.1).collect())),
            column("f", Cells::Float(rows.iter().map(|row| row.2).collect())),
            column("t", Cells::Text(rows.iter().map(|row| Some(row.3.clone())).collect())),
        ];
        let table = Table { about: vec![("a".to_owned(), String::new())], columns };
        let file = emit(&table).unwrap();
        prop_assert_eq!(&file, &emit(&table).unwrap());
        prop_assert_eq!(parse(file).unwrap(), table);
    }
}
