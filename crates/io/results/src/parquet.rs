//! Tables in Apache Parquet, as other programs read them.
//!
//! Every column is nullable and stands in one row group, without compression: tables of experiments are small, and a
//! compressor would be the largest part of this crate. No time, no name of a computer, no order of threads gets into the
//! bytes.
//!
//! Format: <https://parquet.apache.org/docs/file-format/>.

use crate::{Cells, Column, ResultsError, Table};
use ::parquet::basic::{LogicalType, Repetition, Type as Physical};
use ::parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use ::parquet::errors::ParquetError;
use ::parquet::file::metadata::KeyValue;
use ::parquet::file::properties::WriterProperties;
use ::parquet::file::reader::{FileReader, SerializedFileReader};
use ::parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use ::parquet::record::Field;
use ::parquet::schema::types::Type;
use bytes::Bytes;
use std::sync::Arc;

/// Who wrote it, and that is all: no version of a library whose update would change the bytes.
const CREATED_BY: &str = "guestright";
/// The name of the schema, which readers show.
const SCHEMA: &str = "rows";

/// The bytes of a file.
///
/// # Errors
///
/// When the columns are not as long as each other, or two have one name.
pub fn emit(table: &Table) -> Result<Vec<u8>, ResultsError> {
    table.check()?;
    write(table).map_err(|error| refused(&error))
}

fn write(table: &Table) -> Result<Vec<u8>, ParquetError> {
    let fields = table.columns.iter().map(field).collect::<Result<_, _>>()?;
    let schema = Type::group_type_builder(SCHEMA).with_fields(fields).build()?;
    let about = table.about.iter().map(|(key, text)| KeyValue::new(key.clone(), text.clone())).collect();
    let properties = WriterProperties::builder()
        .set_created_by(CREATED_BY.to_owned())
        .set_key_value_metadata(Some(about))
        .build();
    let mut writer = SerializedFileWriter::new(Vec::new(), Arc::new(schema), Arc::new(properties))?;
    let mut group = writer.next_row_group()?;
    for column in &table.columns {
        match &column.cells {
            Cells::Bool(cells) => put::<BoolType, _>(&mut group, cells, |cell| *cell)?,
            Cells::Integer(cells) => put::<Int64Type, _>(&mut group, cells, |cell| *cell)?,
            // The same 64 bits: the column's logical type says that they have no sign.
            Cells::Unsigned(cells) => put::<Int64Type, _>(&mut group, cells, |cell| cell.cast_signed())?,
            Cells::Float(cells) => put::<DoubleType, _>(&mut group, cells, |cell| *cell)?,
            Cells::Text(cells) => {
                put::<ByteArrayType, _>(&mut group, cells, |cell| ByteArray::from(cell.as_str()))?;
            }
        }
    }
    group.close()?;
    writer.into_inner()
}

fn field(column: &Column) -> Result<Arc<Type>, ParquetError> {
    let (physical, logical) = match column.cells {
        Cells::Bool(_) => (Physical::BOOLEAN, None),
        Cells::Integer(_) => (Physical::INT64, None),
        Cells::Unsigned(_) => (Physical::INT64, Some(LogicalType::integer(64, false))),
        Cells::Float(_) => (Physical::DOUBLE, None),
        Cells::Text(_) => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
    };
    let builder = Type::primitive_type_builder(&column.name, physical);
    builder.with_repetition(Repetition::OPTIONAL).with_logical_type(logical).build().map(Arc::new)
}

fn put<T: DataType, C>(
    group: &mut SerializedRowGroupWriter<'_, Vec<u8>>,
    cells: &[Option<C>],
    value: impl Fn(&C) -> T::T,
) -> Result<(), ParquetError> {
    let levels: Vec<i16> = cells.iter().map(|cell| i16::from(cell.is_some())).collect();
    let values: Vec<T::T> = cells.iter().flatten().map(value).collect();
    let missing = || ParquetError::General("a column has no writer".to_owned());
    let mut writer = group.next_column()?.ok_or_else(missing)?;
    writer.typed::<T>().write_batch(&values, Some(&levels), None)?;
    writer.close()
}

