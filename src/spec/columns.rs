//! Typed access to the columns of a metadata container by name.
//!
//! In: a record batch of a manifest, which Avro, ORC or Parquet gave, so with integers of any width, text and bytes of
//! any layout and timestamps of any unit. Out: columns of one layout each, looked up once per batch. A nullable column
//! that is not there is all NULL; a required one that is not there, is NULL somewhere, or is of another type is an
//! error that names it.

use arrow::array::{Array, ArrayRef, AsArray, BinaryArray, Int64Array, RecordBatch, StringArray, StructArray};
use arrow::buffer::NullBuffer;
use arrow::compute::cast;
use arrow::datatypes::{DataType as ArrowType, Int64Type, TimeUnit};

use super::simple_stats::SimpleStats;
use crate::error::{Error, Result};

/// The columns of a batch or of a struct in it.
pub(super) struct Columns<'a> {
    /// What the records are, for messages.
    record: &'a str,
    names: Vec<&'a str>,
    arrays: &'a [ArrayRef],
    rows: usize,
    /// Rows where the struct itself is NULL.
    nulls: Option<&'a NullBuffer>,
}

impl<'a> Columns<'a> {
    pub(super) fn of_batch(record: &'a str, batch: &'a RecordBatch) -> Self {
        let names = batch.schema_ref().fields().iter().map(|f| f.name().as_str()).collect();
        Self { record, names, arrays: batch.columns(), rows: batch.num_rows(), nulls: None }
    }

    pub(super) fn of_struct(record: &'a str, array: &'a StructArray) -> Self {
        let names = array.fields().iter().map(|f| f.name().as_str()).collect();
        Self { record, names, arrays: array.columns(), rows: array.len(), nulls: array.nulls() }
    }

    pub(super) fn rows(&self) -> usize {
        self.rows
    }

