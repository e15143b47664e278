//! Which columns of an ORC file make the wanted ones.
//!
//! In: the wanted fields and the file's types. Out: for each field a tree of [`Node`]s: what to decode, under which
//! column number, into which Arrow type. Columns and nested fields go by name; one that the file lacks is a node that is
//! all NULL. A column of another type than the wanted one is an error that names both.

use std::collections::HashSet;

use arrow::datatypes::{DataType as ArrowType, FieldRef};

use super::tail::{OrcKind, OrcType};
use crate::error::{Error, Result};
use crate::spec::arrow_type::{column_type, nested_type};
use crate::spec::data_type::{DataField, DataType, TypeKind};

/// A wanted column, or a part of one.
#[derive(Debug)]
pub(super) struct Node {
    /// Its number in the file.
    pub(super) column: u32,
    pub(super) kind: NodeKind,
    pub(super) arrow: ArrowType,
}

/// How a node is decoded.
#[derive(Debug)]
pub(super) enum NodeKind {
    /// The file does not have it.
    Missing,
    Boolean,
    Byte,
    /// Run-length encoded integers: SMALLINT to BIGINT, dates, times.
    Integer,
    Float,
    Double,
    /// Text or bytes. Trailing blanks of CHAR do not count: Java's reader cuts them off.
    Bytes {
        trim: bool,
    },
    Decimal {
        scale: u8,
    },
    /// Wall clock of the writer's zone; also LTZ of files from before ORC had instants.
    Timestamp,
    TimestampInstant,
    List(Box<Node>),
    Map(Box<Node>, Box<Node>),
    Struct(Vec<Node>),
}

impl Node {
    /// The numbers of all columns that are needed.
    pub(super) fn collect_columns(&self, into: &mut HashSet<u32>) {
        match &self.kind {
            NodeKind::Missing => return,
            NodeKind::List(child) => child.collect_columns(into),
            NodeKind::Map(key, value) => {
                key.collect_columns(into);
                value.collect_columns(into);
            }
            NodeKind::Struct(children) => children.iter().for_each(|child| child.collect_columns(into)),
            _ => {}
        }
        into.insert(self.column);
    }
}

/// Finds the wanted fields among the file's types.
pub(super) fn project(fields: &[DataField], types: &[OrcType]) -> Result<Vec<Node>> {
    let root = types.first().ok_or_else(|| Error::corrupt("the file has no types"))?;
    let walker = Walker { types };
    fields.iter().map(|field| walker.field(root, field, column_type(&field.data_type), &field.name)).collect()
}

struct Walker<'a> {
    types: &'a [OrcType],
}

impl Walker<'_> {
    /// A field of a struct, by its name.
    fn field(&self, parent: &OrcType, field: &DataField, arrow: ArrowType, path: &str) -> Result<Node> {
        let at = parent.names.iter().position(|name| *name == field.name);
        let Some(child) = at.and_then(|at| parent.children.get(at)) else {
            return Ok(Node { column: u32::MAX, kind: NodeKind::Missing, arrow });
        };
        self.node(*child, &field.data_type, arrow, path)
    }

    fn nested(&self, column: u32, wanted: &DataType, path: &str) -> Result<Box<Node>> {
        self.node(column, wanted, nested_type(wanted), path).map(Box::new)
    }

    fn node(&self, column: u32, wanted: &DataType, arrow: ArrowType, path: &str) -> Result<Node> {
        let found = self.types.get(column as usize);
        let found = found.ok_or_else(|| Error::corrupt(format!("the file has no type {column}")))?;
        let kind = match (&wanted.kind, found.kind) {
            (TypeKind::Boolean, OrcKind::Boolean) => NodeKind::Boolean,
            (TypeKind::TinyInt, OrcKind::Byte) => NodeKind::Byte,
            (TypeKind::SmallInt, OrcKind::Short)
            | (TypeKind::Int | TypeKind::Time(_), OrcKind::Int)
            | (TypeKind::BigInt, OrcKind::Long)
            | (TypeKind::Date, OrcKind::Date) => NodeKind::Integer,
            (TypeKind::Float, OrcKind::Float) => NodeKind::Float,
            (TypeKind::Double, OrcKind::Double) => NodeKind::Double,
            (TypeKind::Char(_) | TypeKind::VarChar(_), OrcKind::String | OrcKind::Varchar | OrcKind::Char)
            | (TypeKind::Binary(_) | TypeKind::VarBinary(_) | TypeKind::Blob, OrcKind::Binary)
            | (TypeKind::Geometry(_) | TypeKind::Geography(..), OrcKind::Binary) => {
                NodeKind::Bytes { trim: matches!(wanted.kind, TypeKind::Char(_)) }
            }
            (TypeKind::Decimal { precision, scale }, OrcKind::Decimal)
                if (u32::from(*precision), u32::from(*scale)) == (found.precision, found.scale) =>
            {
                NodeKind::Decimal { scale: *scale }
            }
            (TypeKind::Timestamp(_) | TypeKind::TimestampLtz(_), OrcKind::Timestamp) => NodeKind::Timestamp,
            (TypeKind::TimestampLtz(_), OrcKind::TimestampInstant) => NodeKind::TimestampInstant,
            (TypeKind::Vector(..) | TypeKind::Variant, _) => {
                return Err(Error::unsupported(format!("column '{path}': {wanted} in ORC files")));
            }
            (kind, OrcKind::List | OrcKind::Map | OrcKind::Struct) => {
                match self.composite(kind, found, &arrow, path)? {
                    Some(kind) => kind,
                    None => return Err(mismatch(path, wanted, found)),
                }
            }
            _ => return Err(mismatch(path, wanted, found)),
        };
        Ok(Node { column, kind, arrow })
    }

    /// A nested type; `None` where the wanted one is another.
    fn composite(&self, wanted: &TypeKind, found: &OrcType, arrow: &ArrowType, path: &str) -> Result<Option<NodeKind>> {
        Ok(Some(match (wanted, found.kind, found.children.as_slice()) {
            (TypeKind::Array(element), OrcKind::List, [child]) => {
                NodeKind::List(self.nested(*child, element, &format!("{path}.element"))?)
            }
            (TypeKind::Map(k, v), OrcKind::Map, [key, value]) => NodeKind::Map(
                self.nested(*key, k, &format!("{path}.key"))?,
                self.nested(*value, v, &format!("{path}.value"))?,
            ),
            (TypeKind::Multiset(element), OrcKind::Map, [key, value]) => NodeKind::Map(
                self.nested(*key, element, &format!("{path}.key"))?,
                self.nested(*value, &TypeKind::Int.not_null(), &format!("{path}.value"))?,
            ),
            (TypeKind::Row(fields), OrcKind::Struct, _) => {
                let ArrowType::Struct(arrow) = arrow else { return Err(Error::internal("a ROW is no Arrow struct")) };
                let child = |(field, arrow): (&DataField, &FieldRef)| {
                    self.field(found, field, arrow.data_type().clone(), &format!("{path}.{}", field.name))
                };
                NodeKind::Struct(fields.iter().zip(arrow).map(child).collect::<Result<_>>()?)
            }
            _ => return Ok(None),
        }))
    }
}

