//! Cuts the files of a bucket into sections, and a section into sorted runs.
//!
//! In: files with the least and the greatest key of each. Out: sections whose key ranges do not overlap, each of as few
//! runs as possible, a run being files whose key ranges do not overlap, in key order:
//!
//! ```text
//! keys      ------------------------------------------------>
//! files     |--a--| |-----c-----|          |--e--|
//!             |---b---|  |--d--|
//! sections  |----------1--------|          |--2--|
//! runs      1: [b d] [a c]                 2: [e]
//! ```
//!
//! Java: `IntervalPartition`.

use std::cmp::Ordering;

use crate::error::Result;
use crate::spec::binary_row::BinaryRow;
use crate::spec::data_file::DataFileMeta;
use crate::spec::data_type::DataType;
use crate::spec::datum::Datum;
use crate::spec::java_queue::PriorityQueue;

/// A key: one value for each key column.
type Key = Vec<Option<Datum>>;

/// A file with its key range.
#[derive(Debug, Clone)]
struct Ranged<T> {
    min: Key,
    max: Key,
    file: T,
}

/// Files whose key ranges do not overlap, in key order.
pub type SortedRun<T> = Vec<T>;

/// The sections of the files of a bucket, in key order; each is a list of runs.
///
/// The order of the runs decides between versions of equal age ([`ties`](crate::exec::merge::ties)): it is that of the
/// reference, which deals the files of a split out twice, when it is planned and when it is read, and leaves the runs as
/// its queue has them.
pub fn sections<T>(
    files: Vec<T>,
    key_types: &[DataType],
    meta: impl Fn(&T) -> &DataFileMeta,
) -> Result<Vec<Vec<SortedRun<T>>>> {
    let again = |section| {
        let mut planned: Vec<Ranged<T>> = dealt(section).into_iter().flatten().collect();
        planned.sort_by(compare_ranges);
        planned
    };
    Ok(ranged_sections(files, key_types, meta)?.into_iter().map(|section| files_of(dealt(again(section)))).collect())
}

/// The same of files that were planned as parts of several splits, and are read as one.
pub fn planned_sections<T>(
    files: Vec<T>,
    key_types: &[DataType],
    meta: impl Fn(&T) -> &DataFileMeta,
) -> Result<Vec<Vec<SortedRun<T>>>> {
    Ok(ranged_sections(files, key_types, meta)?.into_iter().map(|section| files_of(dealt(section))).collect())
}

/// Files of which none has keys between those of others, sorted by their least keys.
fn ranged_sections<T>(
    files: Vec<T>,
    key_types: &[DataType],
    meta: impl Fn(&T) -> &DataFileMeta,
) -> Result<Vec<Vec<Ranged<T>>>> {
    let key = |bytes: &[u8]| BinaryRow::from_serialized(bytes)?.decode(key_types);
    let mut ranged = vec![];
    for file in files {
        let (min, max) = (key(&meta(&file).min_key), key(&meta(&file).max_key));
        let named = |key: Result<Key>| key.map_err(|e| e.in_file(&meta(&file).file_name));
        ranged.push(Ranged { min: named(min)?, max: named(max)?, file });
    }
    ranged.sort_by(compare_ranges);
    let mut sections: Vec<Vec<Ranged<T>>> = vec![];
    let mut bound: Option<Key> = None;
    for file in ranged {
        let apart = bound.as_ref().is_none_or(|bound| compare(&file.min, bound) == Ordering::Greater);
        if apart || bound.as_ref().is_none_or(|bound| compare(&file.max, bound) == Ordering::Greater) {
            bound = Some(file.max.clone());
        }
        match sections.last_mut().filter(|_| !apart) {
            Some(section) => section.push(file),
            None => sections.push(vec![file]),
        }
    }
    Ok(sections)
}

fn files_of<T>(runs: Vec<Vec<Ranged<T>>>) -> Vec<SortedRun<T>> {
    runs.into_iter().map(|run| run.into_iter().map(|file| file.file).collect()).collect()
}

fn compare_ranges<T>(a: &Ranged<T>, b: &Ranged<T>) -> Ordering {
    compare(&a.min, &b.min).then_with(|| compare(&a.max, &b.max))
}

/// Deals the files of a section, sorted by their least key, out to as few runs as possible.
fn dealt<T>(section: Vec<Ranged<T>>) -> Vec<Vec<Ranged<T>>> {
    let mut queue = PriorityQueue::new(|a: &Vec<Ranged<T>>, b: &Vec<Ranged<T>>| compare(last_key(a), last_key(b)));
    for file in section {
        match queue.poll() {
            Some(mut run) if compare(&file.min, last_key(&run)) == Ordering::Greater => {
                run.push(file);
                queue.offer(run);
            }
            lowest => {
                queue.offer(vec![file]);
                lowest.into_iter().for_each(|run| queue.offer(run));
            }
        }
    }
    queue.into_elements()
}

