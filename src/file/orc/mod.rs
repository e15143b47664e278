//! ORC files.
//!
//! In: a [`ReadRequest`]. Out: its batches. The tail of the file is read and checked ([`tail`]), the wanted columns are
//! found in it by name ([`projection`]); then, stripe by stripe, the wanted streams are fetched ([`stripe`]) and decoded
//! ([`decode`]), while the streams of the next stripe are on their way.
//!
//! ```text
//! open ──► tail ──► projection ──► per stripe: fetch ──► decode ──► RecordBatch
//!                                              fetch of the next one ┘ meanwhile
//! ```
//!
//! Foreign bytes never panic: every length is compared with what is there, arithmetic is checked, types are a tree.

mod byte_rle;
mod bytes;
mod codec;
mod decode;
mod int_rle;
#[cfg(test)]
mod java_tests;
pub(super) mod metadata;
mod nested;
mod projection;
mod protobuf;
mod prune;
mod statistics;
mod stripe;
mod tail;
#[cfg(test)]
mod tests;
mod timestamp;
mod zone;

use std::collections::{HashSet, VecDeque};
use std::sync::Arc;

use arrow::array::{BooleanArray, RecordBatch, RecordBatchOptions};
use arrow::compute::filter_record_batch;
use arrow::datatypes::SchemaRef;
use futures::StreamExt;
use futures::stream::try_unfold;
use tokio::task::JoinSet;

use self::decode::{Decode, decoder};
use self::projection::{Node, project};
use self::stripe::Stripe;
use self::tail::{Source, Tail, read_tail};
use super::{BatchStream, ReadRequest};
use crate::error::{Error, Result};
use crate::selection::RowSelection;
use crate::spec::arrow_type::arrow_schema;
use crate::spec::data_type::DataField;
use crate::storage::InputFile;

pub use self::tail::StripeInformation;

/// Reads a file. Its tail is read before this returns, the stripes when the stream is polled.
pub async fn open(request: ReadRequest) -> Result<BatchStream> {
    let path = request.file.path().clone();
    let scan = Scan::new(request).await.map_err(|e| e.in_file(&path))?;
    let stream = try_unfold(scan, move |mut scan| {
        let path = path.clone();
        async move {
            let batch = scan.next_batch().await.map_err(|e| e.in_file(path))?;
            Ok(batch.map(|batch| (batch, scan)))
        }
    });
    Ok(stream.boxed())
}

/// The stripes of a file, from its footer: where they are and how many rows they have.
pub async fn stripes(file: &InputFile) -> Result<Vec<StripeInformation>> {
    let (tail, _) = read_tail(file).await.map_err(|e| e.in_file(file.path()))?;
    Ok(tail.stripes.clone())
}

/// What is needed to fetch a stripe.
struct Fetch {
    source: Source,
    tail: Arc<Tail>,
    columns: HashSet<u32>,
}

/// A file that is being read.
struct Scan {
    fetch: Arc<Fetch>,
    /// The stripes that are not asked for yet, each with the position of its first row.
    waiting: VecDeque<(usize, StripeInformation)>,
    /// The stripe that is on its way.
    ahead: JoinSet<Result<(usize, Stripe)>>,
    reads_ahead: bool,
    /// The rows that are wanted.
    selection: Option<RowSelection>,
    current: Option<Decoding>,
    names: Vec<String>,
    nodes: Vec<Node>,
    schema: SchemaRef,
    batch_size: usize,
    legacy_ltz: bool,
}

/// The stripes that begin in the wanted range and hold wanted rows, each with the position of its first row.
fn wanted_stripes(stripes: &[StripeInformation], request: &ReadRequest) -> VecDeque<(usize, StripeInformation)> {
    let mut first_row = 0usize;
    let mut wanted = VecDeque::new();
    for stripe in stripes {
        let rows = first_row..first_row.saturating_add(usize::try_from(stripe.rows).unwrap_or(usize::MAX));
        let in_range = request.range.as_ref().is_none_or(|range| range.contains(&stripe.offset));
        let bits = request.selection.as_ref().and_then(|selection| selection.slice(rows.clone()));
        if in_range && stripe.rows > 0 && bits.is_none_or(|bits| bits.count_set_bits() > 0) {
            wanted.push_back((rows.start, *stripe));
        }
        first_row = rows.end;
    }
    wanted
}

/// A stripe that is being decoded.
struct Decoding {
    /// The position in the file of the next row.
    next_row: usize,
    rows_left: u64,
    columns: Vec<Box<dyn Decode>>,
}

