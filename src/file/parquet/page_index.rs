//! The page index: which pages of a column may hold a row that fulfils a predicate.
//!
//! In: a footer and predicates on one column each. Out: the footer with its index, and row groups narrowed to the rows
//! of pages that may match. Pages of two columns do not begin at the same rows:
//!
//! ```text
//! rows      0                   100                  200                  300
//! a > 7     |------ pruned ------|------- kept -------|------- kept -------|
//! b = 'x'   |-- kept --|---- pruned ----|------------- kept ---------------|
//! read                                  |=============|====================|
//! ```
//! An index that contradicts itself is not used: neither to pass over rows, nor by the decoder to find pages.

use std::ops::Range;
use std::sync::Arc;

use arrow::array::BooleanBufferBuilder;
use arrow::buffer::BooleanBuffer;
use bytes::Bytes;
use datafusion::common::pruning::PruningStatistics;
use datafusion::physical_optimizer::pruning::PruningPredicate;
use parquet::DecodeResult;
use parquet::file::metadata::{ColumnChunkMetaData, PageIndexPolicy, ParquetMetaData, ParquetMetaDataPushDecoder};
use parquet::file::page_index::column_index::ColumnIndexMetaData;

use super::access::Group;
use super::footer::{Footer, Source};
use super::statistics::{PageStatistics, PlainColumn};
use super::thrift;
use crate::error::{Error, Result};
use crate::file::FooterCache;
use crate::file::guard::guarded;

/// A condition on one column.
pub(super) struct ColumnPredicate {
    /// The column.
    pub column: PlainColumn,
    /// The condition.
    pub predicate: Arc<PruningPredicate>,
}

/// Whether any row group has an index of a column.
pub(super) fn has_index(footer: &Footer, leaf: usize) -> bool {
    let indexed = |chunk: &ColumnChunkMetaData| chunk.column_index_offset().is_some();
    footer.metadata.row_groups().iter().any(|group| group.columns().get(leaf).is_some_and(indexed))
}

/// The footer with its index, which is kept in the cache; `None` where the file has none.
pub(super) async fn load(
    source: &Source,
    footer: &Arc<Footer>,
    cache: Option<&FooterCache>,
) -> Result<Option<Arc<Footer>>> {
    if footer.metadata.column_index().is_some() {
        return Ok(Some(Arc::clone(footer)));
    }
    let Some(range) = index_range(&footer.metadata) else { return Ok(None) };
    if range.end > footer.size_bytes || range.start >= range.end {
        return Err(broken("it lies outside the file"));
    }
    let bytes = source.read_ranges(std::slice::from_ref(&range)).await?.pop();
    let bytes = bytes.ok_or_else(|| broken("it was not read"))?;
    let metadata = decode(footer, range, bytes)?;
    let (fields, int96) = (footer.fields.clone(), footer.int96.clone());
    let footer = Arc::new(Footer { metadata: Arc::new(metadata), fields, int96, size_bytes: footer.size_bytes });
    if let Some(cache) = cache {
        cache.put(source.file(), footer.size_bytes, Arc::clone(&footer) as _);
    }
    Ok(Some(footer))
}

/// Where the indexes of all columns lie.
fn index_range(metadata: &ParquetMetaData) -> Option<Range<u64>> {
    let chunks = metadata.row_groups().iter().flat_map(|group| group.columns());
    let both = |chunk: &ColumnChunkMetaData| index_ranges(chunk).into_iter().flatten();
    chunks.flat_map(both).reduce(|a, b| a.start.min(b.start)..a.end.max(b.end))
}

/// Where the column index and the offset index of a chunk lie.
fn index_ranges(chunk: &ColumnChunkMetaData) -> [Option<Range<u64>>; 2] {
    let range = |offset: Option<i64>, length: Option<i32>| {
        let start = u64::try_from(offset?).ok()?;
        Some(start..start.checked_add(u64::try_from(length?).ok()?)?)
    };
    [
        range(chunk.column_index_offset(), chunk.column_index_length()),
        range(chunk.offset_index_offset(), chunk.offset_index_length()),
    ]
}

fn decode(footer: &Footer, range: Range<u64>, bytes: Bytes) -> Result<ParquetMetaData> {
    for chunk in footer.metadata.row_groups().iter().flat_map(|group| group.columns()) {
        for part in index_ranges(chunk).into_iter().flatten() {
            let (start, end) = (part.start.checked_sub(range.start), part.end.checked_sub(range.start));
            let offset = |at: Option<u64>| at.and_then(|at| usize::try_from(at).ok()).unwrap_or(usize::MAX);
            let part = bytes.get(offset(start)..offset(end)).ok_or_else(|| broken("a part is missing"))?;
            thrift::check_structure(part)?;
        }
    }
    guarded(UNDECODABLE, || {
        let failed = |e| Error::corrupt(UNDECODABLE).caused_by(e);
        let metadata = ParquetMetaData::clone(&footer.metadata);
        let decoder = ParquetMetaDataPushDecoder::try_new_with_metadata(footer.size_bytes, metadata).map_err(failed)?;
        let mut decoder = decoder.with_page_index_policy(PageIndexPolicy::Optional);
        decoder.push_range(range, bytes).map_err(failed)?;
        match decoder.try_decode().map_err(failed)? {
            DecodeResult::Data(metadata) => Ok(metadata),
            _ => Err(broken("a part is missing")),
        }
    })
}

