//! The splits of very many files of an append table, made when they are asked for: [`DeferredAppend`].
//!
//! In: the wanted live entries, whose files are read whole. Out: splits, and before that what can be told of all of them
//! together. The ranges of columns are folded over the chunks that the entries are packed in, and kept there: they are of
//! the chunks' other entries too, so that they are estimates, yet never too narrow. A plan looks at few chunks, so that of
//! a large table they become known plan by plan.

use std::collections::HashMap;
use std::sync::Arc;

use super::live_entries::LiveEntries;
use super::prune::SelectedBucket;
use super::splits::SplitMaker;
use crate::error::Result;
use crate::predicate::{ColumnRef, file_stats};
use crate::spec::column_range::{ColumnRange, KnownRanges};
use crate::spec::data_file::DataFileMeta;
use crate::spec::data_type::DataField;
use crate::spec::packed_entries::PackedEntries;
use crate::spec::stats_parts::StatsParts;
use crate::spec::table_schema::TableSchema;
use crate::split::{DataSplit, DeferredSplits, SplitSummary};

/// After so many files times columns no further chunk is looked at for a plan; what is kept already does not count.
/// Looking at more of them would take longer than all the rest of a plan out of the cache.
const MAX_LOOKED_AT: usize = 2_000;

/// Splits of an append table that are not made yet.
pub struct DeferredAppend {
    maker: SplitMaker,
    buckets: Vec<SelectedBucket>,
    schemas: HashMap<i64, Arc<TableSchema>>,
    summary: SplitSummary,
    /// Rows by partition.
    partitions: Vec<(Arc<[u8]>, usize)>,
}

impl DeferredAppend {
    /// The splits that `maker` will make of files.
    pub fn new(maker: SplitMaker, buckets: Vec<SelectedBucket>, schemas: HashMap<i64, Arc<TableSchema>>) -> Self {
        let mut summary = SplitSummary::default();
        let mut partitions: Vec<(Arc<[u8]>, usize)> = vec![];
        for bucket in &buckets {
            let Some(facts) = bucket.rows.facts(&maker.live) else { continue };
            summary.files += bucket.rows.len();
            summary.rows = summary.rows.saturating_add(facts.rows);
            summary.bytes = summary.bytes.saturating_add(facts.bytes);
            match partitions.last_mut().filter(|(partition, _)| *partition == bucket.partition) {
                Some((_, rows)) => *rows = rows.saturating_add(facts.rows),
                None => partitions.push((Arc::clone(&bucket.partition), facts.rows)),
            }
        }
        // Buckets come partition by partition.
        summary.partitions = partitions.len();
        Self { maker, buckets, schemas, summary, partitions }
    }

    fn live(&self) -> &LiveEntries {
        &self.maker.live
    }

    /// The ranges of columns in the files of chunks that are added; `None` where too many would have to be looked at.
    fn of_chunks(&self, chunks: &[&PackedEntries], columns: &[ColumnRef]) -> Option<Vec<ColumnRange>> {
        let mut all = vec![ColumnRange::default(); columns.len()];
        let mut looked_at: usize = 0;
        for chunk in chunks {
            let known = |c: &ColumnRef| chunk.ranges().get(c.id, &c.data_type);
            let mut ranges: Vec<_> = columns.iter().map(known).collect();
            if ranges.iter().any(Option::is_none) {
                if looked_at >= MAX_LOOKED_AT || chunk.ranges().is_full() {
                    return None;
                }
                let unknown: Vec<&ColumnRef> = columns.iter().filter(|c| known(c).is_none()).collect();
                looked_at = looked_at.saturating_add(unknown.len().saturating_mul(chunk.len()));
                for (column, range) in unknown.iter().zip(self.of_chunk(chunk, &unknown)) {
                    chunk.ranges().keep(column.id, &column.data_type, range);
                }
                ranges = columns.iter().map(known).collect();
            }
            for (all, range) in all.iter_mut().zip(ranges) {
                all.add(range.unwrap_or_else(|| ColumnRange::unknown(chunk.len())));
            }
        }
        Some(all)
    }

