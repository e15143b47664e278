//! Bloom filters of row groups.
//!
//! In: the columns that a predicate compares with literals, and row groups. Out: for each row group the filters that the
//! file has, fetched together. Floating point columns are left out: values that are equal may have other bytes. So are
//! booleans: parquet-mr writes a filter for them, but puts no value into it.

use std::ops::Range;

use datafusion::datasource::physical_plan::parquet::BloomFilterStatistics;
use parquet::basic::Type;
use parquet::bloom_filter::Sbbf;

use super::footer::{Footer, Source};
use super::statistics::{PlainColumn, PlainColumns};
use super::thrift;
use crate::error::{Error, Result};
use crate::file::guard::guarded;

/// How much is read of a filter whose length the footer does not say: its header.
const HEADER_BYTES: u64 = 64;

/// A filter that is to be loaded.
struct Wanted<'a> {
    /// Its place among the row groups that were asked for.
    group: usize,
    name: &'a str,
    column: &'a PlainColumn,
    offset: u64,
    length: Option<u64>,
}

/// The filters of the named columns in each of the row groups; `None` where the file has none.
pub(super) async fn load(
    source: &Source,
    footer: &Footer,
    columns: &PlainColumns,
    names: &[String],
    groups: &[usize],
) -> Result<Option<Vec<BloomFilterStatistics>>> {
    let wanted = wanted(footer, columns, names, groups);
    if wanted.is_empty() {
        return Ok(None);
    }
    let ranges = ranges(source, footer, &wanted).await?;
    let bytes = source.read_ranges(&ranges).await?;
    let mut filters = vec![BloomFilterStatistics::new(); groups.len()];
    for (wanted, bytes) in wanted.iter().zip(bytes) {
        let broken = "a Bloom filter of the Parquet file cannot be decoded";
        let filter = guarded(broken, || Sbbf::from_bytes(&bytes).map_err(|e| Error::corrupt(broken).caused_by(e)))?;
        if let (Some(filters), true) = (filters.get_mut(wanted.group), filter.num_blocks() > 0) {
            filters.insert(wanted.name, filter, wanted.column.physical, wanted.column.type_length);
        }
    }
    Ok(Some(filters))
}

fn wanted<'a>(footer: &Footer, columns: &'a PlainColumns, names: &'a [String], groups: &[usize]) -> Vec<Wanted<'a>> {
    let mut wanted = vec![];
    for (group, position) in groups.iter().enumerate() {
        let chunks = footer.metadata.row_groups().get(*position).map(|g| g.columns()).unwrap_or_default();
        for name in names {
            let filtered = |column: &&PlainColumn| column.is_exact() && column.physical != Type::BOOLEAN;
            let Some(column) = columns.get(name).filter(filtered) else { continue };
            let Some(chunk) = chunks.get(column.leaf) else { continue };
            let Some(offset) = chunk.bloom_filter_offset().and_then(|offset| u64::try_from(offset).ok()) else {
                continue;
            };
            let length = chunk.bloom_filter_length().and_then(|length| u64::try_from(length).ok());
            wanted.push(Wanted { group, name, column, offset, length });
        }
    }
    wanted
}

/// Where the filters lie; headers are read first where lengths are not in the footer.
async fn ranges(source: &Source, footer: &Footer, wanted: &[Wanted<'_>]) -> Result<Vec<Range<u64>>> {
    let header =
        |w: &&Wanted<'_>| within(footer, w.offset, HEADER_BYTES.min(footer.size_bytes.saturating_sub(w.offset)));
    let unknown = wanted.iter().filter(|w| w.length.is_none());
    let headers = unknown.map(|w| header(&w)).collect::<Result<Vec<_>>>()?;
    let headers = if headers.is_empty() { vec![] } else { source.read_ranges(&headers).await? };
    let mut headers = headers.iter();
    let range = |w: &Wanted<'_>| {
        let length = match (w.length, w.length.is_none().then(|| headers.next()).flatten()) {
            (Some(length), _) => length,
            (None, Some(header)) => thrift::bloom_filter_bytes(header)?,
            (None, None) => return Err(Error::internal("the header of a Bloom filter was not read")),
        };
        within(footer, w.offset, length)
    };
    wanted.iter().map(range).collect()
}

/// A range that must lie inside the file.
fn within(footer: &Footer, offset: u64, length: u64) -> Result<Range<u64>> {
    let end = offset.checked_add(length).filter(|end| *end <= footer.size_bytes);
    end.map(|end| offset..end).ok_or_else(|| Error::corrupt("a Bloom filter lies outside the Parquet file"))
}
