//! INT96 timestamps.
//!
//! The Parquet library turns them into 64-bit nanoseconds without a check, so that far dates wrap round, and rounds
//! negative times of day toward zero for coarser units. Here a file's metadata is rewritten so that such columns are
//! of 12 fixed bytes, which are laid out and encoded alike; the bytes then become timestamps in one exact pass.
//! Statistics of these columns mean nothing and are dropped.
//!
//! ```text
//! int96 := i64 LE nanoseconds of the day | i32 LE Julian day (1970-01-01 = 2440588)
//! ```
//! Some writers give times before 1970 as a negative time of day: any pair is taken for what it adds up to.

use std::sync::Arc;

use arrow::array::{Array, FixedSizeBinaryArray, Int64Array};
use arrow::datatypes::TimeUnit;
use parquet::basic::{LogicalType, Type as PhysicalType};
use parquet::file::metadata::{ColumnChunkMetaData, FileMetaData, ParquetMetaData, RowGroupMetaData};
use parquet::schema::types::{ColumnDescPtr, SchemaDescPtr, SchemaDescriptor, Type, TypePtr};

use crate::error::{Error, Result};

const EPOCH_JULIAN_DAY: i64 = 2_440_588;
const NANOS_PER_DAY: i64 = 86_400_000_000_000;
const INT96_BYTES: i32 = 12;

/// The metadata with 12 fixed bytes for INT96, and which leaves these are (empty for none).
pub(super) fn as_fixed_bytes(metadata: ParquetMetaData) -> Result<(ParquetMetaData, Vec<bool>)> {
    let file = metadata.file_metadata();
    let old = file.schema_descr();
    let int96: Vec<bool> = old.columns().iter().map(|c| is_int96(c.self_type())).collect();
    if !int96.contains(&true) {
        return Ok((metadata, vec![]));
    }
    let wrong = |e| Error::corrupt("the Parquet schema breaks the rules").caused_by(e);
    let root = rewrite(&old.root_schema_ptr()).map_err(wrong)?;
    let schema: SchemaDescPtr = Arc::new(SchemaDescriptor::new(root));
    let groups = metadata.row_groups().iter().map(|g| row_group(g, &schema, &int96)).collect::<Result<Vec<_>, _>>();
    let file = FileMetaData::new(
        file.version(),
        file.num_rows(),
        file.created_by().map(str::to_owned),
        file.key_value_metadata().cloned(),
        schema,
        file.column_orders().cloned(),
    );
    Ok((ParquetMetaData::new(file, groups.map_err(wrong)?), int96))
}

fn is_int96(leaf: &Type) -> bool {
    leaf.get_physical_type() == PhysicalType::INT96
        && !matches!(leaf.get_basic_info().logical_type_ref(), Some(LogicalType::Unknown))
}

fn rewrite(node: &TypePtr) -> parquet::errors::Result<TypePtr> {
    let info = node.get_basic_info();
    let id = info.has_id().then(|| info.id());
    if node.is_primitive() {
        if !is_int96(node) {
            return Ok(Arc::clone(node));
        }
        let leaf = Type::primitive_type_builder(node.name(), PhysicalType::FIXED_LEN_BYTE_ARRAY)
            .with_length(INT96_BYTES)
            .with_repetition(info.repetition())
            .with_id(id);
        return Ok(Arc::new(leaf.build()?));
    }
    let children = node.get_fields().iter().map(rewrite).collect::<parquet::errors::Result<Vec<_>>>()?;
    let mut group = Type::group_type_builder(node.name())
        .with_converted_type(info.converted_type())
        .with_logical_type(info.logical_type_ref().cloned())
        .with_fields(children)
        .with_id(id);
    if info.has_repetition() {
        group = group.with_repetition(info.repetition());
    }
    Ok(Arc::new(group.build()?))
}

fn row_group(
    old: &RowGroupMetaData,
    schema: &SchemaDescPtr,
    int96: &[bool],
) -> parquet::errors::Result<RowGroupMetaData> {
    let columns = old.columns().iter().zip(schema.columns()).zip(int96).map(|((chunk, descriptor), is_int96)| {
        if *is_int96 { column_chunk(chunk, descriptor) } else { Ok(chunk.clone()) }
    });
    let columns = columns.collect::<parquet::errors::Result<Vec<_>>>()?;
    let mut new = RowGroupMetaData::builder(Arc::clone(schema))
        .set_num_rows(old.num_rows())
        .set_total_byte_size(old.total_byte_size())
        .set_sorting_columns(old.sorting_columns().cloned())
        .set_column_metadata(columns);
    if let Some(ordinal) = old.ordinal() {
        new = new.set_ordinal(ordinal);
    }
    if let Some(offset) = old.file_offset() {
        new = new.set_file_offset(offset);
    }
    new.build()
}

/// The same chunk under another descriptor, without its statistics and the index of them.
fn column_chunk(old: &ColumnChunkMetaData, descriptor: &ColumnDescPtr) -> parquet::errors::Result<ColumnChunkMetaData> {
    ColumnChunkMetaData::builder(Arc::clone(descriptor))
        .set_encodings_mask(*old.encodings_mask())
        .set_compression_codec(old.compression_codec())
        .set_num_values(old.num_values())
        .set_total_compressed_size(old.compressed_size())
        .set_total_uncompressed_size(old.uncompressed_size())
        .set_data_page_offset(old.data_page_offset())
        .set_dictionary_page_offset(old.dictionary_page_offset())
        .set_index_page_offset(old.index_page_offset())
        .set_offset_index_offset(old.offset_index_offset())
        .set_offset_index_length(old.offset_index_length())
        .build()
}

