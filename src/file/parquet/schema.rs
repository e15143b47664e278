//! Wanted columns against the schema of a file: what is read, as which Arrow type, and what is done after.
//!
//! In: a [`Footer`] and the wanted fields. Out: a [`Projection`]: the leaves to read, the schema that the decoder is
//! told to use (text and bytes as views at once, and so on), and a [`Conversion`] for each column. Columns and nested
//! fields are found by name; what no one wants is neither read nor decoded. A column that the file lacks is NULL, and
//! so is a struct none of whose wanted fields the file has.
//!
//! Leaves are numbered depth-first, in Parquet as in the Arrow types that its schema stands for, which is all that
//! the positions here rest on.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::datatypes::{DataType as ArrowType, Field, FieldRef, Fields, Schema, SchemaRef, TimeUnit};

use super::convert::{Conversion, How};
use super::footer::Footer;
use crate::error::{Error, Result};
use crate::spec::arrow_type::arrow_schema;
use crate::spec::data_type::{DataField, DataType, TypeKind};

/// What is read of a file, and what becomes of it.
pub(super) struct Projection {
    /// The schema of the batches that are handed out.
    pub schema: SchemaRef,
    /// All columns of the file, the wanted ones in the types that the decoder shall give.
    pub reader_schema: SchemaRef,
    /// The leaves to read, ascending.
    pub leaves: Vec<usize>,
    /// For each column that is handed out: its position among those decoded, and the way to its type.
    pub columns: Vec<(Option<usize>, Conversion)>,
}

/// One type of the file, mapped.
struct Mapped {
    /// The type to ask of the decoder, unwanted parts included.
    hint: ArrowType,
    /// The type that the decoder gives; `None` where nothing is read.
    decoded: Option<ArrowType>,
    leaves: Vec<usize>,
    conversion: Conversion,
}

/// Why a type of the file is none for the wanted one.
type Mismatch = String;

/// Maps the wanted columns.
pub(super) fn project(footer: &Footer, wanted: &[DataField]) -> Result<Projection> {
    let schema = arrow_schema(wanted);
    let mapped = children(footer, wanted, schema.fields(), &footer.fields, 0)
        .map_err(|(name, why)| Error::corrupt(format!("column '{name}': {why}")))?;
    Ok(Projection {
        schema,
        reader_schema: Arc::new(Schema::new(mapped.hint)),
        leaves: mapped.leaves,
        columns: mapped.sources,
    })
}

/// For each wanted column the leaf of the file that holds its values just as they are handed out, and the type of it; none
/// for columns that are nested, converted, or lacking.
pub(super) fn plain_leaves(footer: &Footer, wanted: &[DataField]) -> Vec<Option<(usize, Field)>> {
    let schema = arrow_schema(wanted);
    let leaves = first_leaves(&footer.fields, 0);
    let plain = |(wanted, target): (&DataField, &FieldRef)| {
        let position = footer.fields.iter().position(|f| *f.name() == wanted.name)?;
        let (file, leaf) = (footer.fields.get(position)?, *leaves.get(position)?);
        if file.data_type().is_nested() {
            return None;
        }
        let int96 = footer.int96.get(leaf) == Some(&true);
        match scalar(&wanted.data_type.kind, file.data_type(), target.data_type(), int96)? {
            (hint, How::Same) => Some((leaf, Field::new(file.name(), hint, file.is_nullable()))),
            _ => None,
        }
    };
    wanted.iter().zip(schema.fields()).map(plain).collect()
}

/// The fields of a struct or of the root, mapped.
struct MappedFields {
    hint: Fields,
    decoded: Vec<FieldRef>,
    leaves: Vec<usize>,
    /// For each wanted field, its position among the decoded ones.
    sources: Vec<(Option<usize>, Conversion)>,
}

fn children(
    footer: &Footer,
    wanted: &[DataField],
    targets: &Fields,
    file: &Fields,
    first_leaf: usize,
) -> Result<MappedFields, (String, Mismatch)> {
    let mut mapped: Vec<Option<Mapped>> = file.iter().map(|_| None).collect();
    let mut sources = Vec::with_capacity(wanted.len());
    let leaves = first_leaves(file, first_leaf);
    // Of equal names the first counts.
    let by_name: HashMap<&str, usize> = file.iter().enumerate().rev().map(|(at, f)| (f.name().as_str(), at)).collect();
    for (field, target) in wanted.iter().zip(targets) {
        let position = by_name.get(field.name.as_str()).copied();
        let found = position.and_then(|at| Some((at, file.get(at)?, *leaves.get(at)?, mapped.get_mut(at)?)));
        let Some((position, column, leaf, slot)) = found else {
            sources.push((None, Conversion::null(target.data_type())));
            continue;
        };
        let one = map(footer, &field.data_type, column.data_type(), leaf, target.data_type())
            .map_err(|why| (field.name.clone(), why))?;
        sources.push((one.decoded.is_some().then_some(position), one.conversion.clone()));
        *slot = Some(one);
    }
    Ok(assemble(file, mapped, sources))
}

