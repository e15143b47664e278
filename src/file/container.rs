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
        let mut keep = |batch| {
            batches.push(batch);
            Ok(())
        };
        for part in avro::metadata::parts(&bytes, usize::MAX)? {
            part.visit(&projection, BATCH_ROWS, &mut keep)?;
        }
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

/// A part of a metadata file, which can be decoded beside the others.
pub struct ContainerPart(PartOf);

enum PartOf {
    Avro(avro::metadata::Part),
    /// All of a file in another container.
    Whole(Bytes),
}

/// Cuts a metadata file into parts of about `part_bytes`, where its container lets it.
pub fn container_parts(bytes: Bytes, part_bytes: usize) -> Result<Vec<ContainerPart>> {
    if bytes.starts_with(AVRO) {
        let parts = avro::metadata::parts(&bytes, part_bytes)?;
        return Ok(parts.into_iter().map(|part| ContainerPart(PartOf::Avro(part))).collect());
    }
    Ok(vec![ContainerPart(PartOf::Whole(bytes))])
}

impl ContainerPart {
    /// Gives all records to `visit`, batch by batch, so that no more than one is there at a time where the container lets
    /// it. Batches have at most `batch_rows` rows, and all about as many.
    pub fn visit(self, batch_rows: usize, visit: &mut dyn FnMut(RecordBatch) -> Result<()>) -> Result<()> {
        match self.0 {
            PartOf::Avro(part) => {
                let batch_rows = batch_rows.max(1);
                let batches = part.rows.div_ceil(batch_rows as u64).max(1);
                let rows = usize::try_from(part.rows.div_ceil(batches)).unwrap_or(batch_rows);
                part.visit(&Projection::of_paths(&[]), rows.clamp(1, batch_rows), visit)
            }
            PartOf::Whole(bytes) => read_container(bytes, &[])?.into_iter().try_for_each(visit),
        }
    }
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
    use arrow::array::{ArrayRef, AsArray, Int32Array, StringArray, StructArray};
    use arrow::datatypes::Int64Type;

    use super::*;
    use crate::file::avro::testing;

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

    /// An Avro file of records of one long, which count up, in blocks of so many.
    fn counted(blocks: &[i64]) -> Bytes {
        let schema = r#"{"type": "record", "name": "r", "fields": [{"name": "n", "type": "long"}]}"#;
        let mut next = 0..;
        let mut block = |rows: &i64| {
            let mut plain = vec![];
            next.by_ref().take(*rows as usize).for_each(|n| testing::long(&mut plain, n));
            (*rows, plain)
        };
        testing::file(schema, "zstandard", &blocks.iter().map(&mut block).collect::<Vec<_>>()).into()
    }

    #[test]
    fn parts_together_are_the_file() {
        let file = counted(&[100, 0, 250, 1, 30]);
        for (part_bytes, batch_rows, want) in [
            (usize::MAX, 1000, vec![vec![381]]),
            // Batches of a part have about as many rows.
            (usize::MAX, 200, vec![vec![191, 190]]),
            (1, 200, vec![vec![100], vec![], vec![125, 125], vec![1], vec![30]]),
            (0, 0, vec![vec![1; 100], vec![], vec![1; 250], vec![1], vec![1; 30]]),
        ] {
            let mut values: Vec<i64> = vec![];
            let mut rows_of = |part: ContainerPart| {
                let mut rows = vec![];
                let mut visit = |batch: RecordBatch| {
                    values.extend(batch.column(0).as_primitive::<Int64Type>().values());
                    rows.push(batch.num_rows());
                    Ok(())
                };
                part.visit(batch_rows, &mut visit).map(|()| rows)
            };
            let parts = container_parts(file.clone(), part_bytes).unwrap();
            let rows: Vec<_> = parts.into_iter().map(|part| rows_of(part).unwrap()).collect();
            assert_eq!(rows, want, "{part_bytes} {batch_rows}");
            assert!(values.into_iter().eq(0..381));
        }
        // A file without records, and one in another container.
        for (file, rows) in [(counted(&[]), 0), (files().remove(0), 2)] {
            let mut parts = container_parts(file, 1).unwrap();
            let mut seen = 0;
            let mut count = |batch: RecordBatch| {
                seen += batch.num_rows();
                Ok(())
            };
            parts.pop().unwrap().visit(10, &mut count).unwrap();
            assert_eq!((parts.len(), seen), (0, rows));
        }
        // What is wrong is found where it lies.
        let mut damaged = file.to_vec();
        let last = damaged.len() - 1;
        damaged[last] ^= 1;
        assert!(container_parts(damaged.into(), usize::MAX).is_err());
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
