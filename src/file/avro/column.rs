//! One Arrow column, filled straight from Avro's bytes.
//!
//! In: a cursor that stands before a value of the writer's type. Out: the value appended to plain vectors, from which
//! `finish.rs` makes an array. A [`Column`] is compiled once per file by `compile.rs`; reading a value is a `match` and
//! a push. Every column of a record has as many values as the record was read.

use std::sync::Arc;

use arrow::array::{BooleanBufferBuilder, NullBufferBuilder};

use super::cursor::{Cursor, Fault};
use super::skip::Skip;

/// What a value that is not there takes in a plain vector, roughly.
const PADDING_BYTES: usize = 8;

/// Values of one column, in the writer's form.
#[derive(Debug)]
pub(super) struct Column {
    /// Whether a branch of a union stands before each value.
    pub(super) union: Option<Branches>,
    /// Whether the column may hold NULL.
    pub(super) nullable: bool,
    pub(super) validity: NullBufferBuilder,
    pub(super) values: Values,
}

/// The branches of a union of null and one type; −1 where null is none of it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Branches {
    pub(super) null: i64,
    pub(super) value: i64,
}

/// Values of one type.
#[derive(Debug)]
pub(super) enum Values {
    Boolean(BooleanBufferBuilder),
    Int8(Vec<i8>),
    Int16(Vec<i16>),
    Int32(Vec<i32>),
    Int64(Vec<i64>),
    /// Longs of another unit than the column's.
    Scaled(Vec<i64>, Scale),
    Float32(Vec<f32>),
    Float64(Vec<f64>),
    Decimal(Vec<i128>, Digits),
    /// Text or bytes; of a fixed width or each after its length.
    Bytes(Buffer, Option<usize>),
    Enum(Buffer, Arc<[String]>),
    List(Vec<i32>, Box<Column>),
    /// Lists of exactly so many items.
    Vector(usize, usize, Box<Column>),
    Map(Vec<i32>, Buffer, Box<Column>),
    Struct(Record),
}

/// Values of any length, one behind the other; `ends` holds where each one ends.
#[derive(Debug, Default)]
pub(super) struct Buffer {
    pub(super) ends: Vec<i32>,
    pub(super) data: Vec<u8>,
}

/// How a long comes to the column's unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Scale {
    Times(i64),
    /// Towards the past.
    DividedBy(i64),
}

/// What decimals must look like.
#[derive(Debug, Clone, Copy)]
pub(super) struct Digits {
    /// The width of a fixed type.
    pub(super) width: Option<usize>,
    /// The smallest number of too many digits.
    pub(super) bound: i128,
}

/// The fields of a record, in the writer's order.
#[derive(Debug)]
pub(super) struct Record {
    pub(super) steps: Vec<Step>,
    pub(super) rows: usize,
    /// What a record takes that is not there.
    padding_bytes: usize,
}

/// What to do with a field of a record.
#[derive(Debug)]
pub(super) enum Step {
    Skip(Skip),
    /// Read it into the column that stands at a position among the wanted ones.
    Read(usize, Column),
}

impl Column {
    #[inline]
    pub(super) fn read(&mut self, cursor: &mut Cursor<'_>) -> Result<(), Fault> {
        if let Some(branches) = self.union
            && branches.read_null(cursor)?
        {
            return self.null(cursor);
        }
        if self.values.read(cursor)? {
            self.validity.append_non_null();
            return Ok(());
        }
        if self.nullable { self.pad(1) } else { Err(Fault::Decimal) }
    }

    /// Reads values that follow each other. Most of what manifests hold are counts: these without a call for each.
    fn read_many(&mut self, cursor: &mut Cursor<'_>, n: usize) -> Result<(), Fault> {
        let Values::Int64(values) = &mut self.values else {
            return (0..n).try_for_each(|_| self.read(cursor));
        };
        let mut valid = 0;
        for _ in 0..n {
            if let Some(branches) = self.union
                && branches.read_null(cursor)?
            {
                if !self.nullable {
                    return Err(Fault::Null);
                }
                self.validity.append_n_non_nulls(std::mem::take(&mut valid));
                self.validity.append_null();
                values.push(0);
                continue;
            }
            values.push(cursor.long()?);
            valid += 1;
        }
        self.validity.append_n_non_nulls(valid);
        Ok(())
    }