/// The table of a file that [`emit`] made.
///
/// # Errors
///
/// When it is cut off, too large, or has columns of other kinds than ours.
///
/// # Panics
///
/// The library panics at some files that were changed after they were written. Compare their digest first.
pub fn parse(file: Vec<u8>) -> Result<Table, ResultsError> {
    let reader = SerializedFileReader::new(Bytes::from(file)).map_err(|error| refused(&error))?;
    let meta = reader.metadata().file_metadata();
    let rows = usize::try_from(meta.num_rows()).unwrap_or(usize::MAX);
    let fields = meta.schema().get_fields();
    if rows > Table::ROWS_MAX || fields.len() > Table::COLUMNS_MAX {
        let reason = format!("{rows} rows and {} columns are more than ours have", fields.len());
        return Err(ResultsError::Parquet { reason });
    }
    let about = meta.key_value_metadata().into_iter().flatten();
    let about = about.map(|pair| (pair.key.clone(), pair.value.clone().unwrap_or_default())).collect();
    let columns =
        fields.iter().map(|field| Ok(Column { name: field.name().to_owned(), cells: empty(field)? }));
    let mut table = Table { about, columns: columns.collect::<Result<_, _>>()? };
    for row in reader.get_row_iter(None).map_err(|error| refused(&error))? {
        let row = row.map_err(|error| refused(&error))?;
        for (column, (name, field)) in table.columns.iter_mut().zip(row.get_column_iter()) {
            push(&mut column.cells, field).ok_or_else(|| odd(name, &field.to_string()))?;
        }
    }
    Ok(table)
}

/// No cells of the kind that a field has.
fn empty(field: &Type) -> Result<Cells, ResultsError> {
    let name = field.name();
    if !field.is_primitive() || field.get_basic_info().repetition() != Repetition::OPTIONAL {
        return Err(odd(name, "no plain nullable column"));
    }
    let logical = field.get_basic_info().logical_type_ref();
    let unsigned = logical == Some(&LogicalType::integer(64, false));
    #[expect(clippy::wildcard_enum_match_arm, reason = "the other kinds are not ours")]
    match field.get_physical_type() {
        Physical::BOOLEAN => Ok(Cells::Bool(vec![])),
        Physical::INT64 if unsigned => Ok(Cells::Unsigned(vec![])),
        Physical::INT64 => Ok(Cells::Integer(vec![])),
        Physical::DOUBLE => Ok(Cells::Float(vec![])),
        Physical::BYTE_ARRAY => Ok(Cells::Text(vec![])),
        other => Err(odd(name, &other.to_string())),
    }
}

/// Puts a field below the others, if it is of their kind.
fn push(cells: &mut Cells, field: &Field) -> Option<()> {
    let null = matches!(field, Field::Null);
    match (cells, field) {
        (Cells::Bool(cells), Field::Bool(value)) => cells.push(Some(*value)),
        (Cells::Integer(cells), Field::Long(value)) => cells.push(Some(*value)),
        (Cells::Unsigned(cells), Field::ULong(value)) => cells.push(Some(*value)),
        (Cells::Float(cells), Field::Double(value)) => cells.push(Some(*value)),
        (Cells::Text(cells), Field::Str(value)) => cells.push(Some(value.clone())),
        (Cells::Bool(cells), _) if null => cells.push(None),
        (Cells::Integer(cells), _) if null => cells.push(None),
        (Cells::Unsigned(cells), _) if null => cells.push(None),
        (Cells::Float(cells), _) if null => cells.push(None),
        (Cells::Text(cells), _) if null => cells.push(None),
        (Cells::Bool(_) | Cells::Integer(_) | Cells::Unsigned(_) | Cells::Float(_) | Cells::Text(_), _) => {
            return None;
        }
    }
    Some(())
}

fn odd(column: &str, got: &str) -> ResultsError {
    ResultsError::Parquet { reason: format!("the column `{column}` has {got}") }
}

fn refused(error: &ParquetError) -> ResultsError {
    ResultsError::Parquet { reason: error.to_string() }
}

#[cfg(test)]
mod tests;
