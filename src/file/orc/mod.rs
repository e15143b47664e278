//! ORC files.
//!
//! In: a [`ReadRequest`]. Out: its batches. The tail of the file is read and checked (`tail`), the wanted columns are
//! found in it by name (`projection`); then, stripe by stripe, the wanted streams are fetched (`fetch`), of the row groups
//! that the stripe's index (`row_index`) leaves, and decoded (`decode`), while the streams of the next stripes are on
//! their way, as far as the file's lane reads ahead.
//!
//! ```text
//! open ──► tail ──► projection ──► parts ──► of each: fetch ──► decode ──► RecordBatch
//!                                                     fetch of the next one ┘ meanwhile
//! ```
//!
//! Foreign bytes never panic: every length is compared with what is there, arithmetic is checked, types are a tree.

mod at_hand;
mod byte_rle;
mod bytes;
mod codec;
mod decode;
mod fetch;
mod int_rle;
#[cfg(test)]
mod java_tests;
pub(super) mod metadata;
mod nested;
mod parts;
mod projection;
mod protobuf;
mod prune;
mod row_index;
#[cfg(test)]
mod row_index_tests;
mod statistics;
mod stripe;
mod stripe_index;
mod tail;
#[cfg(test)]
mod tests;
mod timestamp;
mod zone;

use std::collections::{HashSet, VecDeque};
use std::ops::Range;
use std::sync::Arc;

use arrow::array::{BooleanArray, RecordBatch, RecordBatchOptions};
use arrow::compute::filter_record_batch;
use arrow::datatypes::SchemaRef;
use futures::StreamExt;
use futures::stream::try_unfold;

use self::decode::{Decode, decoder};
use self::fetch::Fetch;
use self::parts::{Part, parts};
use self::projection::{Node, project};
use self::stripe::Stripe;
use self::tail::{Source, Tail, read_tail};
use super::prefetch::{FileLane, Held, Pending};
use super::{BatchStream, Narrowing, ReadRequest};
use crate::error::{Error, Result};
use crate::spec::arrow_type::arrow_schema;
use crate::spec::data_type::DataField;
use crate::storage::InputFile;

pub use self::tail::StripeInformation;

/// So many rows at a time are decoded where they are not wanted.
const SKIPPED_ROWS: usize = 8192;

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
    let (tail, _) = read_tail(file, None).await.map_err(|e| e.in_file(file.path()))?;
    Ok(tail.stripes.clone())
}