    fn null(&mut self, cursor: &mut Cursor<'_>) -> Result<(), Fault> {
        if !self.nullable {
            return Err(Fault::Null);
        }
        if matches!(self.values, Values::Struct(_) | Values::Vector(..)) {
            cursor.charge(self.values.padding_bytes())?;
        }
        self.pad(1)
    }

    /// Values that are not there: NULL, or anything where the column has no NULL because something around it is.
    fn pad(&mut self, n: usize) -> Result<(), Fault> {
        if self.nullable {
            self.validity.append_n_nulls(n);
        } else {
            self.validity.append_n_non_nulls(n);
        }
        self.values.pad(n)
    }
}

impl Branches {
    /// Reads which branch a value has: whether it is null.
    #[inline]
    fn read_null(self, cursor: &mut Cursor<'_>) -> Result<bool, Fault> {
        match cursor.long()? {
            branch if branch == self.value => Ok(false),
            branch if branch == self.null && branch >= 0 => Ok(true),
            _ => Err(Fault::Branch),
        }
    }
}

impl Values {
    /// Reads a value; false where it is none of the type and so is NULL: a decimal of too many digits. Java's writer does
    /// not check sums. Java: `FieldReaderFactory.DecimalBytesReader`, `Decimal.fromBigDecimal`.
    #[inline]
    fn read(&mut self, cursor: &mut Cursor<'_>) -> Result<bool, Fault> {
        match self {
            Values::Boolean(v) => v.append(cursor.boolean()?),
            Values::Int8(v) => v.push(i8::try_from(cursor.long()?).map_err(|_| Fault::Range)?),
            Values::Int16(v) => v.push(i16::try_from(cursor.long()?).map_err(|_| Fault::Range)?),
            Values::Int32(v) => v.push(cursor.int()?),
            Values::Int64(v) => v.push(cursor.long()?),
            Values::Scaled(v, scale) => v.push(scale.apply(cursor.long()?)?),
            Values::Float32(v) => v.push(f32::from_le_bytes(cursor.array()?)),
            Values::Float64(v) => v.push(f64::from_le_bytes(cursor.array()?)),
            Values::Decimal(v, digits) => match digits.read(cursor)? {
                Some(value) => v.push(value),
                None => return Ok(false),
            },
            Values::Bytes(buffer, None) => buffer.push(cursor.bytes()?)?,
            Values::Bytes(buffer, Some(width)) => buffer.push(cursor.take(*width)?)?,
            Values::Enum(buffer, symbols) => {
                let symbol = usize::try_from(cursor.long()?).map_err(|_| Fault::Symbol)?;
                let symbol = symbols.get(symbol).ok_or(Fault::Symbol)?.as_bytes();
                cursor.charge(symbol.len())?;
                buffer.push(symbol)?;
            }
            Values::Struct(record) => record.read(cursor)?,
            Values::List(..) | Values::Vector(..) | Values::Map(..) => self.read_items(cursor)?,
        }
        Ok(true)
    }

    fn read_items(&mut self, cursor: &mut Cursor<'_>) -> Result<(), Fault> {
        match self {
            Values::List(ends, item) => {
                let n = read_items(cursor, |c, n| item.read_many(c, n))?;
                push_end(ends, n)
            }
            Values::Vector(length, rows, item) => {
                if read_items(cursor, |c, n| item.read_many(c, n))? != *length {
                    return Err(Fault::VectorLength);
                }
                *rows += 1;
                Ok(())
            }
            Values::Map(ends, keys, values) => {
                let n = read_items(cursor, |c, n| {
                    (0..n).try_for_each(|_| {
                        keys.push(c.bytes()?)?;
                        values.read(c)
                    })
                })?;
                push_end(ends, n)
            }
            _ => Ok(()),
        }
    }

    /// What a value takes that is not there.
    pub(super) fn padding_bytes(&self) -> usize {
        match self {
            Values::Struct(record) => record.padding_bytes,
            Values::Vector(length, _, item) => item.values.padding_bytes().saturating_mul(*length),
            _ => PADDING_BYTES,
        }
    }