    fn find(&self, name: &str) -> Option<&'a ArrayRef> {
        self.names.iter().position(|n| *n == name).and_then(|i| self.arrays.get(i))
    }

    fn wrong(&self, name: &str, why: &str) -> Error {
        Error::corrupt(format!("column {name} of a {} {why}", self.record))
    }

    /// A column without NULLs, except where the struct around it is NULL.
    fn required(&self, name: &str) -> Result<&'a ArrayRef> {
        let array = self.find(name).ok_or_else(|| self.wrong(name, "is missing"))?;
        if array.logical_null_count() > 0 {
            let nulls = array.logical_nulls();
            let visible = |row: usize| self.nulls.is_none_or(|n| n.is_valid(row));
            if (0..self.rows).any(|row| visible(row) && nulls.as_ref().is_some_and(|n| n.is_null(row))) {
                return Err(self.wrong(name, "must not be NULL"));
            }
        }
        Ok(array)
    }

    pub(super) fn longs(&self, name: &str) -> Result<Longs> {
        self.to_longs(name, self.required(name)?)
    }

    pub(super) fn optional_longs(&self, name: &str) -> Result<Longs> {
        self.find(name).map_or(Ok(Longs { array: None }), |array| self.to_longs(name, array))
    }

    fn to_longs(&self, name: &str, array: &ArrayRef) -> Result<Longs> {
        Ok(Longs {
            array: self.to_type(name, array, &ArrowType::Int64)?.map(|a| a.as_primitive::<Int64Type>().clone()),
        })
    }

    /// Milliseconds since 1970.
    pub(super) fn optional_millis(&self, name: &str) -> Result<Longs> {
        let Some(array) = self.find(name) else { return Ok(Longs { array: None }) };
        let ArrowType::Timestamp(unit, _) = array.data_type() else { return self.to_longs(name, array) };
        let raw = cast(array, &ArrowType::Int64)?;
        let raw = raw.as_primitive::<Int64Type>();
        let millis: Int64Array = match unit {
            TimeUnit::Second => raw.unary_opt(|v| v.checked_mul(1000)),
            TimeUnit::Millisecond => raw.clone(),
            TimeUnit::Microsecond => raw.unary(|v| v.div_euclid(1000)),
            TimeUnit::Nanosecond => raw.unary(|v| v.div_euclid(1_000_000)),
        };
        Ok(Longs { array: Some(millis) })
    }

    pub(super) fn texts(&self, name: &str) -> Result<Texts> {
        self.to_texts(name, self.required(name)?)
    }

    pub(super) fn optional_texts(&self, name: &str) -> Result<Texts> {
        self.find(name).map_or(Ok(Texts { array: None }), |array| self.to_texts(name, array))
    }

    fn to_texts(&self, name: &str, array: &ArrayRef) -> Result<Texts> {
        Ok(Texts { array: self.to_type(name, array, &ArrowType::Utf8)?.map(|a| a.as_string::<i32>().clone()) })
    }

    pub(super) fn bytes(&self, name: &str) -> Result<Binaries> {
        self.to_bytes(name, self.required(name)?)
    }

    pub(super) fn optional_bytes(&self, name: &str) -> Result<Binaries> {
        self.find(name).map_or(Ok(Binaries { array: None }), |array| self.to_bytes(name, array))
    }

    fn to_bytes(&self, name: &str, array: &ArrayRef) -> Result<Binaries> {
        Ok(Binaries { array: self.to_type(name, array, &ArrowType::Binary)?.map(|a| a.as_binary::<i32>().clone()) })
    }

    /// The array in one of the three layouts above; `None` where it is all NULL of no type.
    fn to_type(&self, name: &str, array: &ArrayRef, to: &ArrowType) -> Result<Option<ArrayRef>> {
        use ArrowType::{
            Binary, BinaryView, Dictionary, FixedSizeBinary, Int8, Int16, Int32, Int64, LargeBinary, LargeUtf8, Null,
            UInt8, UInt16, UInt32, Utf8, Utf8View,
        };
        let from = match array.data_type() {
            Null => return Ok(None),
            Dictionary(_, values) => values.as_ref(),
            other => other,
        };
        let fits = match to {
            Int64 => matches!(from, Int8 | Int16 | Int32 | Int64 | UInt8 | UInt16 | UInt32),
            Utf8 => matches!(from, Utf8 | LargeUtf8 | Utf8View),
            _ => matches!(from, Binary | LargeBinary | BinaryView | FixedSizeBinary(_)),
        };
        if !fits {
            return Err(self.wrong(name, &format!("must be {to}, is {from}")));
        }
        Ok(Some(cast(array, to)?))
    }

    pub(super) fn optional_structs(&self, name: &str) -> Result<Option<&'a StructArray>> {
        let Some(array) = self.find(name) else { return Ok(None) };
        match array.data_type() {
            ArrowType::Null => Ok(None),
            ArrowType::Struct(_) => Ok(Some(array.as_struct())),
            other => Err(self.wrong(name, &format!("must be a record, is {other}"))),
        }
    }

    pub(super) fn structs(&self, name: &str) -> Result<&'a StructArray> {
        self.required(name)?;
        self.optional_structs(name)?.ok_or_else(|| self.wrong(name, "must be a record"))
    }

    pub(super) fn optional_lists(&self, name: &str) -> Result<Lists> {
        let Some(array) = self.find(name) else { return Ok(Lists { parts: None }) };
        let (ends, values): (Vec<usize>, _) = match array.data_type() {
            ArrowType::Null => return Ok(Lists { parts: None }),
            ArrowType::List(_) => {
                let list = array.as_list::<i32>();
                (list.offsets().iter().map(|o| *o as usize).collect(), list.values())
            }
            ArrowType::LargeList(_) => {
                let list = array.as_list::<i64>();
                (list.offsets().iter().map(|o| *o as usize).collect(), list.values())
            }
            other => return Err(self.wrong(name, &format!("must be an array, is {other}"))),
        };
        Ok(Lists { parts: Some((ends, array.nulls().cloned(), values.clone())) })
    }

    pub(super) fn optional_text_lists(&self, name: &str) -> Result<ListsOf<Texts>> {
        let lists = self.optional_lists(name)?;
        let values = match lists.values() {
            Some(values) => self.to_texts(name, values)?,
            None => Texts { array: None },
        };
        Ok(ListsOf { lists, values })
    }

    pub(super) fn optional_long_lists(&self, name: &str) -> Result<ListsOf<Longs>> {
        let lists = self.optional_lists(name)?;
        let values = match lists.values() {
            Some(values) => self.to_longs(name, values)?,
            None => Longs { array: None },
        };
        Ok(ListsOf { lists, values })
    }

    pub(super) fn stats(&self, name: &'a str) -> Result<StatsColumns> {
        let columns = Self::of_struct(name, self.structs(name)?);
        Ok(StatsColumns {
            min_values: columns.bytes("_MIN_VALUES")?,
            max_values: columns.bytes("_MAX_VALUES")?,
            null_counts: columns.optional_long_lists("_NULL_COUNTS")?,
        })
    }

    /// Refuses records of a version that is not `version`.
    pub(super) fn check_version(&self, version: i64) -> Result<()> {
        let versions = self.longs("_VERSION")?;
        match (0..self.rows).map(|row| versions.get(row)).find(|v| *v != Some(version)) {
            Some(Some(other)) => {
                let record = self.record;
                Err(Error::unsupported(format!("version {other} of a {record}, only {version} is known")))
            }
            _ => Ok(()),
        }
    }

    /// A value that must be there and fit.
    pub(super) fn must<T>(&self, name: &str, value: Option<T>) -> Result<T> {
        value.ok_or_else(|| self.wrong(name, "is NULL or out of range"))
    }
}

