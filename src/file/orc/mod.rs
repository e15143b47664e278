//! ORC files.
//!
//! In: a [`ReadRequest`]. Out: its batches. The tail of the file is read and checked ([`tail`]), the wanted columns are
//! found in it by name ([`projection`]); then, stripe by stripe, the wanted streams are fetched ([`stripe`]) and decoded
//! ([`decode`]), while the streams of the next stripes are on their way, as far as the file's lane reads ahead.
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

use self::decode::{Decode, decoder};
use self::projection::{Node, project};
use self::stripe::Stripe;
use self::tail::{Source, Tail, read_tail};
use super::prefetch::{FileLane, Held, Pending};
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
    /// The stripes that are on their way.
    ahead: VecDeque<Ahead>,
    /// Through which they are sent for; `None` where the file is in memory.
    lane: Option<FileLane>,
    /// After so many rows no more are wanted, most likely.
    rows_wanted: u64,
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

/// A stripe that is on its way.
struct Ahead {
    first_row: usize,
    rows: u64,
    pending: Pending<Stripe>,
}

/// A stripe that is being decoded, and what of the budget its bytes hold.
struct Decoding {
    _held: Option<Held>,
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
        scan.rows_wanted = request.limit.map_or(u64::MAX, |rows| rows as u64);
        let mut lane = request.lane.file(&request.file);
        let bytes: u64 = scan.waiting.iter().map(|(_, stripe)| scan.fetch.bytes(stripe)).sum();
        if bytes < request.lane.settings().orc_threshold_bytes {
            lane.keep_to_next();
        }
        let is_warm = lane.is_warm();
        scan.lane = Some(lane);
        if is_warm {
            scan.send_ahead();
        }
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
            ahead: VecDeque::new(),
            lane: None,
            rows_wanted: u64::MAX,
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
            let Some((first_row, stripe, held)) = self.next_stripe().await? else { return Ok(None) };
            self.current = Some(self.decoding(first_row, stripe, held)?);
        }
    }

    /// The next stripe; asks for those after it.
    async fn next_stripe(&mut self) -> Result<Option<(usize, Stripe, Option<Held>)>> {
        if self.ahead.is_empty() && !self.send_next() {
            let Some((first_row, stripe)) = self.waiting.pop_front() else { return Ok(None) };
            return Ok(Some((first_row, self.fetch.stripe(stripe).await?, None)));
        }
        let Some(ahead) = self.ahead.pop_front() else { return Ok(None) };
        let (stripe, mut held) = ahead.pending.take().await?;
        held.shrink_to(stripe.fetched_bytes());
        self.rows_wanted = self.rows_wanted.saturating_sub(ahead.rows);
        self.send_ahead();
        Ok(Some((ahead.first_row, stripe, Some(held))))
    }

    /// Sends for the next stripes, as far as the lane reads ahead and rows are wanted.
    fn send_ahead(&mut self) {
        let more = |scan: &Self| {
            let bytes = scan.ahead.iter().map(|ahead| ahead.pending.bytes()).sum();
            let rows: u64 = scan.ahead.iter().map(|ahead| ahead.rows).sum();
            let lane = scan.lane.as_ref();
            rows < scan.rows_wanted && lane.is_some_and(|lane| lane.wants_more(scan.ahead.len(), bytes))
        };
        while more(self) && self.send_next() {}
    }

    /// Sends for the next stripe; false where there is none, or nothing of it to fetch.
    fn send_next(&mut self) -> bool {
        let (Some(lane), false) = (&mut self.lane, self.fetch.columns.is_empty()) else { return false };
        let Some((first_row, stripe)) = self.waiting.pop_front() else { return false };
        let (bytes, fetch) = (self.fetch.bytes(&stripe), Arc::clone(&self.fetch));
        let pending = lane.send(bytes, bytes, move || {
            let fetch = Arc::clone(&fetch);
            async move { fetch.stripe(stripe).await }
        });
        self.ahead.push_back(Ahead { first_row, rows: stripe.rows, pending });
        true
    }

    fn decoding(&self, next_row: usize, mut stripe: Stripe, held: Option<Held>) -> Result<Decoding> {
        let mut columns = Vec::with_capacity(self.nodes.len());
        for (node, name) in self.nodes.iter().zip(&self.names) {
            columns.push(decoder(node, &mut stripe, self.legacy_ltz).map_err(|e| in_column(e, name))?);
        }
        Ok(Decoding { _held: held, next_row, rows_left: stripe.rows, columns })
    }
}

impl Fetch {
    /// About how much is fetched of a stripe: columns are taken to be of one size.
    fn bytes(&self, stripe: &StripeInformation) -> u64 {
        let (wanted, all) = (self.columns.len() as u64, (self.tail.types.len() as u64).max(1));
        let data = u128::from(stripe.data_bytes) * u128::from(wanted.min(all)) / u128::from(all);
        u64::try_from(data).unwrap_or(u64::MAX).saturating_add(stripe.footer_bytes)
    }

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
