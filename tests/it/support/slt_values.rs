//! Values and types of results as DataFusion's own sqllogictest writes them, so that its habits carry over.
//!
//! In: batches. Out: rows of text. NULL is `NULL`, an empty text `(empty)`; floats are rounded to 12 decimals and, like
//! decimals, lose trailing zeros; a cell of several lines (a plan) becomes as many numbered rows.

use arrow::array::{Array, ArrayRef, AsArray, RecordBatch};
use arrow::datatypes::{DataType, Decimal128Type, Float32Type, Float64Type, Schema};
use arrow::error::ArrowError;
use arrow::util::display::{ArrayFormatter, FormatOptions};
use sqllogictest::ColumnType;

/// The letter of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SltType(char);

impl ColumnType for SltType {
    fn from_char(value: char) -> Option<Self> {
        "BDIPRT?".contains(value).then_some(SltType(value))
    }

    fn to_char(&self) -> char {
        self.0
    }
}

/// The letters of a schema.
pub fn types(schema: &Schema) -> Vec<SltType> {
    schema.fields().iter().map(|field| SltType(letter(field.data_type()))).collect()
}

fn letter(data_type: &DataType) -> char {
    match data_type {
        DataType::Boolean => 'B',
        DataType::Date32 | DataType::Date64 | DataType::Time32(_) | DataType::Time64(_) => 'D',
        t if t.is_integer() => 'I',
        DataType::Timestamp(..) => 'P',
        t if t.is_floating() || matches!(t, DataType::Decimal128(..) | DataType::Decimal256(..)) => 'R',
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => 'T',
        DataType::Dictionary(_, values) => letter(values),
        _ => '?',
    }
}

/// The rows of some batches as text.
pub fn rows(batches: &[RecordBatch]) -> Result<Vec<Vec<String>>, ArrowError> {
    let mut out = Vec::new();
    for batch in batches {
        for row in 0..batch.num_rows() {
            let cells: Result<Vec<_>, _> = batch.columns().iter().map(|column| cell(column, row)).collect();
            out.extend(expand(cells?));
        }
    }
    Ok(out)
}

fn cell(array: &ArrayRef, row: usize) -> Result<String, ArrowError> {
    if array.is_null(row) {
        return Ok("NULL".into());
    }
    Ok(match array.data_type() {
        DataType::Float32 => float(array.as_primitive::<Float32Type>().value(row).into(), |v| (v as f32).to_string()),
        DataType::Float64 => float(array.as_primitive::<Float64Type>().value(row), |v| v.to_string()),
        DataType::Decimal128(..) => trimmed(array.as_primitive::<Decimal128Type>().value_as_string(row)),
        DataType::Utf8 => text(array.as_string::<i32>().value(row)),
        DataType::Utf8View => text(array.as_string_view().value(row)),
        _ => {
            let options = FormatOptions::new().with_null("NULL").with_display_error(false);
            ArrayFormatter::try_new(array, &options)?.value(row).try_to_string()?
        }
    })
}

fn text(value: &str) -> String {
    if value.is_empty() { "(empty)".into() } else { value.trim_end_matches('\n').replace('\0', "\\0") }
}

fn float(value: f64, shortest: impl Fn(f64) -> String) -> String {
    if value.is_nan() {
        return "NaN".into();
    }
    if value.is_infinite() {
        return if value > 0.0 { "Infinity".into() } else { "-Infinity".into() };
    }
    let text = shortest(value);
    match text.split_once('.') {
        Some((_, fraction)) if fraction.len() > 12 => trimmed(format!("{value:.12}")),
        _ => trimmed(text),
    }
}

/// A decimal number without trailing zeros after the point.
fn trimmed(number: String) -> String {
    let short = if number.contains('.') { number.trim_end_matches('0').trim_end_matches('.') } else { &number };
    if matches!(short, "-0" | "") { "0".into() } else { short.into() }
}

/// A row whose one cell has several lines as numbered rows, their leading blanks as dashes, which sqllogictest keeps.
fn expand(mut row: Vec<String>) -> Vec<Vec<String>> {
    if row.last().is_none_or(|cell| !cell.contains('\n')) {
        return vec![row];
    }
    let last = row.pop().unwrap_or_default();
    let numbered = last.lines().enumerate().map(|(number, line)| {
        let content = line.trim_start();
        vec![format!("{:02}){}{content}", number + 1, "-".repeat(line.len() - content.len()))]
    });
    let head = if row.is_empty() { None } else { Some(row) };
    head.into_iter().chain(numbered).collect()
}
