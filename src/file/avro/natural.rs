//! The Arrow schema that an Avro file has of itself.
//!
//! In: the writer's schema and the wanted paths. Out: Arrow fields, in the file's order, of what is wanted and there:
//! numbers, text and bytes as they are written, whatever their logical type; text and bytes are no views. A field that
//! has no such type (a union of several types, a record without fields) is left out.

use std::sync::Arc;

use arrow::datatypes::{DataType as ArrowType, Field as ArrowField, Fields, Schema, SchemaRef};

use super::schema::{Field, Kind, Node};
use crate::error::Result;
use crate::file::container::Projection;

/// The schema of a file's records.
pub(crate) fn natural_schema(writer: &Node, projection: &Projection) -> Result<SchemaRef> {
    Ok(Arc::new(Schema::new(fields(writer.top_record()?, projection))))
}

fn fields(written: &[Field], projection: &Projection) -> Fields {
    let wanted = written.iter().filter_map(|f| field(&f.name, &f.node, projection.child(&f.name)?));
    wanted.collect()
}

fn field(name: &str, node: &Node, projection: &Projection) -> Option<ArrowField> {
    let (node, nullable) = match node.union().ok()? {
        Some(union) => (union.value, union.null_branch >= 0),
        None => (node, false),
    };
    Some(ArrowField::new(name, data_type(node, projection)?, nullable))
}

fn data_type(node: &Node, projection: &Projection) -> Option<ArrowType> {
    Some(match &node.kind {
        Kind::Boolean => ArrowType::Boolean,
        Kind::Int => ArrowType::Int32,
        Kind::Long => ArrowType::Int64,
        Kind::Float => ArrowType::Float32,
        Kind::Double => ArrowType::Float64,
        Kind::Bytes | Kind::Fixed(_) => ArrowType::Binary,
        Kind::String | Kind::Enum(_) => ArrowType::Utf8,
        Kind::Array(items) if items.is_empty() => return None,
        Kind::Array(items) => ArrowType::List(Arc::new(field("element", items, &Projection::All)?)),
        Kind::Map(values) => {
            let value = field("value", values, &Projection::All)?;
            let entries = Fields::from(vec![ArrowField::new("key", ArrowType::Utf8, false), value]);
            ArrowType::Map(Arc::new(ArrowField::new("entries", ArrowType::Struct(entries), false)), false)
        }
        Kind::Record(written) => {
            let fields = fields(written, projection);
            if fields.is_empty() {
                return None;
            }
            ArrowType::Struct(fields)
        }
        Kind::Null | Kind::Union(_) => return None,
    })
}
