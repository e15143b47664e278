//! ORC files that are in memory as a whole: manifests and lists of them.
//!
//! In: all bytes of a file and which fields are wanted. Out: its rows, every type as the file itself says, all fields
//! nullable. Nothing is read from a store, so what is asynchronous elsewhere is done at once here.

use arrow::array::RecordBatch;
use bytes::Bytes;
use futures::FutureExt;

use super::Scan;
use super::parts::Part;
use super::tail::{OrcKind, OrcType, Tail, tail_of_bytes};
use crate::error::{Error, Result};
use crate::file::container::{BATCH_ROWS, Projection};
use crate::spec::data_type::{DataField, DataType, TypeKind};

/// Reads the wanted fields of a whole file.
pub(in crate::file) fn read(bytes: Bytes, projection: &Projection) -> Result<Vec<RecordBatch>> {
    at_once(async {
        let (tail, source) = tail_of_bytes(bytes).await?;
        let mut fields = vec![];
        if let Some(root) = tail.types.first() {
            fields = natural_fields(&tail, root, projection);
        }
        let waiting = tail.stripes.iter().filter(|s| s.rows > 0).map(|stripe| Part::whole((0, *stripe))).collect();
        let mut scan = Scan::of(tail, source, &fields, BATCH_ROWS, |_| {})?;
        scan.waiting = waiting;
        let mut batches = vec![];
        while let Some(batch) = scan.next_batch().await? {
            batches.push(batch);
        }
        Ok(batches)
    })
}

fn at_once<T>(work: impl Future<Output = Result<T>>) -> Result<T> {
    work.now_or_never().unwrap_or_else(|| Err(Error::internal("a file in memory was waited for")))
}

/// The wanted fields of a struct that have a type of Paimon.
fn natural_fields(tail: &Tail, parent: &OrcType, projection: &Projection) -> Vec<DataField> {
    let field = |(name, child): (&String, &u32)| {
        let wanted = projection.child(name)?;
        let data_type = natural_type(tail, tail.types.get(*child as usize)?, wanted)?;
        Some(DataField::new(0, name, data_type))
    };
    parent.names.iter().zip(&parent.children).filter_map(field).collect()
}

fn natural_type(tail: &Tail, found: &OrcType, projection: &Projection) -> Option<DataType> {
    let child = |at: usize| {
        let child = tail.types.get(*found.children.get(at)? as usize)?;
        natural_type(tail, child, &Projection::All).map(Box::new)
    };
    let kind = match found.kind {
        OrcKind::Boolean => TypeKind::Boolean,
        OrcKind::Byte => TypeKind::TinyInt,
        OrcKind::Short => TypeKind::SmallInt,
        OrcKind::Int => TypeKind::Int,
        OrcKind::Long => TypeKind::BigInt,
        OrcKind::Float => TypeKind::Float,
        OrcKind::Double => TypeKind::Double,
        OrcKind::Date => TypeKind::Date,
        OrcKind::String | OrcKind::Varchar | OrcKind::Char => TypeKind::string(),
        OrcKind::Binary => TypeKind::VarBinary(crate::spec::data_type::MAX_LENGTH),
        OrcKind::Timestamp => TypeKind::Timestamp(3),
        OrcKind::TimestampInstant => TypeKind::TimestampLtz(3),
        OrcKind::Decimal => TypeKind::Decimal {
            precision: u8::try_from(found.precision).ok().filter(|p| (1..=38).contains(p))?,
            scale: u8::try_from(found.scale).ok()?,
        },
        OrcKind::List => TypeKind::Array(child(0)?),
        OrcKind::Map => TypeKind::Map(child(0)?, child(1)?),
        OrcKind::Struct => TypeKind::Row(natural_fields(tail, found, projection)),
        OrcKind::Union | OrcKind::Other(_) => return None,
    };
    Some(kind.nullable())
}
