//! Which part of a file's type is asked for.
//!
//! In: the wanted type of the table and the type of the file. Out: the file's type without the nested fields that nobody
//! wants, its own names and order kept; nothing where no wanted nested field exists in it. Java:
//! `FormatReaderMapping.Builder.pruneDataType`.

use crate::spec::data_type::{DataField, DataType, TypeKind};

/// The part of `file` that `wanted` needs; `None` where `wanted` cannot be had from it and is NULL as a whole.
pub(super) fn prune(wanted: &DataType, file: &DataType) -> Option<DataType> {
    let boxed = |wanted, file| prune(wanted, file).map(Box::new);
    let kind = match (&wanted.kind, &file.kind) {
        (TypeKind::Row(wanted), TypeKind::Row(file)) => {
            let fields = prune_fields(wanted, file);
            if fields.is_empty() {
                return None;
            }
            TypeKind::Row(fields)
        }
        (TypeKind::Array(wanted), TypeKind::Array(file)) => TypeKind::Array(boxed(wanted, file)?),
        (TypeKind::Multiset(wanted), TypeKind::Multiset(file)) => TypeKind::Multiset(boxed(wanted, file)?),
        (TypeKind::Vector(wanted, _), TypeKind::Vector(file, n)) => TypeKind::Vector(boxed(wanted, file)?, *n),
        (TypeKind::Map(wanted_key, wanted), TypeKind::Map(file_key, file)) => {
            TypeKind::Map(boxed(wanted_key, file_key)?, boxed(wanted, file)?)
        }
        (_, file) => file.clone(),
    };
    Some(DataType { kind, nullable: file.nullable })
}

/// The fields of `file` that are wanted, in the file's order; the first of a schema that has an id twice.
pub(super) fn prune_fields(wanted: &[DataField], file: &[DataField]) -> Vec<DataField> {
    let mut kept: Vec<DataField> = Vec::with_capacity(wanted.len());
    for field in file {
        let Some(target) = wanted.iter().find(|f| f.id == field.id) else { continue };
        if kept.iter().any(|f| f.id == field.id) {
            continue;
        }
        if let Some(data_type) = prune(&target.data_type, &field.data_type) {
            kept.push(DataField { data_type, ..field.clone() });
        }
    }
    kept
}
