//! What entries of a manifest say of the columns of their files, packed: [`PackedStatistics`].
//!
//! In: columns of a batch of entries, or packed statistics of entries here and there. Out: the statistics of each, whole or
//! the parts that concern some columns ([`StatsParts`]), in memory that is there.

use std::ops::Range;

use super::columns::{Longs, StatsColumns};
use super::data_file::DataFileMeta;
use super::manifest_entry::DataFileColumns;
use super::packed::lists::{longs_in, pack_longs, unpack_longs};
use super::packed::{PackedBytes, PackedLongs};
use super::simple_stats::SimpleStats;
use super::stats_parts::StatsParts;
use crate::error::Result;

/// How many steps [`PackedStatistics::touch`] has.
pub const TOUCHES: usize = 3;

/// The statistics of files, and by what they are understood.
#[derive(Debug)]
pub struct PackedStatistics {
    row_count: PackedLongs,
    schema_id: PackedLongs,
    level: PackedLongs,
    value_stats: PackedStats,
}

impl PackedStatistics {
    /// Packs those of the records of a batch.
    pub(super) fn pack(rows: usize, of: &DataFileColumns<'_>) -> Result<Self> {
        let longs = |column: &Longs| pack_column(rows, column);
        Ok(Self {
            row_count: longs(&of.row_count),
            schema_id: longs(&of.schema_id),
            level: longs(&of.level),
            value_stats: PackedStats::pack(rows, &of.value_stats)?,
        })
    }

    /// Those of rows here and there, one behind the other; `None` where they would take more than can be packed.
    pub fn gathered(of: &[(&Self, usize)]) -> Option<Self> {
        let longs = |column: fn(&Self) -> &PackedLongs| {
            let values: Vec<_> = of.iter().map(|(all, row)| column(all).get(*row)).collect();
            PackedLongs::pack(values.len(), |row| values.get(row).copied().flatten())
        };
        let bytes = |column: fn(&PackedStats) -> &PackedBytes| {
            let values: Vec<_> = of.iter().map(|(all, row)| column(&all.value_stats).get(*row)).collect();
            let bytes = values.iter().flatten().map(Vec::len).fold(0, usize::saturating_add);
            u32::try_from(bytes).ok()?;
            Some(PackedBytes::pack(values.len(), |row| values.get(row).and_then(|value| value.as_deref())))
        };
        Some(Self {
            row_count: longs(|all| &all.row_count),
            schema_id: longs(|all| &all.schema_id),
            level: longs(|all| &all.level),
            value_stats: PackedStats {
                min_values: bytes(|stats| &stats.min_values)?,
                max_values: bytes(|stats| &stats.max_values)?,
                null_counts: bytes(|stats| &stats.null_counts)?,
            },
        })
    }

    /// How many rows the file has.
    pub fn row_count(&self, row: usize) -> i64 {
        self.row_count.get(row).unwrap_or(0)
    }

    /// The schema that the file was written with.
    pub fn schema_id(&self, row: usize) -> i64 {
        self.schema_id.get(row).unwrap_or(0)
    }

    /// The same, where it is one for all files.
    pub fn schema_of_all(&self) -> Option<i64> {
        self.schema_id.of_all()
    }

    /// The level of the file.
    pub fn level(&self, row: usize) -> i32 {
        self.level.int(row)
    }

    /// What is said of the columns of the file.
    pub(super) fn value_stats(&self, row: usize) -> SimpleStats {
        self.value_stats.get(row)
    }

    /// Fills in of a file what is kept here; of statistics of columns all, or the given parts.
    pub fn fill(&self, row: usize, parts: Option<&StatsParts>, file: &mut DataFileMeta) {
        file.row_count = self.row_count(row);
        file.schema_id = self.schema_id(row);
        file.level = self.level(row);
        self.value_stats.fill(row, parts, &mut file.value_stats);
    }

    /// Brings what [`Self::fill`] looks at into the processor's caches, one step of pointers further in each of the
    /// [`TOUCHES`]; a number without meaning. Done for several entries step by step, their loads overlap.
    #[inline]
    pub fn touch(&self, row: usize, step: usize) -> usize {
        let stats = &self.value_stats;
        let bytes = [&stats.min_values, &stats.max_values, &stats.null_counts];
        match step {
            0 => self.row_count.touch(row) + self.schema_id.touch(row) + self.level.touch(row),
            1 => bytes.map(PackedBytes::touch_layout).iter().sum(),
            _ => bytes.map(|bytes| bytes.touch_value(row)).iter().sum(),
        }
    }

    /// The memory it holds.
    pub fn heap_bytes(&self) -> usize {
        let longs = [&self.row_count, &self.schema_id, &self.level];
        longs.iter().map(|c| c.heap_bytes()).sum::<usize>() + self.value_stats.heap_bytes()
    }
}

/// The first values of a column of numbers.
pub(super) fn pack_column(rows: usize, column: &Longs) -> PackedLongs {
    match column.values().and_then(|values| values.get(..rows)) {
        Some(values) => PackedLongs::of(values),
        None => PackedLongs::pack(rows, |row| column.get(row)),
    }
}

/// Bounds and NULL counts.
#[derive(Debug)]
pub(super) struct PackedStats {
    min_values: PackedBytes,
    max_values: PackedBytes,
    null_counts: PackedBytes,
}

impl PackedStats {
    pub fn pack(rows: usize, of: &StatsColumns) -> Result<Self> {
        Ok(Self {
            min_values: PackedBytes::pack(rows, |row| of.min_values.get(row)),
            max_values: PackedBytes::pack(rows, |row| of.max_values.get(row)),
            null_counts: pack_longs(rows, &of.null_counts)?,
        })
    }

    pub fn get(&self, row: usize) -> SimpleStats {
        SimpleStats {
            min_values: self.min_values.get(row).unwrap_or_default(),
            max_values: self.max_values.get(row).unwrap_or_default(),
            null_counts: self.null_counts.get(row).map(|bytes| unpack_longs(&bytes)).unwrap_or_default(),
        }
    }

    /// The same, in memory that is there; all of it, or the given parts.
    fn fill(&self, row: usize, parts: Option<&StatsParts>, stats: &mut SimpleStats) {
        let append = |from: &PackedBytes, parts: Option<&[Range<usize>]>, to: &mut Vec<u8>| {
            to.clear();
            match parts {
                Some(parts) => from.append_parts_to(row, parts, to),
                None => from.append_to(row, to),
            }
        };
        stats.null_counts.clear();
        let counts = &mut stats.min_values;
        if append(&self.null_counts, parts.map(|parts| parts.counts.as_slice()), counts) {
            stats.null_counts.extend(longs_in(counts));
        }
        let bounds = parts.map(|parts| parts.bounds.as_slice());
        append(&self.min_values, bounds, &mut stats.min_values);
        append(&self.max_values, bounds, &mut stats.max_values);
    }

    pub fn heap_bytes(&self) -> usize {
        [&self.min_values, &self.max_values, &self.null_counts].iter().map(|c| c.heap_bytes()).sum()
    }
}
