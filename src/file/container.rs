//! Metadata files: manifests, manifest lists and index manifests, in whatever container they are.
//!
//! In: all bytes of a file and the columns that are wanted. Out: its records as Arrow batches. The container is known by
//! its first bytes, because names of metadata files say nothing. The batches have the file's own types: consumers find
//! columns by name, and take what a container cannot say better (ORC's tinyint for `_KIND`) as it is.

mod parquet;
mod projection;

use arrow::array::RecordBatch;
use bytes::Bytes;

pub(crate) use projection::Projection;

use super::avro;
use super::guard::guarded;
use crate::error::{Error, Result};

/// The rows of a batch of metadata.
pub(crate) const BATCH_ROWS: usize = 8192;

/// What an Avro file begins with.
const AVRO: &[u8] = b"Obj\x01";

/// Reads a metadata file.
///
/// `columns` are the names of the wanted columns, all where there are none; a name with dots is a path to a field inside
/// records (`_FILE._FILE_NAME`), the batches then have only the wanted fields of the record. A column that the file lacks
/// is no column of the batches.
pub fn read_container(bytes: Bytes, columns: &[&str]) -> Result<Vec<RecordBatch>> {
    let projection = Projection::of_paths(columns);
    if bytes.starts_with(AVRO) {
        let mut batches = vec![];
        avro::metadata::visit(&bytes, &projection, BATCH_ROWS, &mut |batch| {
            batches.push(batch);
            Ok(())
        })?;
        return Ok(batches);
    }
    match bytes.get(..4).unwrap_or(&bytes) {
        b"PAR1" => guarded("the metadata file cannot be decoded", || parquet::read(bytes, columns, &projection)),
        [b'O', b'R', b'C', ..] => read_orc(bytes, &projection),
        [] => Err(Error::corrupt("expected a metadata file, found no bytes")),
        other => {
            let other = other.escape_ascii();
            Err(Error::corrupt(format!("expected a metadata file in Avro, ORC or Parquet, it begins with '{other}'")))
        }
    }
}

/// Gives all records of a metadata file to `visit`, batch by batch, so that no more than one is there at a time where the
/// container lets it. `batch_rows` is how many rows a batch should have at most.
pub fn visit_container(
    bytes: Bytes,
    batch_rows: usize,
    visit: &mut dyn FnMut(RecordBatch) -> Result<()>,
) -> Result<()> {
    if bytes.starts_with(AVRO) {
        return avro::metadata::visit(&bytes, &Projection::of_paths(&[]), batch_rows.max(1), visit);
    }
    read_container(bytes, &[])?.into_iter().try_for_each(visit)
}

#[cfg(feature = "orc")]
fn read_orc(bytes: Bytes, projection: &Projection) -> Result<Vec<RecordBatch>> {
    super::orc::metadata::read(bytes, projection)
}

#[cfg(not(feature = "orc"))]
fn read_orc(_: Bytes, _: &Projection) -> Result<Vec<RecordBatch>> {
    Err(Error::unsupported("metadata files in ORC: this build lacks the feature 'orc'"))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use ::parquet::arrow::ArrowWriter;
    use arrow::array::{ArrayRef, Int32Array, StringArray, StructArray};

    use super::*;

    fn batch() -> RecordBatch {
        let a: ArrayRef = Arc::new(Int32Array::from(vec![Some(1), None]));
        let b: ArrayRef = Arc::new(StringArray::from(vec!["x", "y"]));
        let field = |n: &str, a: &ArrayRef| arrow::datatypes::Field::new(n, a.data_type().clone(), true);
        let (fa, fb) = (field("a", &a), field("b", &b));
        let s = StructArray::new(vec![fa, fb].into(), vec![Arc::clone(&a), b], None);
        RecordBatch::try_from_iter([("a", a), ("s", Arc::new(s) as _)]).unwrap()
    }

    fn names(batches: &[RecordBatch]) -> Vec<String> {
        let schema = batches[0].schema();
        schema.fields().iter().map(|f| format!("{}:{}", f.name(), f.data_type())).collect()
    }

    /// The same rows in Parquet and ORC.
    fn files() -> Vec<Bytes> {
        let batch = batch();
        let mut parquet = ArrowWriter::try_new(vec![], batch.schema(), None).unwrap();
        parquet.write(&batch).unwrap();
        #[allow(unused_mut)]
        let mut files = vec![parquet.into_inner().unwrap().into()];
        #[cfg(feature = "orc")]
        {
            let flat = batch.project(&[0]).unwrap();
            let mut bytes = vec![];
            let mut orc = orc_rust::ArrowWriterBuilder::new(&mut bytes, flat.schema()).try_build().unwrap();
            orc.write(&flat).unwrap();
            orc.close().unwrap();
            files.push(bytes.into());
        }
        files
    }

    #[test]
    fn parquet_is_read_whole_and_in_parts() {
        let file = &files()[0];
        assert_eq!(read_container(file.clone(), &[]).unwrap(), [batch()]);
        let part = read_container(file.clone(), &["s.b", "missing"]).unwrap();
        assert_eq!(names(&part), ["s:Struct(\"b\": Utf8)"]);
        assert_eq!(names(&read_container(file.clone(), &["a"]).unwrap()), ["a:Int32"]);
    }

    #[cfg(feature = "orc")]
    #[test]
    fn orc_is_read() {
        let file = &files()[1];
        assert_eq!(read_container(file.clone(), &["a"]).unwrap(), [batch().project(&[0]).unwrap()]);
    }

    #[test]
    fn broken_files_are_errors() {
        for bad in [&b""[..], b"O", b"OR", b"ORC", b"PAR1", b"Obj\x01", b"Obj\x01\x00", b"PAR1PAR1", b"{}"] {
            assert!(read_container(Bytes::from_static(bad), &[]).is_err(), "{}", bad.escape_ascii());
        }
        for file in files() {
            for n in 0..file.len() {
                assert!(read_container(file.slice(..n), &[]).is_err(), "{n}");
            }
            for at in 0..file.len() {
                let mut changed = file.to_vec();
                changed[at] ^= 0x55;
                let _ = read_container(changed.into(), &[]);
            }
        }
    }
}
