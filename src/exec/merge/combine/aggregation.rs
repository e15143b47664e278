//! The steps of `aggregation`: adds are folded in, retracts taken out, by the function of each column.
//!
//! With `aggregation.remove-record-on-delete` a delete replaces the row by its own values, from which later versions go
//! on; a key whose newest version is one is no row. Java: `AggregateMergeFunction`.

use super::program::{KeyVersion, Program};
use crate::exec::merge::aggregate::Step;
use crate::spec::row_kind::RowKind;

/// Appends a key with its versions, oldest first.
pub fn push_key(program: &mut Program, versions: &[KeyVersion], remove_on_delete: bool) {
    let mut deleted = false;
    for version in versions {
        deleted = remove_on_delete && version.kind == RowKind::Delete;
        let step = match version.kind {
            _ if deleted => Step::Set,
            kind if kind.is_retract() => Step::Retract,
            _ => Step::Aggregate,
        };
        program.push(version.member, |_| step);
    }
    program.end_key(!deleted);
}