impl Scan {
    async fn new(request: ReadRequest) -> Result<Self> {
        let (tail, source) = read_tail(&request.file).await?;
        let waiting = wanted_stripes(&tail.stripes, &request);
        let waiting = prune::narrow(&tail, &source, waiting, &request.narrowing).await;
        let mut scan = Self::of(tail, source, waiting, &request.fields, request.batch_size)?;
        scan.selection = request.selection;
        scan.legacy_ltz = request.orc_legacy_ltz;
        scan.reads_ahead = true;
        Ok(scan)
    }

    fn of(
        tail: Arc<Tail>,
        source: Source,
        waiting: VecDeque<(usize, StripeInformation)>,
        fields: &[DataField],
        batch_size: usize,
    ) -> Result<Self> {
        let nodes = project(fields, &tail.types)?;
        let mut columns = HashSet::new();
        nodes.iter().for_each(|node| node.collect_columns(&mut columns));
        Ok(Self {
            waiting,
            selection: None,
            fetch: Arc::new(Fetch { source, tail, columns }),
            ahead: JoinSet::new(),
            reads_ahead: false,
            current: None,
            names: fields.iter().map(|field| field.name.clone()).collect(),
            nodes,
            schema: arrow_schema(fields),
            batch_size: batch_size.max(1),
            legacy_ltz: false,
        })
    }

    async fn next_batch(&mut self) -> Result<Option<RecordBatch>> {
        loop {
            if let Some(current) = self.current.as_mut().filter(|current| current.rows_left > 0) {
                let first_row = current.next_row;
                let batch = current.next_batch(&self.schema, self.batch_size)?;
                let rows = first_row..current.next_row;
                let wanted = self.selection.as_ref().and_then(|selection| selection.slice(rows));
                return Ok(Some(match wanted {
                    Some(wanted) => filter_record_batch(&batch, &BooleanArray::new(wanted, None))?,
                    None => batch,
                }));
            }
            self.current = None;
            let Some((first_row, stripe)) = self.next_stripe().await? else { return Ok(None) };
            self.current = Some(self.decoding(first_row, stripe)?);
        }
    }

    /// The next stripe; asks for the one after it.
    async fn next_stripe(&mut self) -> Result<Option<(usize, Stripe)>> {
        let stripe = match self.ahead.join_next().await {
            Some(joined) => joined.map_err(|e| Error::internal("a stripe's fetch was stopped").caused_by(e))??,
            None => match self.waiting.pop_front() {
                Some((first_row, stripe)) => (first_row, self.fetch.stripe(stripe).await?),
                None => return Ok(None),
            },
        };
        if self.reads_ahead
            && !self.fetch.columns.is_empty()
            && let Ok(runtime) = tokio::runtime::Handle::try_current()
            && let Some((first_row, next)) = self.waiting.pop_front()
        {
            let fetch = Arc::clone(&self.fetch);
            self.ahead.spawn_on(async move { Ok((first_row, fetch.stripe(next).await?)) }, &runtime);
        }
        Ok(Some(stripe))
    }

    fn decoding(&self, next_row: usize, mut stripe: Stripe) -> Result<Decoding> {
        let mut columns = Vec::with_capacity(self.nodes.len());
        for (node, name) in self.nodes.iter().zip(&self.names) {
            columns.push(decoder(node, &mut stripe, self.legacy_ltz).map_err(|e| in_column(e, name))?);
        }
        Ok(Decoding { next_row, rows_left: stripe.rows, columns })
    }
}

impl Fetch {
    async fn stripe(&self, information: StripeInformation) -> Result<Stripe> {
        if self.columns.is_empty() {
            return Ok(Stripe::of_rows(information.rows, &self.tail));
        }
        Stripe::load(&self.source, &self.tail, information, &self.columns).await
    }
}

impl Decoding {
    fn next_batch(&mut self, schema: &SchemaRef, batch_size: usize) -> Result<RecordBatch> {
        let rows = usize::try_from(self.rows_left).unwrap_or(batch_size).min(batch_size);
        let mut arrays = Vec::with_capacity(self.columns.len());
        for (column, field) in self.columns.iter_mut().zip(schema.fields()) {
            let array = column.next(rows, None).map_err(|e| in_column(e, field.name()))?;
            if !field.is_nullable() && array.null_count() > 0 {
                return Err(in_column(Error::corrupt("NULL in a NOT NULL column"), field.name()));
            }
            arrays.push(array);
        }
        self.rows_left = self.rows_left.saturating_sub(rows as u64);
        self.next_row = self.next_row.saturating_add(rows);
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        Ok(RecordBatch::try_new_with_options(Arc::clone(schema), arrays, &options)?)
    }
}

/// Names the column that an error concerns.
fn in_column(error: Error, name: &str) -> Error {
    Error::new(error.kind(), format!("column '{name}'")).caused_by(error)
}
