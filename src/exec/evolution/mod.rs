//! Schema evolution: rows of a file that was written with an older schema become rows of the table's schema.
//!
//! In: the fields of the file's schema and the wanted fields of the table's. Out: a [`SchemaMapping`], which says what to
//! ask of the file and turns its batches into batches of the wanted schema. Columns and nested fields are the same where
//! their ids are, whatever their names and places; types are cast as the reference casts them.

pub mod cast;
mod column;
mod mapping;
mod prune;

use arrow::array::ArrayRef;

pub use cast::CastContext;
pub use mapping::{Origin, SchemaMapping};

use crate::error::Result;
use crate::spec::data_type::DataType;
use cast::Place;
use column::Step;

/// Casts a column from one type to another, nested types by field ids and element-wise.
///
/// Both arrays are of the canonical Arrow types of a column. A pair of types that the reference does not allow is an
/// error that names both; nullability is not looked at.
pub fn cast_column(array: &ArrayRef, from: &DataType, to: &DataType, ctx: &CastContext) -> Result<ArrayRef> {
    Step::new(Some(from), to, Place::Column)?.apply(array.clone(), ctx)
}