    /// The ranges of columns in the files of a chunk that are added.
    fn of_chunk(&self, chunk: &PackedEntries, columns: &[&ColumnRef]) -> Vec<ColumnRange> {
        let mut ranges = vec![ColumnRange::default(); columns.len()];
        let mut file = DataFileMeta::empty();
        let schema = chunk.laid_out_by().and_then(|id| self.schemas.get(&id));
        let wanted = |id: i32| columns.iter().any(|column| column.id == id);
        let parts = schema.and_then(|schema| StatsParts::of(&schema.fields, &wanted));
        for row in (0..chunk.len()).filter(|row| chunk.is_added(*row)) {
            chunk.file_statistics(row, parts.as_ref(), &mut file);
            let schema = self.schemas.get(&file.schema_id);
            for (range, column) in ranges.iter_mut().zip(columns) {
                let rows = usize::try_from(file.row_count).unwrap_or(0);
                let of_file = schema.map(|schema| file_stats::column_range(column, &file, schema));
                range.add(of_file.unwrap_or_else(|| ColumnRange::unknown(rows)));
            }
        }
        ranges
    }
}

impl DeferredSplits for DeferredAppend {
    fn summary(&self) -> SplitSummary {
        self.summary
    }

    fn make(&self) -> Result<Vec<DataSplit>> {
        self.maker.append_splits(&self.buckets)
    }

    fn partitions(&self) -> &[(Arc<[u8]>, usize)] {
        &self.partitions
    }

