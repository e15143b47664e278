//! Parts of row groups: so that one large row group is work for several readers, and is not fetched all at once.
//!
//! In: row groups, and the page index of the file. Out: the same rows as pieces of row groups, each fetched by itself. With
//! the page index the decoder asks for the pages of a piece only; pieces begin where a page of the largest column
//! begins, so that few pages are fetched twice. Without it nothing is cut.
//!
//! ```text
//! row group      |--------------------------------------------------------|
//! of a range              |===== rows in proportion to its bytes =====|
//! pieces                  |---------|---------|---------|-------------|
//! with a limit            |-|-------------------------------------------|
//! ```

use std::ops::Range;
use std::sync::Arc;

use arrow::array::BooleanBufferBuilder;
use arrow::buffer::BooleanBuffer;
use parquet::file::metadata::{ColumnChunkMetaData, RowGroupMetaData};

use super::access::{Group, first_byte};
use super::footer::{Footer, Source};
use super::page_index;
use crate::file::FooterCache;

/// A row group that is not larger is read by whoever has its first byte. Small in tests, so that small files have pieces.
const SHARED_BYTES: u64 = if cfg!(test) { 1 << 10 } else { 24 << 20 };

/// About how many bytes a piece has.
const PIECE_BYTES: u64 = if cfg!(test) { 512 } else { 12 << 20 };

/// The least bytes that a limit must spare for the index to be worth a request.
const SPARED_BYTES: u64 = if cfg!(test) { 256 } else { 1 << 20 };

/// The rows of a row group that belong to a range of the file: all or none of a small one, of a large one whose pages can
/// be found so many as the range has of its bytes.
pub(super) fn rows_in_range(group: &RowGroupMetaData, rows: usize, range: &Range<u64>) -> Range<usize> {
    let start = first_byte(group);
    let bytes =
        group.columns().iter().map(|c| u64::try_from(c.compressed_size()).unwrap_or(0)).fold(0, u64::saturating_add);
    let indexed = |chunk: &ColumnChunkMetaData| chunk.offset_index_offset().is_some();
    if bytes < SHARED_BYTES || !group.columns().iter().all(indexed) {
        return if range.contains(&start) { 0..rows } else { 0..0 };
    }
    let row_at = |byte: u64| {
        let inside = u128::from(byte.saturating_sub(start).min(bytes));
        usize::try_from(inside * rows as u128 / u128::from(bytes)).unwrap_or(rows)
    };
    row_at(range.start)..row_at(range.end)
}

/// A bit for each of `rows` rows, set for those in `wanted`.
pub(super) fn bits(rows: usize, wanted: &Range<usize>) -> BooleanBuffer {
    let (start, end) = (wanted.start.min(rows), wanted.end.min(rows));
    let mut bits = BooleanBufferBuilder::new(rows);
    bits.append_n(start, false);
    bits.append_n(end.saturating_sub(start), true);
    bits.append_n(rows - end.max(start), false);
    bits.finish()
}

/// The footer, with the page index where it is of use for cutting, and can be had.
pub(super) async fn with_index(
    source: &Source,
    footer: Arc<Footer>,
    cache: Option<&FooterCache>,
    groups: &[Group],
    leaves: &[usize],
    limit: Option<usize>,
) -> Arc<Footer> {
    let partial = |group: &Group| group.selection.is_some() && chunk_bytes(&footer, group, leaves) >= PIECE_BYTES;
    let large = |group: &Group| chunk_bytes(&footer, group, leaves) >= 2 * PIECE_BYTES;
    let spares = |group: &Group| {
        let (wanted, limit) = (group.wanted_rows() as u64, limit.map_or(u64::MAX, |limit| limit as u64));
        wanted > limit && chunk_bytes(&footer, group, leaves) >= SPARED_BYTES
    };
    let first = groups.first().is_some_and(spares);
    if !first && !groups.iter().any(|group| partial(group) || large(group)) {
        return footer;
    }
    // An index that cannot be had is done without.
    match page_index::load(source, &footer, cache).await {
        Ok(Some(indexed)) => indexed,
        _ => footer,
    }
}

/// The same rows in pieces.
pub(super) fn cut(footer: &Footer, groups: Vec<Group>, leaves: &[usize], limit: Option<usize>) -> Vec<Group> {
    if footer.metadata.offset_index().is_none() {
        return groups;
    }
    let mut pieces = vec![];
    for group in groups {
        let first = if pieces.is_empty() { limit } else { None };
        let ends = ends(footer, &group, leaves, first);
        let mut start = 0;
        for end in ends.into_iter().chain([group.rows]) {
            if start == 0 && end == group.rows {
                pieces.push(group.clone());
            } else {
                pieces.extend(group.clone().narrowed(&bits(group.rows, &(start..end))));
            }
            start = end;
        }
    }
    pieces
}

/// Where the pieces of a row group end, but for the last.
fn ends(footer: &Footer, group: &Group, leaves: &[usize], limit: Option<usize>) -> Vec<usize> {
    let bytes = chunk_bytes(footer, group, leaves);
    let share = group.wanted_rows() as u64;
    let wanted = u128::from(bytes) * u128::from(share) / (group.rows as u128).max(1);
    let pieces = wanted / u128::from(PIECE_BYTES);
    let first = limit.filter(|_| bytes >= SPARED_BYTES).and_then(|limit| row_of_rank(group, limit));
    let largest = leaves.iter().copied().max_by_key(|leaf| leaf_bytes(footer, group, *leaf));
    let Some(pages) = largest.and_then(|leaf| page_index::offset_rows(footer, group, leaf)) else { return vec![] };
    let mut ends: Vec<usize> = first.into_iter().collect();
    if pieces >= 2 {
        let each = group.rows.div_ceil(usize::try_from(bytes / PIECE_BYTES).unwrap_or(1).max(1));
        let (mut row, mut next) = (0, each);
        for page in pages {
            row += page;
            if row >= next && row < group.rows {
                ends.push(row);
                next = row + each;
            }
        }
    }
    ends.sort_unstable();
    ends.dedup();
    ends
}

/// The row behind the `rank`th wanted one; `None` where it is the last.
fn row_of_rank(group: &Group, rank: usize) -> Option<usize> {
    let row = match &group.selection {
        Some(selection) => selection.set_indices().nth(rank.checked_sub(1)?)? + 1,
        None => rank,
    };
    (row > 0 && row < group.rows).then_some(row)
}

fn chunk_bytes(footer: &Footer, group: &Group, leaves: &[usize]) -> u64 {
    leaves.iter().map(|leaf| leaf_bytes(footer, group, *leaf)).fold(0, u64::saturating_add)
}

fn leaf_bytes(footer: &Footer, group: &Group, leaf: usize) -> u64 {
    let chunk = footer.metadata.row_groups().get(group.position).and_then(|group| group.columns().get(leaf));
    chunk.map_or(0, |chunk| u64::try_from(chunk.compressed_size()).unwrap_or(0))
}