/// A file that is being read.
struct Scan {
    fetch: Arc<Fetch>,
    /// The parts of stripes that are not asked for yet.
    waiting: VecDeque<Part>,
    /// Those that are on their way.
    ahead: VecDeque<Ahead>,
    /// Through which they are sent for; `None` where the file is in memory.
    lane: Option<FileLane>,
    /// After so many rows no more are wanted, most likely.
    rows_wanted: u64,
    /// Of which part the last ones came, and what of the budget their bytes hold.
    fetched_of: Option<(Part, Option<Held>)>,
    /// What of it is not decoded yet.
    fetched: VecDeque<Stripe>,
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

/// A part of a stripe that is on its way.
struct Ahead {
    part: Part,
    /// How many of its rows are wanted.
    rows: u64,
    pending: Pending<Vec<Stripe>>,
}

/// Rows of a stripe that are being decoded.
struct Decoding {
    /// Those that are still to come, from the stripe's first one on.
    rows: Range<u64>,
    by_index: bool,
    columns: Vec<Box<dyn Decode>>,
}

impl Scan {
    async fn new(request: ReadRequest) -> Result<Self> {
        let cache = request.footers.as_deref();
        let (tail, source) = read_tail(&request.file, cache).await?;
        let stripes = wanted_stripes(&tail.stripes, &request);
        let stripes = prune::narrow((&tail, &source), stripes, &request.narrowing, cache).await;
        let group_rows = tail.row_group_rows;
        let mut scan = Self::of(tail, source, &request.fields, request.batch_size, |fetch| {
            (fetch.selection, fetch.narrowing) = (request.selection, request.narrowing);
        })?;
        let fetch = &scan.fetch;
        scan.waiting = parts(stripes, group_rows, request.limit, fetch.selection.as_ref(), |part| fetch.is_large(part));
        scan.legacy_ltz = request.orc_legacy_ltz;
        scan.rows_wanted = request.limit.map_or(u64::MAX, |rows| rows as u64);
        let mut lane = request.lane.file(&request.file);
        let bytes: u64 = scan.waiting.iter().map(|part| scan.fetch.bytes(part)).sum();
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

    /// A scan of these columns, of which no part is wanted yet.
    fn of(
        tail: Arc<Tail>,
        source: Source,
        fields: &[DataField],
        batch_size: usize,
        narrow: impl FnOnce(&mut Fetch),
    ) -> Result<Self> {
        let nodes = project(fields, &tail.types)?;
        let mut columns = HashSet::new();
        nodes.iter().for_each(|node| node.collect_columns(&mut columns));
        let mut fetch = Fetch { source, tail, columns, selection: None, narrowing: Narrowing::default() };
        narrow(&mut fetch);
        Ok(Self {
            waiting: VecDeque::new(),
            fetch: Arc::new(fetch),
            ahead: VecDeque::new(),
            lane: None,
            rows_wanted: u64::MAX,
            fetched_of: None,
            fetched: VecDeque::new(),
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
            if let Some(current) = self.current.as_mut().filter(|current| !current.rows.is_empty()) {
                let rows = current.rows.clone();
                match current.next_batch(&self.schema, self.batch_size) {
                    Ok(batch) => return self.selected(batch, rows.start).map(Some),
                    Err(_) if current.by_index => self.again(rows).await?,
                    Err(e) => return Err(e),
                }
                continue;
            }
            self.current = None;
            match self.fetched.pop_front() {
                Some(stripe) => self.begin(stripe).await?,
                None if self.next_part().await? => {}
                None => return Ok(None),
            }
        }
    }

    /// The wanted rows of a batch that begins with a row of the stripe.
    fn selected(&self, batch: RecordBatch, first_row: u64) -> Result<RecordBatch> {
        let rows = first_row..first_row.saturating_add(batch.num_rows() as u64);
        let selection = self.fetch.selection.as_ref().zip(self.fetched_of.as_ref());
        match selection.and_then(|(selection, (part, _))| selection.slice(part.positions(&rows))) {
            Some(wanted) => Ok(filter_record_batch(&batch, &BooleanArray::new(wanted, None))?),
            None => Ok(batch),
        }
    }

    /// Begins to decode rows of a stripe.
    async fn begin(&mut self, stripe: Stripe) -> Result<()> {
        let (rows, by_index) = (stripe.rows.clone(), stripe.by_index);
        match self.decoding(stripe) {
            Ok(decoding) => self.current = Some(decoding),
            Err(_) if by_index => self.again(rows).await?,
            Err(e) => return Err(e),
        }
        Ok(())
    }

    /// Decodes rows that could not be decoded by the index of their stripe, without it.
    async fn again(&mut self, rows: Range<u64>) -> Result<()> {
        let Some((part, _)) = &self.fetched_of else { return Err(Error::internal("rows of no stripe are decoded")) };
        self.fetch.narrowing.metrics.errors.add(1);
        let stripe = self.fetch.without_index(&part.stripe, rows).await?;
        self.current = Some(self.decoding(stripe)?);
        Ok(())
    }

    /// Waits for the next part of a stripe, and asks for those after it; false at the end.
    async fn next_part(&mut self) -> Result<bool> {
        self.fetched_of = None;
        if self.ahead.is_empty() && !self.send_next() {
            let Some(part) = self.waiting.pop_front() else { return Ok(false) };
            self.fetched = self.fetch.part(&part).await?.into();
            self.fetched_of = Some((part, None));
            return Ok(true);
        }
        let Some(Ahead { part, rows, pending }) = self.ahead.pop_front() else { return Ok(false) };
        let (stripes, mut held) = pending.take().await?;
        held.shrink_to(stripes.iter().map(Stripe::fetched_bytes).sum());
        self.fetched = stripes.into();
        self.rows_wanted = self.rows_wanted.saturating_sub(rows);
        self.fetched_of = Some((part, Some(held)));
        self.send_ahead();
        Ok(true)
    }

    /// Sends for the next parts, as far as the lane reads ahead and rows are wanted.
    fn send_ahead(&mut self) {
        let more = |scan: &Self| {
            let bytes = scan.ahead.iter().map(|ahead| ahead.pending.bytes()).sum();
            let rows = scan.ahead.iter().map(|ahead| ahead.rows).fold(0, u64::saturating_add);
            let lane = scan.lane.as_ref();
            rows < scan.rows_wanted && lane.is_some_and(|lane| lane.wants_more(scan.ahead.len(), bytes))
        };
        while more(self) && self.send_next() {}
    }

    /// Sends for the next part; false where there is none, or nothing of it to fetch.
    fn send_next(&mut self) -> bool {
        let (Some(lane), false) = (&mut self.lane, self.fetch.columns.is_empty()) else { return false };
        let Some(part) = self.waiting.pop_front() else { return false };
        let (bytes, fetch, to_fetch) = (self.fetch.bytes(&part), Arc::clone(&self.fetch), Arc::new(part.clone()));
        let pending = lane.send(bytes, bytes, move || {
            let (fetch, part) = (Arc::clone(&fetch), Arc::clone(&to_fetch));
            async move { fetch.part(&part).await }
        });
        let rows = part.wanted_rows(self.fetch.selection.as_ref());
        self.ahead.push_back(Ahead { part, rows, pending });
        true
    }

    fn decoding(&self, mut stripe: Stripe) -> Result<Decoding> {
        let mut columns = Vec::with_capacity(self.nodes.len());
        for (node, name) in self.nodes.iter().zip(&self.names) {
            let mut column = decoder(node, &mut stripe, self.legacy_ltz).map_err(|e| in_column(e, name))?;
            let mut before = stripe.rows.start.saturating_sub(stripe.first_row);
            while before > 0 {
                let rows = usize::try_from(before).unwrap_or(usize::MAX).min(SKIPPED_ROWS);
                column.next(rows, None).map_err(|e| in_column(e, name))?;
                before -= rows as u64;
            }
            columns.push(column);
        }
        Ok(Decoding { rows: stripe.rows, by_index: stripe.by_index, columns })
    }
}

impl Decoding {
    fn next_batch(&mut self, schema: &SchemaRef, batch_size: usize) -> Result<RecordBatch> {
        let left = self.rows.end.saturating_sub(self.rows.start);
        let rows = usize::try_from(left).unwrap_or(batch_size).min(batch_size);
        let mut arrays = Vec::with_capacity(self.columns.len());
        for (column, field) in self.columns.iter_mut().zip(schema.fields()) {
            let array = column.next(rows, None).map_err(|e| in_column(e, field.name()))?;
            if !field.is_nullable() && array.null_count() > 0 {
                return Err(in_column(Error::corrupt("NULL in a NOT NULL column"), field.name()));
            }
            arrays.push(array);
        }
        self.rows.start = self.rows.start.saturating_add(rows as u64);
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        Ok(RecordBatch::try_new_with_options(Arc::clone(schema), arrays, &options)?)
    }
}

/// Names the column that an error concerns.
fn in_column(error: Error, name: &str) -> Error {
    Error::new(error.kind(), format!("column '{name}'")).caused_by(error)
}
