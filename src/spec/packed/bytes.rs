//! Byte strings of which only what differs is kept.
//!
//! Strings of one length share a [`Shape`], and of each only what differs from the others is kept. Strings of many
//! different lengths, and very long ones, are kept as they are.

use std::ops::Range;

use super::longs::Validity;
use super::shape::{MAX_LENGTH, Observed, Shape};

/// More shapes than this are none.
const MAX_SHAPES: usize = 64;

/// A column of byte strings that may be NULL.
#[derive(Debug)]
pub struct PackedBytes {
    validity: Validity,
    layout: Layout,
    data: Box<[u8]>,
}

#[derive(Debug)]
enum Layout {
    /// All strings have one shape: a row's bytes begin at a multiple of how many there are.
    Shape(Box<Shape>),
    /// Strings have different shapes.
    Shapes(Box<Shapes>),
    /// Where each string ends.
    Plain { ends: Box<[u32]> },
}

/// The shape of each row, and where its bytes begin.
#[derive(Debug)]
struct Shapes {
    shapes: Box<[Shape]>,
    of: Box<[u8]>,
    starts: Box<[u32]>,
}

/// What is kept of a string.
enum Packed<'a> {
    /// Its shape, and what begins with the bytes that are kept of it.
    Shaped(&'a Shape, &'a [u8]),
    /// All of it.
    Plain(&'a [u8]),
}

