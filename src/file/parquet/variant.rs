//! Variants as value and metadata.
//!
//! In: the decoded group, its fields in any order, perhaps shredded (`typed_value`). Out: the canonical
//! `Struct{value, metadata}`; shredded values are put back into `value`. A NULL group stays NULL; a value that is the
//! variant null stays a value.

use arrow::array::{ArrayRef, AsArray, StructArray};
use arrow::compute::cast;
use arrow::datatypes::{DataType as ArrowType, Fields};
use parquet_variant_compute::{VariantArray, unshred_variant};

use super::convert::struct_array;
use crate::error::{Error, Result};
use crate::file::guard::guarded;

const BROKEN: &str = "its variants break the encoding";

/// The variants without shredding, in the canonical type.
pub(super) fn plain(array: &ArrayRef, target: &ArrowType) -> Result<ArrayRef> {
    let (Some(group), ArrowType::Struct(fields)) = (array.as_struct_opt(), target) else {
        return Err(Error::internal("a variant was decoded as no struct"));
    };
    if group.column_by_name("typed_value").is_none() {
        return canonical(group, fields);
    }
    let whole = guarded(BROKEN, || {
        let shredded = VariantArray::try_new(group).map_err(broken)?;
        unshred_variant(&shredded).map_err(broken)
    })?;
    canonical(&whole.into_inner(), fields)
}

fn canonical(group: &StructArray, fields: &Fields) -> Result<ArrayRef> {
    let columns = fields.iter().map(|field| {
        let column = group
            .column_by_name(field.name())
            .ok_or_else(|| Error::corrupt(format!("{BROKEN}: there is no field '{}'", field.name())))?;
        cast(column, field.data_type()).map_err(broken)
    });
    struct_array(fields, columns.collect::<Result<Vec<_>>>()?, group)
}

fn broken(e: arrow::error::ArrowError) -> Error {
    Error::corrupt(BROKEN).caused_by(e)
}