    fn ranges(&self, columns: &[DataField]) -> Vec<ColumnRange> {
        let column = |f: &DataField| ColumnRef { id: f.id, name: f.name.clone(), data_type: f.data_type.clone() };
        let columns: Vec<ColumnRef> = columns.iter().map(column).collect();
        let chunks: Vec<_> = self.live().chunks_of(self.buckets.iter().map(|bucket| &bucket.rows)).collect();
        let of_all = (chunks.len() == self.live().chunk_count()).then(|| self.live().ranges());
        let known = |ranges: &KnownRanges| columns.iter().map(|c| ranges.get(c.id, &c.data_type)).collect();
        let found: Option<Vec<_>> = of_all.and_then(known).or_else(|| self.of_chunks(&chunks, &columns));
        let Some(found) = found else { return vec![ColumnRange::unknown(self.summary.rows); columns.len()] };
        if let Some(of_all) = of_all {
            let keep = |(c, range): (&ColumnRef, &ColumnRange)| of_all.keep(c.id, &c.data_type, range.clone());
            columns.iter().zip(&found).for_each(keep);
        }
        found.into_iter().map(|range| range.of_some(self.summary.rows)).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::options::TableOptions;
    use crate::plan::live_entries::tests::{manifest, manifest_of};
    use crate::plan::paths::DataPaths;
    use crate::plan::prune::{Pruning, select};
    use crate::plan::splits::SplitSizes;
    use crate::plan::visible::Visible;
    use crate::predicate::Predicate;
    use crate::spec::binary_row::serialize_row;
    use crate::spec::data_type::{DataType, TypeKind};
    use crate::spec::datum::Datum;
    use crate::spec::manifest_entry::{FileKind, ManifestEntry};
    use crate::spec::simple_stats::SimpleStats;

    const SCHEMA: &[u8] = br#"{"version":3,"id":0,"fields":[{"id":0,"name":"p","type":"INT"},
        {"id":1,"name":"v","type":"INT"}],"partitionKeys":["p"],"primaryKeys":[],"options":{}}"#;

    /// A file of ten rows of a partition, with values from `v` to `v + 5` and so many NULLs.
    fn file(name: usize, partition: i32, v: i32, nulls: i64) -> ManifestEntry {
        let row = |values: &[i32]| {
            let types = vec![TypeKind::Int.nullable(); values.len()];
            serialize_row(&types, &values.iter().map(|v| Some(Datum::Int(*v))).collect::<Vec<_>>()).unwrap()
        };
        let (min_values, max_values) = (row(&[partition, v]), row(&[partition, v + 5]));
        let value_stats = SimpleStats { min_values, max_values, null_counts: vec![Some(0), Some(nulls)] };
        let file_name = format!("{name}.parquet");
        let file = DataFileMeta { file_name, row_count: 10, file_size: 7, value_stats, ..DataFileMeta::empty() };
        let partition = row(&[partition]).into();
        ManifestEntry { kind: FileKind::Add, partition, bucket: 0, total_buckets: -1, file }
    }

    fn deferred(live: &Arc<LiveEntries>, only: Option<i32>) -> DeferredAppend {
        let schema = TableSchema::from_json(SCHEMA).unwrap();
        let options = TableOptions::effective(&schema.options, &BTreeMap::new()).unwrap();
        let test = |p| Predicate::leaf(crate::predicate::testing::column(0, "INT"), crate::predicate::Test::Equal(p));
        let predicate = only.map_or_else(Predicate::always, |p| test(Datum::Int(p)));
        let visible = Visible::new(i32::MIN..=i32::MAX, None);
        let selected = select(live, &Pruning::new(&predicate, &schema, &options), &visible).unwrap();

        let maker = SplitMaker {
            live: Arc::clone(live),
            snapshot_id: 1,
            branch: None,
            sizes: SplitSizes { target_bytes: 1 << 30, open_cost_bytes: 1 },
            paths: DataPaths::new("t".into(), schema.partition_fields(), &options, chrono_tz::UTC),
            deletions: Arc::default(),
        };
        DeferredAppend::new(maker, selected.buckets, [(0, Arc::new(schema))].into())
    }

    fn column(id: i32, text: &str) -> DataField {
        DataField::new(id, format!("c{id}"), DataType::parse(text).unwrap())
    }

    #[test]
    fn columns_are_told_of_all_files_together() {
        // Three to a chunk.
        let entries: Vec<_> = (0..6).map(|i| file(i, i as i32 / 2, 10 * i as i32, i as i64)).collect();
        let live = Arc::new(LiveEntries::of(vec![manifest("m", &entries)]));
        let all = deferred(&live, None);
        assert_eq!(all.summary(), SplitSummary { files: 6, partitions: 3, rows: 60, bytes: 42 });
        assert_eq!(all.partitions().iter().map(|(_, rows)| *rows).collect::<Vec<_>>(), [20, 20, 20]);
        let range = |rows, min, max, nulls| ColumnRange {
            rows,
            values: Some(Some((Datum::Int(min), Datum::Int(max)))),
            nulls: Some(nulls),
        };
        // Twice, the second time out of what was kept; a column that no file has is NULL, one of another type unknown.
        for _ in 0..2 {
            let got = all.ranges(&[column(1, "INT"), column(7, "INT"), column(1, "STRING")]);
            assert_eq!(got[..2], [range(60, 0, 55, 15), ColumnRange::all_null(60)]);
            assert_eq!(got[2].values, None);
        }
        // The chunk of the files of this partition has one of another, too.
        assert_eq!(deferred(&live, Some(0)).ranges(&[column(1, "INT")]), [range(20, 0, 25, 2)]);
        assert_eq!(all.make().unwrap().iter().map(|split| split.files.len()).sum::<usize>(), 6);
    }

    #[test]
    fn of_many_files_it_is_found_plan_by_plan() {
        // Three chunks; ten columns of 200 files are as many as a plan looks at.
        let entries: Vec<_> = (0..600).map(|i| file(i, 0, i as i32, 0)).collect();
        let live = Arc::new(LiveEntries::of(vec![manifest_of("m", &entries, 200)]));
        let columns: Vec<_> = (1..=10).map(|id| column(id, "INT")).collect();
        let plan = || deferred(&live, None).ranges(&columns);
        // The first plan looks at one chunk, the second at another one, the third at the last.
        let unknown = vec![ColumnRange::unknown(6000); columns.len()];
        assert_eq!(plan(), unknown);
        assert_eq!(plan(), unknown);
        let found = plan();
        assert_eq!(found[0].values, Some(Some((Datum::Int(0), Datum::Int(604)))));
        assert_eq!(found[1], ColumnRange::all_null(6000));
    }
}