/// The greatest key of a run.
fn last_key<T>(run: &[Ranged<T>]) -> &[Option<Datum>] {
    run.last().map(|file| file.max.as_slice()).unwrap_or_default()
}

/// Compares values column by column; NULL is least. As in the merge of keys, `-0.0` and `0.0` are one key.
pub fn compare(a: &[Option<Datum>], b: &[Option<Datum>]) -> Ordering {
    let column = |(a, b): (&Option<Datum>, &Option<Datum>)| match (a, b) {
        (Some(Datum::Double(a)), Some(Datum::Double(b))) if a == b => Ordering::Equal,
        (Some(Datum::Float(a)), Some(Datum::Float(b))) if a == b => Ordering::Equal,
        (Some(a), Some(b)) => a.compare(b).unwrap_or(Ordering::Equal),
        (a, b) => a.is_some().cmp(&b.is_some()),
    };
    a.iter().zip(b).map(column).find(|o| *o != Ordering::Equal).unwrap_or_else(|| a.len().cmp(&b.len()))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::spec::binary_row::serialize_row;
    use crate::spec::data_type::TypeKind;

    fn file(min: i32, max: i32) -> DataFileMeta {
        let key = |k: i32| serialize_row(&[TypeKind::Int.not_null()], &[Some(Datum::Int(k))]).unwrap();
        DataFileMeta {
            file_name: format!("{min}-{max}"),
            min_key: key(min),
            max_key: key(max),
            ..DataFileMeta::empty()
        }
    }

    fn names(files: Vec<DataFileMeta>) -> Vec<Vec<Vec<String>>> {
        let sections = sections(files, &[TypeKind::Int.not_null()], |f| f).unwrap();
        sections
            .into_iter()
            .map(|s| s.into_iter().map(|r| r.into_iter().map(|f| f.file_name).collect()).collect())
            .collect()
    }

    #[test]
    fn the_drawing() {
        let got = names(vec![file(50, 60), file(1, 10), file(5, 15), file(12, 30), file(20, 28)]);
        assert_eq!(got, [vec![vec!["5-15", "20-28"], vec!["1-10", "12-30"]], vec![vec!["50-60"]]]);
    }

    #[test]
    fn runs_stand_as_in_the_queue_of_the_reference() {
        let one = |name: &str| vec![name.to_owned()];
        for (files, want) in [
            (vec![file(1, 10), file(2, 20), file(3, 5)], ["3-5", "2-20", "1-10"]),
            (vec![file(1, 9), file(2, 9), file(3, 9)], ["1-9", "3-9", "2-9"]),
            (vec![file(1, 30), file(2, 20), file(3, 25)], ["2-20", "1-30", "3-25"]),
        ] {
            assert_eq!(names(files), [want.map(one)]);
        }
    }

    #[test]
    fn a_file_that_begins_with_the_last_key_of_another_is_in_its_section() {
        assert_eq!(names(vec![file(1, 5), file(5, 9)]), [vec![vec!["1-5"], vec!["5-9"]]]);
        assert!(names(vec![]).is_empty());
    }

    #[test]
    fn zeros_are_one_key() {
        let zero = |z: f64| [Some(Datum::Double(z))];
        assert_eq!(compare(&zero(-0.0), &zero(0.0)), Ordering::Equal);
        assert_eq!(compare(&zero(0.0), &zero(f64::NAN)), Ordering::Less);
    }

    proptest! {
        #[test]
        fn sections_do_not_overlap_and_runs_are_sorted(ranges in proptest::collection::vec((0i32..100, 0i32..20), 0..20)) {
            let files: Vec<_> = ranges.iter().map(|(min, n)| file(*min, min + n)).collect();
            let mut seen = 0;
            let mut end = i32::MIN;
            for section in names(files) {
                let bounds = |name: &str| {
                    let (a, b) = name.split_once('-').unwrap();
                    (a.parse::<i32>().unwrap(), b.parse::<i32>().unwrap())
                };
                let all: Vec<_> = section.iter().flatten().map(|n| bounds(n)).collect();
                prop_assert!(all.iter().all(|(min, _)| *min > end));
                end = all.iter().map(|b| b.1).max().unwrap();
                seen += all.len();
                for run in &section {
                    let run: Vec<_> = run.iter().map(|n| bounds(n)).collect();
                    prop_assert!(run.windows(2).all(|w| w[0].1 < w[1].0));
                }
            }
            prop_assert_eq!(seen, ranges.len());
        }
    }
}