    fn pad(&mut self, n: usize) -> Result<(), Fault> {
        match self {
            Values::Boolean(v) => v.append_n(n, false),
            Values::Int8(v) => v.resize(v.len() + n, 0),
            Values::Int16(v) => v.resize(v.len() + n, 0),
            Values::Int32(v) => v.resize(v.len() + n, 0),
            Values::Int64(v) | Values::Scaled(v, _) => v.resize(v.len() + n, 0),
            Values::Float32(v) => v.resize(v.len() + n, 0.0),
            Values::Float64(v) => v.resize(v.len() + n, 0.0),
            Values::Decimal(v, _) => v.resize(v.len() + n, 0),
            Values::Bytes(buffer, _) | Values::Enum(buffer, _) => repeat_end(&mut buffer.ends, n),
            Values::List(ends, _) | Values::Map(ends, ..) => repeat_end(ends, n),
            Values::Vector(length, rows, item) => {
                *rows += n;
                let padded = length.checked_mul(*rows).ok_or(Fault::TooLarge)?;
                let missing = padded.checked_sub(item.validity.len()).ok_or(Fault::VectorLength)?;
                item.pad(missing)?;
            }
            Values::Struct(record) => record.pad(n)?,
        }
        Ok(())
    }
}

/// Reads the blocks of an array or map, each of so many items; how many items there were.
#[inline]
fn read_items(
    cursor: &mut Cursor<'_>,
    mut read: impl FnMut(&mut Cursor<'_>, usize) -> Result<(), Fault>,
) -> Result<usize, Fault> {
    let mut n = 0usize;
    while let Some((count, _)) = cursor.items()? {
        read(cursor, count)?;
        n += count;
    }
    Ok(n)
}

/// Ends a list behind its `n` items.
#[inline]
fn push_end(ends: &mut Vec<i32>, n: usize) -> Result<(), Fault> {
    let n = i32::try_from(n).map_err(|_| Fault::TooLarge)?;
    ends.push(ends.last().copied().unwrap_or(0).checked_add(n).ok_or(Fault::TooLarge)?);
    Ok(())
}

/// Empty lists.
fn repeat_end(ends: &mut Vec<i32>, n: usize) {
    ends.resize(ends.len() + n, ends.last().copied().unwrap_or(0));
}

impl Buffer {
    #[inline]
    fn push(&mut self, value: &[u8]) -> Result<(), Fault> {
        let end = i32::try_from(self.data.len() + value.len()).map_err(|_| Fault::TooLarge)?;
        self.data.extend_from_slice(value);
        self.ends.push(end);
        Ok(())
    }
}

impl Scale {
    #[inline]
    fn apply(self, value: i64) -> Result<i64, Fault> {
        match self {
            Scale::Times(n) => value.checked_mul(n).ok_or(Fault::Range),
            Scale::DividedBy(n) => Ok(value.div_euclid(n)),
        }
    }
}

impl Digits {
    /// The unscaled value; `None` where it has too many digits.
    fn read(self, cursor: &mut Cursor<'_>) -> Result<Option<i128>, Fault> {
        let bytes = match self.width {
            Some(width) => cursor.take(width)?,
            None => cursor.bytes()?,
        };
        let negative = bytes.first().ok_or(Fault::Decimal)? & 0x80 != 0;
        let sign = if negative { 0xff } else { 0 };
        let (head, tail) = bytes.split_at_checked(bytes.len().saturating_sub(16)).ok_or(Fault::Decimal)?;
        let mut word = [sign; 16];
        word.iter_mut().rev().zip(tail.iter().rev()).for_each(|(to, from)| *to = *from);
        let value = i128::from_be_bytes(word);
        let fits = head.iter().all(|b| *b == sign) && (value < 0) == negative;
        Ok((fits && value < self.bound && value > -self.bound).then_some(value))
    }
}

impl Record {
    pub(super) fn new(steps: Vec<Step>) -> Self {
        let padding = steps.iter().map(|step| match step {
            Step::Read(_, column) => column.values.padding_bytes(),
            Step::Skip(_) => 0,
        });
        let padding_bytes = padding.fold(0, usize::saturating_add);
        Self { steps, rows: 0, padding_bytes }
    }

    #[inline]
    pub(super) fn read(&mut self, cursor: &mut Cursor<'_>) -> Result<(), Fault> {
        for step in &mut self.steps {
            step.read(cursor)?;
        }
        self.rows += 1;
        Ok(())
    }

    fn pad(&mut self, n: usize) -> Result<(), Fault> {
        self.rows += n;
        self.steps.iter_mut().try_for_each(|step| match step {
            Step::Read(_, column) => column.pad(n),
            Step::Skip(_) => Ok(()),
        })
    }
}

impl Step {
    #[inline]
    pub(super) fn read(&mut self, cursor: &mut Cursor<'_>) -> Result<(), Fault> {
        match self {
            Step::Read(_, column) => column.read(cursor),
            Step::Skip(skip) => skip.skip(cursor),
        }
    }
}
