//! What an ORC file says of the values in its stripes, and in row groups of them.
//!
//! ```text
//! Metadata { StripeStatistics = 1 … }    StripeStatistics { ColumnStatistics = 1 …, by column number }
//! ColumnStatistics { values = 1, integers = 2 { least, greatest }, text = 4 { least, greatest }, decimals = 6, dates = 7,
//!                    has NULL = 10 }
//! ```
//! In: the bytes of the metadata, a column and its type. Out: bounds and NULLs for each stripe, as values of the column.
//! What cannot be relied on is unknown: floats leave NaN out, times go through zones, CHAR loses its blanks.

use super::protobuf::{Message, Value};
use crate::error::{Error, Result};
use crate::spec::data_type::{DataType, TypeKind};
use crate::spec::datum::Datum;

/// What is known of one column in one stripe.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct ColumnBounds {
    /// No value is less.
    pub(super) min: Option<Datum>,
    /// No value is greater.
    pub(super) max: Option<Datum>,
    /// Whether there is a NULL.
    pub(super) has_null: Option<bool>,
    /// How many values there are that are not NULL.
    pub(super) values: Option<u64>,
}

/// The statistics of columns, each by its number and type, in all stripes: one list for each stripe.
pub(super) fn stripe_statistics(metadata: &[u8], columns: &[(u32, &DataType)]) -> Result<Vec<Vec<ColumnBounds>>> {
    let mut stripes = vec![];
    let mut message = Message::new(metadata);
    while let Some((number, value)) = message.next()? {
        if number == 1 {
            stripes.push(of_stripe(value.bytes()?, columns)?);
        }
    }
    Ok(stripes)
}

fn of_stripe(bytes: &[u8], columns: &[(u32, &DataType)]) -> Result<Vec<ColumnBounds>> {
    let mut found = vec![ColumnBounds::default(); columns.len()];
    let mut message = Message::new(bytes);
    let mut column = 0;
    while let Some((number, value)) = message.next()? {
        if number != 1 {
            continue;
        }
        let wanted = columns.iter().zip(&mut found).find(|((wanted, _), _)| *wanted == column);
        if let Some(((_, data_type), found)) = wanted {
            *found = of_column(value.bytes()?, data_type)?;
        }
        column += 1;
    }
    Ok(found)
}

/// The statistics of one column.
pub(super) fn of_column(bytes: &[u8], data_type: &DataType) -> Result<ColumnBounds> {
    let mut found = ColumnBounds::default();
    let mut message = Message::new(bytes);
    while let Some((number, value)) = message.next()? {
        match number {
            1 => found.values = Some(value.number()?),
            2 | 4 | 6 | 7 => (found.min, found.max) = bounds(number, value, data_type)?,
            10 => found.has_null = Some(value.number()? != 0),
            _ => {}
        }
    }
    Ok(found)
}

/// Least and greatest of a kind of statistics, which are its fields 1 and 2.
fn bounds(kind: u64, value: Value<'_>, data_type: &DataType) -> Result<(Option<Datum>, Option<Datum>)> {
    let (mut min, mut max) = (None, None);
    let mut message = Message::new(value.bytes()?);
    while let Some((number, value)) = message.next()? {
        let bound = match number {
            1 => &mut min,
            2 => &mut max,
            _ => continue,
        };
        *bound = match kind {
            2 => whole(zigzag(value.number()?), data_type),
            7 => days(zigzag(value.number()?), number == 1, data_type),
            6 => decimal(&value.text()?, data_type),
            _ if matches!(data_type.kind, TypeKind::VarChar(_)) => Some(Datum::String(value.text()?)),
            _ => None,
        };
    }
    Ok((min, max))
}

fn zigzag(value: u64) -> i64 {
    (value >> 1) as i64 ^ -((value & 1) as i64)
}