fn mismatch(path: &str, wanted: &DataType, found: &OrcType) -> Error {
    Error::corrupt(format!("column '{path}' has ORC type {}, expected one for {wanted}", found.describe()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn leaf(kind: OrcKind) -> OrcType {
        OrcType { kind, children: vec![], names: vec![], precision: 10, scale: 2 }
    }

    fn with(kind: OrcKind, children: &[u32], names: &[&str]) -> OrcType {
        let names = names.iter().map(|n| (*n).to_owned()).collect();
        OrcType { children: children.to_vec(), names, ..leaf(kind) }
    }

    fn field(name: &str, text: &str) -> DataField {
        DataField::new(0, name, DataType::parse(text).unwrap())
    }

    #[test]
    fn columns_and_nested_fields_go_by_name() {
        let types = [
            with(OrcKind::Struct, &[1, 2], &["a", "l"]),
            leaf(OrcKind::Int),
            with(OrcKind::List, &[3], &[]),
            with(OrcKind::Struct, &[4, 5, 6], &["x", "y", "z"]),
            leaf(OrcKind::Long),
            leaf(OrcKind::String),
            leaf(OrcKind::Decimal),
        ];
        let fields = [field("l", "ARRAY<ROW<z DECIMAL(10, 2), q INT, y STRING>>"), field("gone", "INT")];
        let nodes = project(&fields, &types).unwrap();
        let mut columns = HashSet::new();
        nodes.iter().for_each(|n| n.collect_columns(&mut columns));
        assert_eq!(columns, HashSet::from([2, 3, 5, 6]));
        assert!(matches!(nodes[1].kind, NodeKind::Missing));
        let NodeKind::List(element) = &nodes[0].kind else { panic!() };
        let NodeKind::Struct(children) = &element.kind else { panic!() };
        assert_eq!(children.iter().map(|c| c.column).collect::<Vec<_>>(), [6, u32::MAX, 5]);
    }

    #[test]
    fn other_types_are_refused_by_name() {
        let types = [with(OrcKind::Struct, &[1, 2], &["a", "d"]), leaf(OrcKind::Int), leaf(OrcKind::Decimal)];
        for (wanted, message) in [
            (field("a", "BIGINT"), "column 'a' has ORC type int, expected one for BIGINT"),
            (field("a", "ARRAY<INT>"), "column 'a' has ORC type int, expected one for ARRAY<INT>"),
            (field("d", "DECIMAL(10, 3)"), "column 'd' has ORC type decimal(10,2), expected one for DECIMAL(10, 3)"),
            (field("a", "VARIANT"), "VARIANT in ORC files"),
        ] {
            let error = project(&[wanted], &types).unwrap_err().to_string();
            assert!(error.contains(message), "{error}");
        }
    }
}