/// Puts mapped fields together, and turns positions in the file into positions among what is decoded.
fn assemble(file: &Fields, mapped: Vec<Option<Mapped>>, mut sources: Vec<(Option<usize>, Conversion)>) -> MappedFields {
    let (mut hint, mut decoded, mut leaves) = (Vec::with_capacity(file.len()), vec![], vec![]);
    let mut ranks = Vec::with_capacity(file.len());
    for (field, mapped) in file.iter().zip(mapped) {
        ranks.push(decoded.len());
        let Some(mapped) = mapped else {
            hint.push(Arc::clone(field));
            continue;
        };
        hint.push(with_type(field, mapped.hint));
        leaves.extend(mapped.leaves);
        decoded.extend(mapped.decoded.map(|decoded| with_type(field, decoded)));
    }
    for (source, _) in &mut sources {
        *source = source.and_then(|position| ranks.get(position).copied());
    }
    MappedFields { hint: hint.into(), decoded, leaves, sources }
}

fn map(
    footer: &Footer,
    wanted: &DataType,
    file: &ArrowType,
    leaf: usize,
    target: &ArrowType,
) -> Result<Mapped, Mismatch> {
    let mismatch = || Err(format!("expected {wanted}, found {file} in the file"));
    match (&wanted.kind, file, target) {
        (_, ArrowType::Null, _) => Ok(Mapped::nothing(file, target)),
        (TypeKind::Row(fields), ArrowType::Struct(columns), ArrowType::Struct(targets)) => {
            row(footer, fields, columns, leaf, targets, target)
        }
        (TypeKind::Variant, ArrowType::Struct(columns), _) if is_variant(columns) => {
            let how = if file == target { How::Same } else { How::Variant };
            Ok(Mapped::leaves(file.clone(), leaf..leaf + leaf_count(file), target, how))
        }
        (TypeKind::Array(wanted), ArrowType::List(element), ArrowType::List(target_element)) => {
            let element = part(footer, wanted, element, leaf, target_element)?;
            Ok(element.wrap(target, ArrowType::List, |element| How::List(Box::new(element))))
        }
        (TypeKind::Vector(wanted, _), ArrowType::List(element), ArrowType::FixedSizeList(target_element, _)) => {
            let element = part(footer, wanted, element, leaf, target_element)?;
            Ok(element.wrap(target, ArrowType::List, |element| How::Vector(Box::new(element))))
        }
        (TypeKind::Map(key, value), ArrowType::Map(entries, _), ArrowType::Map(target_entries, _)) => {
            map_entries(footer, (key, value), entries, leaf, (target, target_entries))
        }
        (TypeKind::Multiset(element), ArrowType::Map(entries, _), ArrowType::Map(target_entries, _)) => {
            map_entries(footer, (element, &TypeKind::Int.not_null()), entries, leaf, (target, target_entries))
        }
        (kind, file, _) => match scalar(kind, file, target, footer.int96.get(leaf) == Some(&true)) {
            Some((hint, how)) => Ok(Mapped::leaves(hint, leaf..leaf + 1, target, how)),
            None => mismatch(),
        },
    }
}

fn row(
    footer: &Footer,
    wanted: &[DataField],
    columns: &Fields,
    leaf: usize,
    targets: &Fields,
    target: &ArrowType,
) -> Result<Mapped, Mismatch> {
    let fields =
        children(footer, wanted, targets, columns, leaf).map_err(|(name, why)| format!("field '{name}': {why}"))?;
    if fields.decoded.is_empty() {
        return Ok(Mapped::nothing(&ArrowType::Struct(columns.clone()), target));
    }
    let decoded = ArrowType::Struct(fields.decoded.into());
    let how = if &decoded == target { How::Same } else { How::Struct(fields.sources) };
    Ok(Mapped {
        hint: ArrowType::Struct(fields.hint),
        decoded: Some(decoded),
        leaves: fields.leaves,
        conversion: Conversion { target: target.clone(), how },
    })
}