/// What is left of a row group; `ask` says which pages may match.
pub(super) fn narrow(
    footer: &Footer,
    group: Group,
    predicates: &[ColumnPredicate],
    ask: impl Fn(&PruningPredicate, &dyn PruningStatistics) -> Option<Vec<bool>>,
) -> Option<Group> {
    let mut group = group;
    for ColumnPredicate { column, predicate } in predicates {
        let Some(rows) = page_rows(footer, &group, column.leaf) else { continue };
        let statistics = PageStatistics { footer, column, group: group.position, rows: &rows };
        let Some(kept) = ask(predicate, &statistics).filter(|kept| kept.contains(&false)) else { continue };
        group = group.narrowed(&bits(&rows, &kept))?;
    }
    Some(group)
}

/// A bit for each row: whether its page is kept.
fn bits(rows: &[usize], kept: &[bool]) -> BooleanBuffer {
    let mut bits = BooleanBufferBuilder::new(rows.iter().sum());
    rows.iter().zip(kept).for_each(|(rows, kept)| bits.append_n(*rows, *kept));
    bits.finish()
}

/// How many rows each page of a column has, where the column index speaks of just these pages.
pub(super) fn page_rows(footer: &Footer, group: &Group, leaf: usize) -> Option<Vec<usize>> {
    let column_index = footer.metadata.column_index()?.get(group.position)?.get(leaf)?;
    let pages = match column_index {
        ColumnIndexMetaData::NONE => return None,
        index => index.num_pages(),
    };
    offset_rows(footer, group, leaf).filter(|rows| rows.len() as u64 == pages)
}

/// How many rows each page of a column has; `None` where the file does not say, or contradicts itself.
pub(super) fn offset_rows(footer: &Footer, group: &Group, leaf: usize) -> Option<Vec<usize>> {
    let pages = footer.metadata.offset_index()?.get(group.position)?.get(leaf)?.page_locations();
    let chunk = footer.metadata.row_groups().get(group.position)?.columns().get(leaf)?;
    let bytes = chunk_bytes(chunk)?;
    let (mut starts, mut free_from) = (vec![], bytes.start);
    for page in pages {
        let start = u64::try_from(page.offset).ok().filter(|start| *start >= free_from)?;
        free_from = start.checked_add(u64::try_from(page.compressed_page_size).ok()?)?;
        starts.push(usize::try_from(page.first_row_index).ok()?);
    }
    if starts.first() != Some(&0) || free_from > bytes.end {
        return None;
    }
    let ends = starts.iter().skip(1).chain([&group.rows]);
    starts.iter().zip(ends).map(|(start, end)| end.checked_sub(*start).filter(|rows| *rows > 0)).collect()
}

fn chunk_bytes(chunk: &ColumnChunkMetaData) -> Option<Range<u64>> {
    let start = chunk.dictionary_page_offset().unwrap_or_else(|| chunk.data_page_offset());
    let end = start.checked_add(chunk.compressed_size())?;
    Some(u64::try_from(start).ok()?..u64::try_from(end).ok()?)
}

/// The metadata for a decoder of `leaves` in `groups`: without an index that it could not find their pages by, or by which
/// it would pass over none; asking it costs time for each run of rows.
pub(super) fn for_decoder(footer: &Footer, groups: &[Group], leaves: &[usize]) -> Arc<ParquetMetaData> {
    if footer.metadata.offset_index().is_none() {
        return Arc::clone(&footer.metadata);
    }
    let mut spares = false;
    let mut sound = |group: &Group| {
        let pages = leaves.iter().map(|leaf| offset_rows(footer, group, *leaf)).collect::<Option<Vec<_>>>();
        spares |= pages.iter().flatten().any(|pages| passes_over(group, pages));
        pages.is_some()
    };
    if groups.iter().all(&mut sound) && spares {
        return Arc::clone(&footer.metadata);
    }
    let without = ParquetMetaData::clone(&footer.metadata).into_builder();
    Arc::new(without.set_column_index(None).set_offset_index(None).build())
}

/// Whether a page, given by how many rows each has, holds no wanted row.
fn passes_over(group: &Group, pages: &[usize]) -> bool {
    let Some(selection) = &group.selection else { return false };
    let mut start = 0usize;
    pages.iter().any(|rows| {
        let begin = start.min(selection.len());
        start = start.saturating_add(*rows);
        let length = start.min(selection.len()) - begin;
        selection.slice(begin, length).count_set_bits() == 0
    })
}

const UNDECODABLE: &str = "the page index of the Parquet file cannot be decoded";

fn broken(why: &str) -> Error {
    Error::corrupt(format!("{UNDECODABLE}: {why}"))
}
