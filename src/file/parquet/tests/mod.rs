//! Whole reads: files made by the Parquet library's writers, read through [`open`](super::open).

mod narrow;
mod nested;
mod robust;
mod rows;
mod scalars;

use std::ops::Range;
use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch};
use arrow::compute::concat_batches;
use futures::TryStreamExt;
use object_store::ObjectStoreExt;
use object_store::memory::InMemory;
use object_store::path::Path;
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_writer::ArrowWriterOptions;
use parquet::data_type::DataType as PhysicalType;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::parser::parse_message_type;

use super::open;
use crate::error::Result;
use crate::file::{FileFormat, Lane, ReadRequest};
use crate::spec::arrow_type::arrow_schema;
use crate::spec::data_type::{DataField, DataType};
use crate::storage::InputFile;

/// Columns by name and type.
fn fields(columns: &[(&str, &str)]) -> Vec<DataField> {
    let field =
        |(id, (name, text)): (usize, &(&str, &str))| DataField::new(id as i32, *name, DataType::parse(text).unwrap());
    columns.iter().enumerate().map(field).collect()
}

async fn request(bytes: Vec<u8>, fields: Vec<DataField>) -> ReadRequest {
    let (store, path) = (InMemory::new(), Path::from("dir/data-1.parquet"));
    let size_bytes = bytes.len() as u64;
    store.put(&path, bytes.into()).await.unwrap();
    ReadRequest {
        file: InputFile::new(Arc::new(store), path, Some(size_bytes)),
        format: FileFormat::Parquet,
        fields,
        written: vec![],
        range: None,
        batch_size: 1024,
        orc_legacy_ltz: false,
        selection: None,
        footers: None,
        narrowing: Default::default(),
        lane: Lane::alone(),
        limit: None,
    }
}

async fn batches(request: ReadRequest) -> Result<Vec<RecordBatch>> {
    let schema = arrow_schema(&request.fields);
    let batches: Vec<RecordBatch> = open(request).await?.try_collect().await?;
    assert!(batches.iter().all(|b| b.schema() == schema));
    Ok(batches)
}

/// All rows of a file, as one batch.
async fn read(bytes: Vec<u8>, columns: &[(&str, &str)]) -> Result<RecordBatch> {
    let fields = fields(columns);
    let schema = arrow_schema(&fields);
    let batches = batches(request(bytes, fields).await).await?;
    Ok(concat_batches(&schema, &batches).unwrap())
}

/// The one column of a file.
async fn read_column(bytes: Vec<u8>, name: &str, text: &str) -> Result<ArrayRef> {
    Ok(Arc::clone(read(bytes, &[(name, text)]).await?.column(0)))
}

async fn read_range(bytes: Vec<u8>, fields: Vec<DataField>, range: Range<u64>) -> Vec<RecordBatch> {
    let request = request(bytes, fields).await;
    batches(ReadRequest { range: Some(range), ..request }).await.unwrap()
}

/// A file of Arrow columns, without the Arrow schema in it.
fn write(columns: Vec<(&str, ArrayRef)>, properties: WriterProperties) -> Vec<u8> {
    let batch = RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(n, c)| (n, c, true))).unwrap();
    let options = ArrowWriterOptions::new().with_properties(properties).with_skip_arrow_metadata(true);
    let mut writer = ArrowWriter::try_new_with_options(vec![], batch.schema(), options).unwrap();
    writer.write(&batch).unwrap();
    writer.into_inner().unwrap()
}

/// A file of one row group, its columns written by hand.
fn write_raw(columns: &str, write: impl FnOnce(&mut SerializedRowGroupWriter<'_, Vec<u8>>)) -> Vec<u8> {
    let schema = Arc::new(parse_message_type(&format!("message root {{ {columns} }}")).unwrap());
    let properties = Arc::new(WriterProperties::builder().build());
    let mut writer = SerializedFileWriter::new(vec![], schema, properties).unwrap();
    let mut group = writer.next_row_group().unwrap();
    write(&mut group);
    group.close().unwrap();
    writer.into_inner().unwrap()
}

/// Writes the next column of a row group: values, definition levels, repetition levels.
fn put<T: PhysicalType>(
    group: &mut SerializedRowGroupWriter<'_, Vec<u8>>,
    values: &[T::T],
    definitions: Option<&[i16]>,
    repetitions: Option<&[i16]>,
) {
    let mut column = group.next_column().unwrap().unwrap();
    column.typed::<T>().write_batch(values, definitions, repetitions).unwrap();
    column.close().unwrap();
}

/// A file of one optional column `a`; the second of three rows is NULL.
fn one_null<T: PhysicalType>(column: &str, first: T::T, last: T::T) -> Vec<u8> {
    write_raw(&format!("optional {column};"), |group| put::<T>(group, &[first, last], Some(&[1, 0, 1]), None))
}