/// Key and value of a map; both are read always, since the decoder drops a map of which one lacks.
fn map_entries(
    footer: &Footer,
    (key, value): (&DataType, &DataType),
    entries: &FieldRef,
    leaf: usize,
    (target, target_entries): (&ArrowType, &FieldRef),
) -> Result<Mapped, Mismatch> {
    let (ArrowType::Struct(file), ArrowType::Struct(targets)) = (entries.data_type(), target_entries.data_type())
    else {
        return Err(format!("expected a map, found {entries} in the file"));
    };
    let ([file_key, file_value], [target_key, target_value]) = (&file[..], &targets[..]) else {
        return Err(format!("expected a map, found {entries} in the file"));
    };
    let key = part(footer, key, file_key, leaf, target_key).map_err(|why| format!("key: {why}"))?;
    let value_leaf = leaf + leaf_count(file_key.data_type());
    let value = part(footer, value, file_value, value_leaf, target_value).map_err(|why| format!("value: {why}"))?;
    let map_of = |key: FieldRef, value: FieldRef| {
        let fields = ArrowType::Struct(vec![key, value].into());
        ArrowType::Map(with_type(entries, fields), false)
    };
    let decoded = map_of(key.decoded, value.decoded);
    let how =
        if &decoded == target { How::Same } else { How::Map(Box::new(key.conversion), Box::new(value.conversion)) };
    Ok(Mapped {
        hint: map_of(key.hint, value.hint),
        decoded: Some(decoded),
        leaves: key.leaves.into_iter().chain(value.leaves).collect(),
        conversion: Conversion { target: target.clone(), how },
    })
}

/// An element, key or value, of which something is read in any case.
struct Part {
    hint: FieldRef,
    decoded: FieldRef,
    leaves: Vec<usize>,
    conversion: Conversion,
}

/// Maps an element, key or value. Where nothing of it is wanted, its first leaf is read, for the lengths.
fn part(footer: &Footer, wanted: &DataType, file: &FieldRef, leaf: usize, target: &FieldRef) -> Result<Part, Mismatch> {
    let mapped = map(footer, wanted, file.data_type(), leaf, target.data_type())?;
    let leaves = if mapped.decoded.is_none() { vec![leaf] } else { mapped.leaves };
    Ok(Part {
        hint: with_type(file, mapped.hint),
        decoded: with_type(file, mapped.decoded.unwrap_or(ArrowType::Null)),
        leaves,
        conversion: mapped.conversion,
    })
}

impl Part {
    /// The list of this element.
    fn wrap(self, target: &ArrowType, list: fn(FieldRef) -> ArrowType, how: fn(Conversion) -> How) -> Mapped {
        let decoded = list(self.decoded);
        let how = if &decoded == target { How::Same } else { how(self.conversion) };
        Mapped {
            hint: list(self.hint),
            decoded: Some(decoded),
            leaves: self.leaves,
            conversion: Conversion { target: target.clone(), how },
        }
    }
}

impl Mapped {
    fn nothing(file: &ArrowType, target: &ArrowType) -> Self {
        Self { hint: file.clone(), decoded: None, leaves: vec![], conversion: Conversion::null(target) }
    }

    fn leaves(hint: ArrowType, leaves: std::ops::Range<usize>, target: &ArrowType, how: How) -> Self {
        let conversion = Conversion { target: target.clone(), how };
        Self { decoded: Some(hint.clone()), hint, leaves: leaves.collect(), conversion }
    }
}

/// The type to ask of the decoder for a value that is no nested one, and the rest of the way to `target`.
fn scalar(wanted: &TypeKind, file: &ArrowType, target: &ArrowType, int96: bool) -> Option<(ArrowType, How)> {
    use ArrowType as A;
    use TypeKind as T;
    let integer_bits = |file: &A| file.is_integer().then(|| file.primitive_width().map_or(0, |bytes| bytes * 8));
    let (hint, how) = match (wanted, file) {
        (T::Timestamp(_) | T::TimestampLtz(_), _) => return timestamp(wanted, file, target, int96),
        (_, _) if int96 => return None,
        (T::TinyInt | T::SmallInt | T::Int, f) if integer_bits(f).is_some_and(|bits| bits <= 32) => {
            (f.clone(), How::Cast)
        }
        (T::BigInt, f) if f.is_integer() => (f.clone(), How::Cast),
        (T::Float, A::Float16) | (T::Double, A::Float16 | A::Float32) => (file.clone(), How::Cast),
        (T::Decimal { scale, .. }, A::Decimal128(_, s)) if *s == *scale as i8 => (file.clone(), How::Decimal),
        (T::Decimal { scale, .. }, A::Decimal256(_, s)) if *s == *scale as i8 => (file.clone(), How::Cast),
        (T::Char(_) | T::VarChar(_), A::Utf8 | A::Binary) => (target.clone(), How::Same),
        (T::Binary(_) | T::VarBinary(_) | T::Blob | T::Geometry(_) | T::Geography(..), _) => {
            return bytes(file, target);
        }
        (T::Date, A::Int32) => (A::Int32, How::Cast),
        (T::Time(_), A::Int32) => (target.clone(), How::Same),
        (T::Time(_), A::Time64(unit)) => (file.clone(), How::Time { per_milli: per_milli(*unit)? }),
        (_, file) if file == target => (file.clone(), How::Same),
        _ => return None,
    };
    let how = if &hint == target { How::Same } else { how };
    Some((hint, how))
}