/// The timestamps in `unit`, rounded down; an error where one does not fit 64 bits.
pub(super) fn to_timestamps(array: &FixedSizeBinaryArray, unit: TimeUnit) -> Result<Int64Array> {
    let nanos_per_unit = match unit {
        TimeUnit::Second => 1_000_000_000,
        TimeUnit::Millisecond => 1_000_000,
        TimeUnit::Microsecond => 1_000,
        TimeUnit::Nanosecond => return convert(array, NANOS_PER_DAY, |nanos| nanos),
    };
    convert(array, NANOS_PER_DAY / nanos_per_unit, |nanos| nanos.div_euclid(nanos_per_unit))
}

fn convert(array: &FixedSizeBinaryArray, per_day: i64, of_day: impl Fn(i64) -> i64) -> Result<Int64Array> {
    let (values, rest) = array.value_data().as_chunks::<{ INT96_BYTES as usize }>();
    if !rest.is_empty() || values.len() != array.len() {
        return Err(Error::internal("INT96 values are not of 12 bytes"));
    }
    let mut overflow = false;
    let converted: Vec<i64> = values
        .iter()
        .map(|value| {
            let (days, nanos) = parts(value);
            let (start, wrapped) = days.overflowing_mul(per_day);
            let (sum, wrapped_too) = start.overflowing_add(of_day(nanos));
            overflow |= wrapped | wrapped_too;
            sum
        })
        .collect();
    if !overflow {
        return Ok(Int64Array::new(converted.into(), array.nulls().cloned()));
    }
    exact(values, array, per_day, of_day)
}

/// The same with 128 bits: the day alone may not fit where the sum does, and what is under a NULL does not count.
fn exact(
    values: &[[u8; INT96_BYTES as usize]],
    array: &FixedSizeBinaryArray,
    per_day: i64,
    of_day: impl Fn(i64) -> i64,
) -> Result<Int64Array> {
    let converted = values.iter().enumerate().map(|(row, value)| {
        let (days, nanos) = parts(value);
        let sum = i128::from(days) * i128::from(per_day) + i128::from(of_day(nanos));
        match i64::try_from(sum) {
            Ok(sum) => Ok(sum),
            Err(_) if array.is_null(row) => Ok(0),
            Err(_) => Err(out_of_range()),
        }
    });
    Ok(Int64Array::new(converted.collect::<Result<Vec<_>>>()?.into(), array.nulls().cloned()))
}

/// What a timestamp that needs more than 64 bits is answered with.
pub(super) fn out_of_range() -> Error {
    Error::unsupported("a timestamp that does not fit 64 bits in its unit (nanoseconds reach from 1677 to 2262)")
}

/// Days since 1970 and nanoseconds of the day.
fn parts(value: &[u8; INT96_BYTES as usize]) -> (i64, i64) {
    let [a, b, c, d, e, f, g, h, day @ ..] = *value;
    (i64::from(i32::from_le_bytes(day)) - EPOCH_JULIAN_DAY, i64::from_le_bytes([a, b, c, d, e, f, g, h]))
}

#[cfg(test)]
mod tests {
    use arrow::array::FixedSizeBinaryBuilder;
    use proptest::prelude::*;

    use super::*;

    fn array(values: &[Option<(i64, i64)>]) -> FixedSizeBinaryArray {
        let mut builder = FixedSizeBinaryBuilder::new(12);
        for value in values {
            match value {
                None => builder.append_null(),
                Some((day, nanos)) => {
                    let day = i32::try_from(day + EPOCH_JULIAN_DAY).unwrap();
                    builder.append_value([&nanos.to_le_bytes()[..], &day.to_le_bytes()].concat()).unwrap();
                }
            }
        }
        builder.finish()
    }

    #[test]
    fn any_pair_is_rounded_down() {
        let times = array(&[Some((0, 1_999)), Some((0, -1)), Some((-1, 0)), None, Some((-719_162, 5))]);
        for (unit, want) in [
            (
                TimeUnit::Microsecond,
                vec![Some(1), Some(-1), Some(-86_400_000_000), None, Some(-62_135_596_800_000_000)],
            ),
            (TimeUnit::Second, vec![Some(0), Some(-1), Some(-86_400), None, Some(-62_135_596_800)]),
        ] {
            assert_eq!(to_timestamps(&times, unit).unwrap(), Int64Array::from(want));
        }
    }

    #[test]
    fn the_ends_of_64_bits_are_exact() {
        let (day, nanos) = (i64::MIN.div_euclid(NANOS_PER_DAY), i64::MIN.rem_euclid(NANOS_PER_DAY));
        let got = to_timestamps(&array(&[Some((day, nanos)), None]), TimeUnit::Nanosecond).unwrap();
        assert_eq!(got, Int64Array::from(vec![Some(i64::MIN), None]));
        for beyond in [(day, nanos - 1), (day - 1, nanos), (2_932_896, 0), (-719_162, 0)] {
            assert!(to_timestamps(&array(&[Some(beyond)]), TimeUnit::Nanosecond).is_err());
            assert!(to_timestamps(&array(&[Some(beyond)]), TimeUnit::Microsecond).is_ok());
        }
    }

    proptest! {
        #[test]
        fn nanoseconds_round_trip(nanos: i64) {
            let pair = (nanos.div_euclid(NANOS_PER_DAY), nanos.rem_euclid(NANOS_PER_DAY));
            let got = to_timestamps(&array(&[Some(pair)]), TimeUnit::Nanosecond).unwrap();
            prop_assert_eq!(got.value(0), nanos);
        }
    }
}