/// Integers of any width.
pub(super) struct Longs {
    array: Option<Int64Array>,
}

impl Longs {
    pub(super) fn get(&self, row: usize) -> Option<i64> {
        self.array.as_ref().filter(|a| row < a.len() && a.is_valid(row)).map(|a| a.value(row))
    }

    /// All values, where none is NULL.
    pub(super) fn values(&self) -> Option<&[i64]> {
        self.array.as_ref().filter(|a| a.null_count() == 0).map(|a| a.values().as_ref())
    }

    pub(super) fn is_all_null(&self) -> bool {
        self.array.as_ref().is_none_or(is_all_null)
    }

    /// `None` also where the value is no 32-bit number.
    pub(super) fn int(&self, row: usize) -> Option<i32> {
        self.get(row).and_then(|v| i32::try_from(v).ok())
    }
}

/// Text.
pub(super) struct Texts {
    array: Option<StringArray>,
}

impl Texts {
    pub(super) fn get(&self, row: usize) -> Option<&str> {
        self.array.as_ref().filter(|a| row < a.len() && a.is_valid(row)).map(|a| a.value(row))
    }

    pub(super) fn is_all_null(&self) -> bool {
        self.array.as_ref().is_none_or(is_all_null)
    }

    pub(super) fn owned(&self, row: usize) -> Option<String> {
        self.get(row).map(str::to_owned)
    }
}

/// Bytes.
pub(super) struct Binaries {
    array: Option<BinaryArray>,
}

impl Binaries {
    pub(super) fn get(&self, row: usize) -> Option<&[u8]> {
        self.array.as_ref().filter(|a| row < a.len() && a.is_valid(row)).map(|a| a.value(row))
    }

    pub(super) fn is_all_null(&self) -> bool {
        self.array.as_ref().is_none_or(is_all_null)
    }

    pub(super) fn owned(&self, row: usize) -> Option<Vec<u8>> {
        self.get(row).map(<[u8]>::to_vec)
    }
}

fn is_all_null(array: &impl Array) -> bool {
    array.null_count() == array.len()
}

/// Arrays: where each begins and ends among all values.
pub(super) struct Lists {
    parts: Option<(Vec<usize>, Option<NullBuffer>, ArrayRef)>,
}

impl Lists {
    pub(super) fn values(&self) -> Option<&ArrayRef> {
        self.parts.as_ref().map(|(_, _, values)| values)
    }

    pub(super) fn is_all_null(&self) -> bool {
        let nulls = |(ends, nulls, _): &(Vec<usize>, Option<NullBuffer>, ArrayRef)| {
            nulls.as_ref().map_or(0, NullBuffer::null_count) + 1 == ends.len()
        };
        self.parts.as_ref().is_none_or(nulls)
    }

    /// Whether no array has an element.
    pub(super) fn is_all_empty(&self) -> bool {
        self.parts.as_ref().is_none_or(|(_, _, values)| values.is_empty())
    }

    /// The positions of a row's elements; `None` where the array is NULL.
    pub(super) fn range(&self, row: usize) -> Option<std::ops::Range<usize>> {
        let (ends, nulls, _) = self.parts.as_ref()?;
        let (start, end) = (ends.get(row)?, ends.get(row + 1)?);
        nulls.as_ref().is_none_or(|n| n.is_valid(row)).then_some(*start..*end)
    }
}

/// Arrays with their values.
pub(super) struct ListsOf<T> {
    lists: Lists,
    values: T,
}

impl<T> ListsOf<T> {
    /// The positions of a row's elements among all; `None` where the array is NULL.
    pub(super) fn range(&self, row: usize) -> Option<std::ops::Range<usize>> {
        self.lists.range(row)
    }

    /// The arrays without their values.
    pub(super) fn lists(&self) -> &Lists {
        &self.lists
    }

    /// All elements of all rows.
    pub(super) fn values(&self) -> &T {
        &self.values
    }
}

impl ListsOf<Texts> {
    /// `None` where the array is NULL; elements that are NULL are left out.
    pub(super) fn get(&self, row: usize) -> Option<Vec<String>> {
        self.lists.range(row).map(|range| range.filter_map(|i| self.values.owned(i)).collect())
    }
}

impl ListsOf<Longs> {
    pub(super) fn get(&self, row: usize) -> Option<Vec<Option<i64>>> {
        self.lists.range(row).map(|range| range.map(|i| self.values.get(i)).collect())
    }
}

/// A record of statistics.
pub(super) struct StatsColumns {
    pub(super) min_values: Binaries,
    pub(super) max_values: Binaries,
    pub(super) null_counts: ListsOf<Longs>,
}