fn bytes(file: &ArrowType, target: &ArrowType) -> Option<(ArrowType, How)> {
    match (file, target) {
        (ArrowType::Binary, _) => Some((target.clone(), How::Same)),
        (ArrowType::Utf8, ArrowType::BinaryView) => Some((ArrowType::Utf8View, How::Cast)),
        (ArrowType::Utf8 | ArrowType::FixedSizeBinary(_), _) => Some((file.clone(), How::Cast)),
        _ => None,
    }
}

/// Timestamps of any unit, adjusted to UTC or not: both are held as what is in the file.
fn timestamp(wanted: &TypeKind, file: &ArrowType, target: &ArrowType, int96: bool) -> Option<(ArrowType, How)> {
    let (ArrowType::Timestamp(unit, zone), TypeKind::Timestamp(precision) | TypeKind::TimestampLtz(precision)) =
        (target, wanted)
    else {
        return None;
    };
    match file {
        ArrowType::FixedSizeBinary(12) if int96 => Some((file.clone(), How::Int96)),
        _ if file == target => Some((file.clone(), How::Same)),
        ArrowType::Timestamp(file_unit, _) if file_unit == unit && zone.is_some() => Some((target.clone(), How::Same)),
        ArrowType::Timestamp(..) => Some((file.clone(), How::Timestamp)),
        // Without annotation, the unit is the one that Paimon writes for the precision.
        ArrowType::Int64 => {
            let unit = match precision {
                0..=3 => TimeUnit::Millisecond,
                4..=6 => TimeUnit::Microsecond,
                _ => TimeUnit::Nanosecond,
            };
            let hint = ArrowType::Timestamp(unit, zone.clone());
            let how = if &hint == target { How::Same } else { How::Timestamp };
            Some((hint, how))
        }
        _ => None,
    }
}

fn per_milli(unit: TimeUnit) -> Option<i64> {
    match unit {
        TimeUnit::Microsecond => Some(1_000),
        TimeUnit::Nanosecond => Some(1_000_000),
        _ => None,
    }
}

/// A group of metadata with a value, a typed value, or both.
fn is_variant(columns: &Fields) -> bool {
    let has = |name: &str| columns.iter().any(|c| c.name() == name);
    has("metadata") && (has("value") || has("typed_value"))
}

fn with_type(field: &FieldRef, data_type: ArrowType) -> FieldRef {
    if field.data_type() == &data_type {
        return Arc::clone(field);
    }
    Arc::new(Field::new(field.name(), data_type, field.is_nullable()))
}

/// The first leaf of each field.
fn first_leaves(fields: &Fields, first: usize) -> Vec<usize> {
    let mut next = first;
    fields
        .iter()
        .map(|field| {
            let leaf = next;
            next += leaf_count(field.data_type());
            leaf
        })
        .collect()
}

/// How many leaves a type of a Parquet schema has.
fn leaf_count(data_type: &ArrowType) -> usize {
    match data_type {
        ArrowType::Struct(fields) => fields.iter().map(|f| leaf_count(f.data_type())).sum(),
        ArrowType::List(element) | ArrowType::Map(element, _) => leaf_count(element.data_type()),
        _ => 1,
    }
}

/// The same type with other child fields.
pub(super) fn rebuild_type(data_type: &ArrowType, child: &mut dyn FnMut(&Field) -> Field) -> ArrowType {
    match data_type {
        ArrowType::Struct(fields) => ArrowType::Struct(fields.iter().map(|f| child(f)).collect()),
        ArrowType::List(element) => ArrowType::List(Arc::new(child(element))),
        ArrowType::Map(entries, sorted) => ArrowType::Map(Arc::new(child(entries)), *sorted),
        other => other.clone(),
    }
}
