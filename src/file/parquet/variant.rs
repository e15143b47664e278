//! Variants as value and metadata.
//!
//! In: the decoded group, its fields in any order, perhaps shredded (`typed_value`). Out: the canonical
//! `Struct{value, metadata}`; shredded values are put back into `value`. A NULL group stays NULL; a value that is the
//! variant null stays a value. The library that puts values back takes no key without letters (`{"": 1}`), which the
//! encoding allows: such a key has another name meanwhile. Values name keys by number, so that this changes none.

use std::ops::Range;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, BinaryViewBuilder, StructArray};
use arrow::compute::cast;
use arrow::datatypes::{DataType as ArrowType, Field, Fields};
use parquet_variant_compute::{VariantArray, unshred_variant};

use super::convert::struct_array;
use crate::error::{Error, Result};
use crate::file::guard::guarded;

const METADATA: &str = "metadata";
const BROKEN: &str = "its variants break the encoding";

/// The variants without shredding, in the canonical type.
pub(super) fn plain(array: &ArrayRef, target: &ArrowType) -> Result<ArrayRef> {
    let (Some(group), ArrowType::Struct(fields)) = (array.as_struct_opt(), target) else {
        return Err(Error::internal("a variant was decoded as no struct"));
    };
    if group.column_by_name("typed_value").is_none() {
        return canonical(group, fields);
    }
    let named = with_named_keys(group)?;
    let whole = guarded(BROKEN, || {
        let shredded = VariantArray::try_new(named.as_ref().unwrap_or(group)).map_err(broken)?;
        unshred_variant(&shredded).map_err(broken)
    })?;
    let whole = match (named, group.column_by_name(METADATA)) {
        (Some(_), Some(metadata)) => with_metadata(&whole.into_inner(), Arc::clone(metadata))?,
        _ => whole.into_inner(),
    };
    canonical(&whole, fields)
}

/// The same group where each key has letters; `None` where they have them.
fn with_named_keys(group: &StructArray) -> Result<Option<StructArray>> {
    let Some(metadata) = group.column_by_name(METADATA) else { return Ok(None) };
    let metadata = cast(metadata, &ArrowType::BinaryView).map_err(broken)?;
    let Some(all) = metadata.as_binary_view_opt() else { return Ok(None) };
    if !all.iter().flatten().any(|bytes| named_key(bytes).is_some()) {
        return Ok(None);
    }
    let mut builder = BinaryViewBuilder::with_capacity(all.len());
    for bytes in all {
        match bytes.and_then(named_key) {
            Some(named) => builder.append_value(named),
            None => builder.append_option(bytes),
        }
    }
    with_metadata(group, Arc::new(builder.finish())).map(Some)
}

fn with_metadata(group: &StructArray, metadata: ArrayRef) -> Result<StructArray> {
    let column = |(field, column): (&Arc<Field>, &ArrayRef)| match field.name().as_str() {
        METADATA => {
            let field = Field::new(METADATA, metadata.data_type().clone(), field.is_nullable());
            (Arc::new(field), Arc::clone(&metadata))
        }
        _ => (Arc::clone(field), Arc::clone(column)),
    };
    let (fields, columns): (Vec<_>, Vec<_>) = group.fields().iter().zip(group.columns()).map(column).unzip();
    StructArray::try_new(fields.into(), columns, group.nulls().cloned()).map_err(broken)
}

/// The metadata with a name for the key that has none, which no other key has and which stands first in their order as
/// well; `None` where every key has a name, or it cannot be given one.
fn named_key(metadata: &[u8]) -> Option<Vec<u8>> {
    const NAME: &[u8] = b"\0";
    let (header, rest) = metadata.split_first()?;
    let width = usize::from(header >> 6) + 1;
    let number = |at: usize| {
        let bytes = rest.get(at * width..(at + 1) * width)?;
        Some(bytes.iter().rev().fold(0usize, |number, byte| (number << 8) | usize::from(*byte)))
    };
    let keys = number(0)?;
    let text = rest.get((keys.checked_add(2)?).checked_mul(width)?..)?;
    let key = |at: usize| -> Option<Range<usize>> { Some(number(at + 1)?..number(at + 2)?) };
    let nameless = (0..keys).find(|at| key(*at).is_some_and(|key| key.is_empty()))?;
    let mut named = vec![(header & 0x3f) | 0xc0];
    let mut all = vec![];
    named.extend(u32::try_from(keys).ok()?.to_le_bytes());
    for at in 0..keys {
        named.extend(u32::try_from(all.len()).ok()?.to_le_bytes());
        let name = if at == nameless { NAME } else { text.get(key(at)?)? };
        if at != nameless && (name.is_empty() || name == NAME) {
            return None;
        }
        all.extend_from_slice(name);
    }
    named.extend(u32::try_from(all.len()).ok()?.to_le_bytes());
    named.extend(all);
    Some(named)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_without_letters_is_given_a_name() {
        let cases: [(&[u8], Option<&[u8]>); 9] = [
            (&[0x01, 0, 0], None),
            (&[0x01, 1, 0, 1, b'a'], None),
            (&[0x01, 1, 0, 0], Some(&[0xc1, 1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0])),
            (&[], None),
            (
                &[0x41, 2, 0, 0, 0, 1, 0, 1, 0, b'a'],
                Some(&[0xc1, 2, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, b'a', 0]),
            ),
            // There is a key of that name, or the bytes are none.
            (&[0x01, 2, 0, 0, 1, 0], None),
            (&[0x01, 2, 0, 0, 0], None),
            (&[0x01, 9, 0, 0], None),
            (&[0xc1, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0, 0, 0, 0, 0], None),
        ];
        for (metadata, want) in cases {
            assert_eq!(named_key(metadata).as_deref(), want, "{metadata:?}");
        }
    }

    proptest::proptest! {
        #[test]
        fn no_bytes_panic(bytes in proptest::collection::vec(proptest::prelude::any::<u8>(), 0..40)) {
            let _ = named_key(&bytes);
        }
    }
}