impl StatsColumns {
    pub(super) fn get(&self, row: usize) -> SimpleStats {
        SimpleStats {
            min_values: self.min_values.owned(row).unwrap_or_default(),
            max_values: self.max_values.owned(row).unwrap_or_default(),
            null_counts: self.null_counts.get(row).unwrap_or_default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::array::*;
    use arrow::datatypes::{Int32Type, TimestampNanosecondType};

    use super::*;

    fn batch(columns: Vec<(&str, ArrayRef)>) -> RecordBatch {
        RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(n, a)| (n, a, true))).unwrap()
    }

    #[test]
    fn every_layout_of_a_value_is_read() {
        let integers: Vec<ArrayRef> = vec![
            Arc::new(Int8Array::from(vec![Some(7), None])),
            Arc::new(Int16Array::from(vec![Some(7), None])),
            Arc::new(Int32Array::from(vec![Some(7), None])),
            Arc::new(Int64Array::from(vec![Some(7), None])),
        ];
        for array in integers {
            let b = batch(vec![("a", array)]);
            let c = Columns::of_batch("test", &b);
            let longs = c.optional_longs("a").unwrap();
            assert_eq!([longs.get(0), longs.get(1), longs.get(2)], [Some(7), None, None]);
            assert!(c.longs("a").unwrap_err_text().contains("column a of a test must not be NULL"));
        }
        let texts: Vec<ArrayRef> = vec![
            Arc::new(StringArray::from(vec!["x"])),
            Arc::new(LargeStringArray::from(vec!["x"])),
            Arc::new(StringViewArray::from(vec!["x"])),
            Arc::new(vec![Some("x")].into_iter().collect::<DictionaryArray<Int32Type>>()),
        ];
        for array in texts {
            let b = batch(vec![("a", array)]);
            assert_eq!(Columns::of_batch("test", &b).texts("a").unwrap().get(0), Some("x"));
        }
        let bytes: Vec<ArrayRef> = vec![
            Arc::new(BinaryArray::from(vec![b"x".as_slice()])),
            Arc::new(LargeBinaryArray::from(vec![b"x".as_slice()])),
            Arc::new(BinaryViewArray::from(vec![b"x".as_slice()])),
        ];
        for array in bytes {
            let b = batch(vec![("a", array)]);
            assert_eq!(Columns::of_batch("test", &b).bytes("a").unwrap().get(0), Some(b"x".as_slice()));
        }
    }

    trait ErrText {
        fn unwrap_err_text(self) -> String;
    }

    impl<T> ErrText for Result<T> {
        fn unwrap_err_text(self) -> String {
            self.err().unwrap().to_string()
        }
    }

    #[test]
    fn times_become_milliseconds() {
        let arrays: Vec<ArrayRef> = vec![
            Arc::new(TimestampSecondArray::from(vec![-2])),
            Arc::new(TimestampMillisecondArray::from(vec![-2000]).with_timezone("UTC")),
            Arc::new(TimestampMicrosecondArray::from(vec![-1_999_999])),
            Arc::new(PrimitiveArray::<TimestampNanosecondType>::from(vec![-1_999_999_999])),
            Arc::new(Int64Array::from(vec![-2000])),
        ];
        for array in arrays {
            let b = batch(vec![("t", array)]);
            assert_eq!(Columns::of_batch("test", &b).optional_millis("t").unwrap().get(0), Some(-2000));
        }
    }

    #[test]
    fn what_is_missing_or_of_another_type_is_named() {
        let b =
            batch(vec![("a", Arc::new(StringArray::from(vec!["1"])) as _), ("n", Arc::new(NullArray::new(1)) as _)]);
        let c = Columns::of_batch("test", &b);
        assert!(c.longs("z").unwrap_err_text().contains("column z of a test is missing"));
        assert!(c.longs("a").unwrap_err_text().contains("must be Int64, is Utf8"));
        assert!(c.bytes("a").is_err() && c.structs("a").is_err() && c.optional_lists("a").is_err());
        assert!(c.texts("n").is_err() && c.structs("n").is_err());
        assert_eq!(c.optional_texts("n").unwrap().get(0), None);
        assert_eq!(c.optional_text_lists("n").unwrap().get(0), None);
        assert_eq!(c.optional_longs("z").unwrap().get(0), None);
    }

    #[test]
    fn arrays_of_a_slice_are_its_own() {
        let mut builder = ListBuilder::new(Int32Builder::new());
        builder.append_value([Some(1)]);
        builder.append_null();
        builder.append_value([Some(2), None]);
        let b = batch(vec![("l", Arc::new(builder.finish()) as _)]).slice(1, 2);
        let lists = Columns::of_batch("test", &b).optional_long_lists("l").unwrap();
        assert_eq!([lists.get(0), lists.get(1), lists.get(2)], [None, Some(vec![Some(2), None]), None]);
    }
}