fn whole(value: i64, data_type: &DataType) -> Option<Datum> {
    match data_type.kind {
        TypeKind::TinyInt => i8::try_from(value).ok().map(Datum::TinyInt),
        TypeKind::SmallInt => i16::try_from(value).ok().map(Datum::SmallInt),
        TypeKind::Int => i32::try_from(value).ok().map(Datum::Int),
        TypeKind::Time(_) => i32::try_from(value).ok().map(Datum::Time),
        TypeKind::BigInt => Some(Datum::BigInt(value)),
        _ => None,
    }
}

/// Java's writer takes dates through a calendar: those before 1970 may be off by one.
fn days(value: i64, is_min: bool, data_type: &DataType) -> Option<Datum> {
    let slack = i64::from(value <= 0) * if is_min { -1 } else { 1 };
    match data_type.kind {
        TypeKind::Date => i32::try_from(value.checked_add(slack)?).ok().map(Datum::Date),
        _ => None,
    }
}

/// A decimal as plain digits; `None` where it has more behind the point than the type.
fn decimal(text: &str, data_type: &DataType) -> Option<Datum> {
    let TypeKind::Decimal { precision, scale } = data_type.kind else { return None };
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let missing = usize::from(scale).checked_sub(fraction.len())?;
    let digits = format!("{whole}{fraction}{}", "0".repeat(missing));
    Some(Datum::Decimal { unscaled: digits.parse().ok()?, precision, scale })
}

/// An error for metadata that do not fit to the stripes.
pub(super) fn wrong_number(found: usize, stripes: usize) -> Error {
    Error::corrupt(format!("statistics of {found} stripes, the file has {stripes}"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn field(number: u8, bytes: &[u8]) -> Vec<u8> {
        [&[number << 3 | 2, bytes.len() as u8][..], bytes].concat()
    }

    #[test]
    fn bounds_are_values_of_the_column() {
        let column = |statistics: Vec<u8>| [vec![0x08, 5], statistics, vec![0x50, 1]].concat();
        // Each varint is a zigzag: 5 is -3, 8 is 4.
        let integers = column(field(2, &[0x08, 5, 0x10, 8]));
        let text = column(field(4, &[&field(1, b"ab")[..], &field(2, b"z")].concat()));
        let decimals = column(field(6, &[&field(1, b"-1.5")[..], &field(2, b"12")].concat()));
        let dates = column(field(7, &[0x08, 5, 0x10, 8]));
        let columns = [vec![0x08, 5], integers, text, decimals, dates];
        let stripe: Vec<u8> = columns.iter().flat_map(|c| field(1, c)).collect();
        let metadata = field(1, &stripe);
        let types = ["BIGINT", "STRING", "DECIMAL(10, 2)", "DATE"].map(|t| DataType::parse(t).unwrap());
        let wanted: Vec<_> = types.iter().enumerate().map(|(at, t)| (at as u32 + 1, t)).collect();
        let got = stripe_statistics(&metadata, &wanted).unwrap();
        let dec = |unscaled| Datum::Decimal { unscaled, precision: 10, scale: 2 };
        let want = [
            (Datum::BigInt(-3), Datum::BigInt(4)),
            (Datum::String("ab".into()), Datum::String("z".into())),
            (dec(-150), dec(1200)),
            (Datum::Date(-4), Datum::Date(4)),
        ];
        let want = want.map(|(min, max)| ColumnBounds {
            min: Some(min),
            max: Some(max),
            has_null: Some(true),
            values: Some(5),
        });
        assert_eq!(got, [want]);
        let other = DataType::parse("DOUBLE").unwrap();
        let got = stripe_statistics(&metadata, &[(1, &other)]).unwrap();
        assert_eq!((&got[0][0].min, got[0][0].values), (&None, Some(5)));
    }

    proptest! {
        #[test]
        fn no_bytes_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            for text in ["INT", "STRING", "DECIMAL(38, 10)", "DATE"] {
                let data_type = DataType::parse(text).unwrap();
                let _ = stripe_statistics(&bytes, &[(0, &data_type), (1, &data_type)]);
                let _ = of_column(&bytes, &data_type);
            }
        }
    }
}
