//! The one mapping from Paimon's data types to Arrow's.
//!
//! In: a [`DataType`] or a list of [`DataField`]s. Out: the Arrow type in which every stage of this crate holds such
//! values: format readers produce it, evolution casts between such types, DataFusion sees it. The unit of a timestamp
//! follows the precision of the table's type, never the unit of a file.
//!
//! | Paimon | Arrow |
//! |---|---|
//! | CHAR, VARCHAR | `Utf8View` as a column, `Utf8` inside nested types |
//! | BINARY, VARBINARY, BLOB, GEOMETRY, GEOGRAPHY | `BinaryView` as a column, `Binary` inside nested types |
//! | DECIMAL(p, s) | `Decimal128(p, s)` |
//! | TIME(p) | `Time32(ms)` |
//! | TIMESTAMP(0), (1..3), (4..6), (7..9) | `Timestamp` of s, ms, µs, ns; LTZ with the zone `UTC` |
//! | ARRAY | `List(element)` |
//! | MULTISET(t), MAP(k, v) | `Map(entries{key, value})`, a multiset's values `Int32` |
//! | VECTOR(t, n) | `FixedSizeList(element, n)` |
//! | ROW | `Struct` |
//! | VARIANT | `Struct{value: Binary, metadata: Binary}` |

use std::sync::Arc;

use arrow::datatypes::{DataType as ArrowType, Field, FieldRef, Fields, Schema, SchemaRef, TimeUnit};

use super::data_type::{DataField, DataType, TypeKind};

/// The zone that Arrow types of TIMESTAMP WITH LOCAL TIME ZONE carry.
pub const LTZ_ZONE: &str = "UTC";

/// The Arrow unit that holds a timestamp of `precision` fractional digits.
pub fn timestamp_unit(precision: u8) -> TimeUnit {
    match precision {
        0 => TimeUnit::Second,
        1..=3 => TimeUnit::Millisecond,
        4..=6 => TimeUnit::Microsecond,
        _ => TimeUnit::Nanosecond,
    }
}

/// The schema of a table or of the rows of a file.
pub fn arrow_schema(fields: &[DataField]) -> SchemaRef {
    Arc::new(Schema::new(fields.iter().map(column_field).collect::<Vec<_>>()))
}

/// The Arrow field of a column.
pub fn column_field(field: &DataField) -> FieldRef {
    Arc::new(Field::new(&field.name, column_type(&field.data_type), field.data_type.nullable))
}

/// The Arrow type of a column: text and bytes as views.
pub fn column_type(data_type: &DataType) -> ArrowType {
    match nested_type(data_type) {
        ArrowType::Utf8 => ArrowType::Utf8View,
        ArrowType::Binary => ArrowType::BinaryView,
        other => other,
    }
}

/// The Arrow type of a value inside a nested type.
pub fn nested_type(data_type: &DataType) -> ArrowType {
    match &data_type.kind {
        TypeKind::Boolean => ArrowType::Boolean,
        TypeKind::TinyInt => ArrowType::Int8,
        TypeKind::SmallInt => ArrowType::Int16,
        TypeKind::Int => ArrowType::Int32,
        TypeKind::BigInt => ArrowType::Int64,
        TypeKind::Float => ArrowType::Float32,
        TypeKind::Double => ArrowType::Float64,
        TypeKind::Decimal { precision, scale } => ArrowType::Decimal128(*precision, *scale as i8),
        TypeKind::Char(_) | TypeKind::VarChar(_) => ArrowType::Utf8,
        TypeKind::Binary(_) | TypeKind::VarBinary(_) | TypeKind::Blob => ArrowType::Binary,
        TypeKind::Geometry(_) | TypeKind::Geography(..) => ArrowType::Binary,
        TypeKind::Date => ArrowType::Date32,
        TypeKind::Time(_) => ArrowType::Time32(TimeUnit::Millisecond),
        TypeKind::Timestamp(p) => ArrowType::Timestamp(timestamp_unit(*p), None),
        TypeKind::TimestampLtz(p) => ArrowType::Timestamp(timestamp_unit(*p), Some(LTZ_ZONE.into())),
        TypeKind::Array(e) => ArrowType::List(nested_field("element", e)),
        TypeKind::Vector(e, n) => ArrowType::FixedSizeList(nested_field("element", e), *n as i32),
        TypeKind::Multiset(e) => map_type(e, &TypeKind::Int.not_null()),
        TypeKind::Map(k, v) => map_type(k, v),
        TypeKind::Row(fields) => ArrowType::Struct(nested_fields(fields)),
        TypeKind::Variant => ArrowType::Struct(variant_fields()),
    }
}

/// The Arrow fields of a `ROW`.
pub fn nested_fields(fields: &[DataField]) -> Fields {
    fields.iter().map(|f| nested_field(&f.name, &f.data_type)).collect()
}

/// The Arrow fields of a `VARIANT`.
pub fn variant_fields() -> Fields {
    [Field::new("value", ArrowType::Binary, false), Field::new("metadata", ArrowType::Binary, false)]
        .into_iter()
        .collect()
}

fn nested_field(name: &str, data_type: &DataType) -> FieldRef {
    Arc::new(Field::new(name, nested_type(data_type), data_type.nullable))
}

/// Keys of an Arrow map are never NULL, whatever the Paimon type says.
fn map_type(key: &DataType, value: &DataType) -> ArrowType {
    let key = Arc::new(Field::new("key", nested_type(key), false));
    let entries = Fields::from(vec![key, nested_field("value", value)]);
    ArrowType::Map(Arc::new(Field::new("entries", ArrowType::Struct(entries), false)), false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_follow_the_precision_and_text_is_a_view_only_at_the_top() {
        for (text, want) in [
            ("STRING", ArrowType::Utf8View),
            ("TIMESTAMP(0)", ArrowType::Timestamp(TimeUnit::Second, None)),
            ("TIMESTAMP(3)", ArrowType::Timestamp(TimeUnit::Millisecond, None)),
            ("TIMESTAMP_LTZ(6)", ArrowType::Timestamp(TimeUnit::Microsecond, Some("UTC".into()))),
            ("TIMESTAMP(7)", ArrowType::Timestamp(TimeUnit::Nanosecond, None)),
            ("ARRAY<STRING>", ArrowType::List(Arc::new(Field::new("element", ArrowType::Utf8, true)))),
        ] {
            assert_eq!(column_type(&DataType::parse(text).unwrap()), want, "{text}");
        }
        let ArrowType::Map(entries, false) = column_type(&DataType::parse("MULTISET<INT>").unwrap()) else { panic!() };
        assert!(entries.data_type().to_string().contains("Int32"));
    }
}