impl PackedBytes {
    /// Packs the values of `rows` rows; all together take less than 4 GB.
    pub fn pack<'a>(rows: usize, value: impl Fn(usize) -> Option<&'a [u8]>) -> Self {
        let (mut observed, mut valid): (Vec<Observed<'a>>, _) = (vec![], 0);
        for bytes in (0..rows).filter_map(&value) {
            valid += 1;
            if let Some(observed) = observed.iter_mut().find(|o| o.length() == bytes.len()) {
                observed.add(bytes);
                continue;
            }
            if bytes.len() > MAX_LENGTH || observed.len() >= MAX_SHAPES || observed.len() * 4 > rows {
                return Self::plain(rows, value);
            }
            observed.push(Observed::new(bytes));
        }
        let validity = Validity::of(rows, valid, |row| value(row).is_some());
        let of_length = |length: usize| (0..rows).filter_map(&value).filter(move |bytes| bytes.len() == length);
        let shapes: Vec<Shape> = observed.iter().map(|o| o.shape(of_length(o.length()))).collect();
        match <[Shape; 1]>::try_from(shapes) {
            Ok([shape]) => Self::of_one_shape(rows, value, validity, shape),
            Err(shapes) => Self::of_shapes(rows, value, validity, shapes),
        }
    }

    fn of_one_shape<'a>(
        rows: usize,
        value: impl Fn(usize) -> Option<&'a [u8]>,
        validity: Validity,
        shape: Shape,
    ) -> Self {
        let mut data = Vec::with_capacity(rows.saturating_mul(shape.kept()));
        for row in 0..rows {
            shape.append(value(row).unwrap_or(shape.template()), &mut data);
        }
        Self { validity, layout: Layout::Shape(Box::new(shape)), data: data.into() }
    }

    fn of_shapes<'a>(
        rows: usize,
        value: impl Fn(usize) -> Option<&'a [u8]>,
        validity: Validity,
        shapes: Vec<Shape>,
    ) -> Self {
        let (mut data, mut of, mut starts) = (vec![], Vec::with_capacity(rows), Vec::with_capacity(rows));
        for row in 0..rows {
            let value = value(row);
            let at = value.and_then(|value| shapes.iter().position(|s| s.length() == value.len())).unwrap_or(0);
            of.push(at as u8);
            starts.push(data.len() as u32);
            if let (Some(value), Some(shape)) = (value, shapes.get(at)) {
                shape.append(value, &mut data);
            }
        }
        let layout = Layout::Shapes(Box::new(Shapes { shapes: shapes.into(), of: of.into(), starts: starts.into() }));
        Self { validity, layout, data: data.into() }
    }

    fn plain<'a>(rows: usize, value: impl Fn(usize) -> Option<&'a [u8]>) -> Self {
        let is_valid = |row: usize| value(row).is_some();
        let validity = Validity::of(rows, (0..rows).filter(|row| is_valid(*row)).count(), is_valid);
        let (mut data, mut ends) = (vec![], Vec::with_capacity(rows));
        for row in 0..rows {
            data.extend_from_slice(value(row).unwrap_or_default());
            ends.push(data.len() as u32);
        }
        Self { validity, layout: Layout::Plain { ends: ends.into() }, data: data.into() }
    }

    /// Brings what unpacking needs first into the processor's caches; a number without meaning.
    #[inline]
    pub fn touch_layout(&self) -> usize {
        match &self.layout {
            Layout::Shape(shape) => shape.kept(),
            Layout::Shapes(by_row) => by_row.of.len(),
            Layout::Plain { ends } => ends.len(),
        }
    }

    /// The same for the rest of what unpacking a row needs.
    #[inline]
    pub fn touch_value(&self, row: usize) -> usize {
        match self.packed(row) {
            Some(Packed::Shaped(shape, kept)) => shape.touch() + usize::from(kept.first().copied().unwrap_or(0)),
            Some(Packed::Plain(value)) => usize::from(value.first().copied().unwrap_or(0)),
            None => 0,
        }
    }

    /// Appends the value of a row; whether it is there, and not NULL.
    #[inline]
    pub fn append_to(&self, row: usize, out: &mut Vec<u8>) -> bool {
        let Some(packed) = self.packed(row) else { return false };
        match packed {
            Packed::Shaped(shape, kept) => shape.restore(kept, out),
            Packed::Plain(value) => out.extend_from_slice(value),
        }
        true
    }

    /// Appends the value of a row, of which only the bytes in `parts`, which ascend, are looked at: the others may be
    /// any.
    #[inline]
    pub fn append_parts_to(&self, row: usize, parts: &[Range<usize>], out: &mut Vec<u8>) -> bool {
        let Some(packed) = self.packed(row) else { return false };
        match packed {
            Packed::Shaped(shape, kept) => shape.restore_parts(kept, parts, out),
            Packed::Plain(value) => {
                let start = out.len();
                out.resize(start + value.len(), 0);
                let out = out.get_mut(start..).unwrap_or_default();
                for part in parts {
                    let part = part.start.min(value.len())..part.end.min(value.len());
                    if let (Some(into), Some(bytes)) = (out.get_mut(part.clone()), value.get(part)) {
                        into.copy_from_slice(bytes);
                    }
                }
            }
        }
        true
    }

    /// What is kept of the value of a row; `None` where it is NULL.
    #[inline]
    fn packed(&self, row: usize) -> Option<Packed<'_>> {
        if !self.validity.get(row) {
            return None;
        }
        Some(match &self.layout {
            Layout::Shape(shape) => {
                let start = row.saturating_mul(shape.kept());
                Packed::Shaped(shape, self.data.get(start..).unwrap_or_default())
            }
            Layout::Shapes(by_row) => {
                let shape = by_row.shapes.get(usize::from(*by_row.of.get(row)?))?;
                Packed::Shaped(shape, self.data.get(*by_row.starts.get(row)? as usize..).unwrap_or_default())
            }
            Layout::Plain { ends } => {
                let start = row.checked_sub(1).and_then(|before| ends.get(before)).copied().unwrap_or(0);
                Packed::Plain(self.data.get(start as usize..*ends.get(row)? as usize).unwrap_or_default())
            }
        })
    }

    /// The value of a row; `None` where it is NULL.
    pub fn get(&self, row: usize) -> Option<Vec<u8>> {
        let mut out = vec![];
        self.append_to(row, &mut out).then_some(out)
    }

    /// The value of a row as text; bytes that are none are replaced.
    pub fn text(&self, row: usize) -> Option<String> {
        let bytes = self.get(row)?;
        Some(String::from_utf8(bytes).unwrap_or_else(|e| String::from_utf8_lossy(e.as_bytes()).into_owned()))
    }

    /// Whether all values are NULL.
    pub fn is_all_null(&self) -> bool {
        matches!(self.validity, Validity::None)
    }

    /// The memory it holds.
    pub fn heap_bytes(&self) -> usize {
        let layout = match &self.layout {
            Layout::Shape(shape) => shape.heap_bytes(),
            Layout::Shapes(by_row) => {
                let shapes = by_row.shapes.iter().map(Shape::heap_bytes).sum::<usize>();
                size_of::<Shapes>() + shapes + by_row.of.len() + by_row.starts.len() * size_of::<u32>()
            }
            Layout::Plain { ends } => ends.len() * size_of::<u32>(),
        };
        layout + self.data.len() + self.validity.heap_bytes()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn pack(values: &[Option<Vec<u8>>]) -> PackedBytes {
        PackedBytes::pack(values.len(), |row| values[row].as_deref())
    }

    #[test]
    fn what_all_have_in_common_is_kept_once() {
        let names: Vec<_> = (0..1000).map(|i| Some(format!("data-6f1c0a-{i:04}.parquet").into_bytes())).collect();
        let packed = pack(&names);
        assert!(packed.heap_bytes() < 1000 * 3 + 200, "{}", packed.heap_bytes());
        assert_eq!(packed.text(321).unwrap(), "data-6f1c0a-0321.parquet");
        let same = pack(&vec![Some(vec![7; 100]); 1000]);
        assert!(same.heap_bytes() < 200);
        assert_eq!(same.get(999), Some(vec![7; 100]));
        assert!(pack(&[None, None]).is_all_null());
    }

    proptest! {
        #[test]
        fn values_come_back(values in prop_oneof![
            proptest::collection::vec(proptest::option::of(proptest::collection::vec(any::<u8>(), 0..40)), 0..60),
            proptest::collection::vec(proptest::option::of(proptest::collection::vec(0u8..2, 0..3)), 0..60),
            proptest::collection::vec(proptest::option::of("[0-9a-g-]{6}".prop_map(String::into_bytes)), 0..9),
            proptest::collection::vec(proptest::option::of("[0-9a-f]{3}-[0-9a-f]{4}".prop_map(String::into_bytes)), 0..60),
        ]) {
            let packed = pack(&values);
            let got: Vec<_> = (0..values.len()).map(|row| packed.get(row)).collect();
            prop_assert_eq!(got, values);
        }

        #[test]
        fn parts_are_those_of_the_values(
            values in proptest::collection::vec(proptest::option::of(proptest::collection::vec(0u8..3, 9..12)), 0..60),
            cuts in proptest::collection::btree_set(0usize..14, 0..6),
        ) {
            let packed = pack(&values);
            let cuts: Vec<_> = cuts.into_iter().collect();
            let parts: Vec<_> = cuts.as_chunks::<2>().0.iter().map(|[begin, end]| *begin..*end).collect();
            for (row, value) in values.iter().enumerate() {
                let mut got = vec![];
                prop_assert_eq!(packed.append_parts_to(row, &parts, &mut got), value.is_some());
                let Some(value) = value else { continue };
                prop_assert_eq!(got.len(), value.len());
                for part in &parts {
                    let part = part.start.min(value.len())..part.end.min(value.len());
                    prop_assert_eq!(&got[part.clone()], &value[part]);
                }
            }
        }
    }
}
