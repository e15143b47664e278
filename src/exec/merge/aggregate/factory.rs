//! Aggregate functions by name.
//!
//! In: the name of a function as tables' options say it, a column and the column's options. Out: its [`Aggregator`], or an
//! error that names function, column and type: for a name that Paimon does not have, for a type that the function does
//! not take, for options that contradict each other. Java: `FieldAggregatorFactory` and its implementations.

use std::marker::PhantomData;

use roaring::RoaringBitmap;

use super::art::Roaring64;
use super::bitmaps::{Set, Union};
use super::bools::Bools;
use super::collect::Collect;
use super::extreme::Extreme;
use super::fold::Subject;
use super::hll::HllSketch;
use super::listagg::ListAgg;
use super::maps::MergeMap;
use super::nested_partial_update::NestedPartialUpdate;
use super::nested_update::NestedUpdate;
use super::numeric::{Numeric, Reduction};
use super::options::NullKeys;
use super::pick::{Pick, Rule};
use super::theta::ThetaSketch;
use super::{Aggregator, FieldOptions};
use crate::error::{Error, Result};
use crate::spec::arrow_type::column_type;
use crate::spec::data_type::{DataField, MAX_LENGTH, TypeKind};

/// The aggregate function `function` for a column.
pub fn aggregator(function: &str, field: &DataField, options: &FieldOptions) -> Result<Box<dyn Aggregator>> {
    let subject =
        Subject { function: function.to_owned(), column: field.name.clone(), ignore_retract: options.ignore_retract };
    let maker = Maker { subject, field, options };
    match function {
        "sum" => maker.numeric(Reduction::Sum),
        "product" => maker.numeric(Reduction::Product),
        "max" => maker.extreme(true),
        "min" => maker.extreme(false),
        "last_value" => maker.pick(Rule::Last),
        "last_non_null_value" => maker.pick(Rule::LastNonNull),
        "first_value" => maker.pick(Rule::First),
        "first_non_null_value" | "first_not_null_value" => maker.pick(Rule::FirstNonNull),
        "primary-key" => maker.pick(Rule::PrimaryKey),
        "listagg" => maker.listagg(),
        "bool_and" => maker.bools(true),
        "bool_or" => maker.bools(false),
        "collect" => maker.collect(),
        "merge_map" => maker.merge_map(),
        "merge_map_with_keytime" => maker.merge_map_with_keytime(),
        "nested_update" => maker.nested_update(),
        "nested_partial_update" => maker.nested_partial_update(),
        "rbm32" => maker.union::<RoaringBitmap>(),
        "rbm64" => maker.union::<Roaring64>(),
        "hll_sketch" => maker.union::<HllSketch>(),
        "theta_sketch" => maker.union::<ThetaSketch>(),
        _ => Err(Error::unsupported(format!(
            "aggregate function '{function}' of column '{}' ({})",
            field.name, field.data_type
        ))),
    }
}

struct Maker<'a> {
    subject: Subject,
    field: &'a DataField,
    options: &'a FieldOptions,
}

type Made = Result<Box<dyn Aggregator>>;

impl Maker<'_> {
    fn kind(&self) -> &TypeKind {
        &self.field.data_type.kind
    }

    fn arrow_type(&self) -> arrow::datatypes::DataType {
        column_type(&self.field.data_type)
    }

    fn error(&self, what: impl std::fmt::Display) -> Error {
        Error::invalid_option(format!(
            "aggregate function '{}' of column '{}' ({}): {what}",
            self.subject.function, self.subject.column, self.field.data_type
        ))
    }

    fn takes(&self, right: bool, types: &str) -> Result<()> {
        if right { Ok(()) } else { Err(self.error(format_args!("it takes columns of type {types}"))) }
    }

    fn numeric(self, reduction: Reduction) -> Made {
        use TypeKind as T;
        let number = matches!(
            self.kind(),
            T::TinyInt | T::SmallInt | T::Int | T::BigInt | T::Float | T::Double | T::Decimal { .. }
        );
        self.takes(number, "number")?;
        let arrow_type = self.arrow_type();
        Ok(Box::new(Numeric { subject: self.subject, reduction, arrow_type }))
    }

    fn extreme(self, max: bool) -> Made {
        use TypeKind as T;
        let incomparable = matches!(
            self.kind(),
            T::Array(_) | T::Multiset(_) | T::Map(..) | T::Row(_) | T::Vector(..) | T::Variant | T::Blob
        ) || matches!(self.kind(), T::Geometry(_) | T::Geography(..));
        self.takes(!incomparable, "number, text, bytes, BOOLEAN, date or time")?;
        if matches!(self.kind(), T::Boolean) {
            return Ok(Box::new(Bools { subject: self.subject, all: !max }));
        }
        let arrow_type = self.arrow_type();
        Ok(Box::new(Extreme { subject: self.subject, max, arrow_type }))
    }

    fn pick(self, rule: Rule) -> Made {
        let arrow_type = self.arrow_type();
        Ok(Box::new(Pick { subject: self.subject, rule, arrow_type }))
    }

    fn bools(self, all: bool) -> Made {
        self.takes(matches!(self.kind(), TypeKind::Boolean), "BOOLEAN")?;
        Ok(Box::new(Bools { subject: self.subject, all }))
    }

    fn listagg(self) -> Made {
        self.takes(matches!(self.kind(), TypeKind::VarChar(MAX_LENGTH)), "STRING")?;
        let FieldOptions { list_agg_delimiter, distinct, .. } = self.options;
        Ok(Box::new(ListAgg { subject: self.subject, delimiter: list_agg_delimiter.clone(), distinct: *distinct }))
    }

    fn collect(self) -> Made {
        use TypeKind as T;
        let arrow_type = self.arrow_type();
        let T::Array(element) = self.kind() else { return Err(self.error("it takes columns of type ARRAY")) };
        let constructed = matches!(element.kind, T::Array(_) | T::Map(..) | T::Multiset(_) | T::Row(_) | T::Vector(..));
        Ok(Box::new(Collect { subject: self.subject, arrow_type, distinct: self.options.distinct, constructed }))
    }

    fn merge_map(self) -> Made {
        self.takes(matches!(self.kind(), TypeKind::Map(..)), "MAP")?;
        let arrow_type = self.arrow_type();
        Ok(Box::new(MergeMap { subject: self.subject, arrow_type, time_field: None }))
    }

    fn merge_map_with_keytime(self) -> Made {
        let fields = match self.kind() {
            TypeKind::Map(_, value) => match &value.kind {
                TypeKind::Row(fields) if fields.len() >= 2 => Some(fields),
                _ => None,
            },
            _ => None,
        };
        self.takes(fields.is_some(), "MAP whose values are ROW of two fields at least")?;
        let fields = fields.map_or(&[][..], Vec::as_slice);
        let place = match &self.options.ts_field {
            None => fields.len().saturating_sub(1),
            Some(name) => self.place(fields, name)?,
        };
        let text =
            fields.get(place).is_some_and(|f| matches!(f.data_type.kind, TypeKind::VarChar(_) | TypeKind::Char(_)));
        self.takes(text, "MAP whose values have a time field of text")?;
        let arrow_type = self.arrow_type();
        Ok(Box::new(MergeMap { subject: self.subject, arrow_type, time_field: Some(place) }))
    }

    /// The place of a field of the rows of a nested table or map.
    fn place(&self, fields: &[DataField], name: &str) -> Result<usize> {
        fields.iter().position(|f| f.name == name).ok_or_else(|| self.error(format_args!("there is no field '{name}'")))
    }

    fn places(&self, fields: &[DataField], names: &[String]) -> Result<Vec<usize>> {
        names.iter().map(|name| self.place(fields, name)).collect()
    }

    fn nested_fields(&self) -> Result<&[DataField]> {
        if let TypeKind::Array(element) = self.kind()
            && let TypeKind::Row(fields) = &element.kind
        {
            return Ok(fields);
        }
        Err(self.error("it takes columns of type ARRAY<ROW>"))
    }

    fn nested_update(self) -> Made {
        let fields = self.nested_fields()?;
        let (key, sequence) =
            (self.places(fields, &self.options.nested_key)?, self.places(fields, &self.options.nested_sequence_field)?);
        if key.is_empty() && self.options.nested_is_strict() {
            return Err(self.error("nested-sequence-field and nested-key-null-strategy need nested-key"));
        }
        for field in sequence.iter().filter_map(|place| fields.get(*place)) {
            if matches!(field.data_type.kind, TypeKind::Map(..) | TypeKind::Multiset(_) | TypeKind::Variant) {
                return Err(self.error(format_args!("sequence field '{}' has no order", field.name)));
            }
        }
        let arrow_type = self.arrow_type();
        Ok(Box::new(NestedUpdate {
            arrow_type,
            key,
            sequence,
            null_keys: self.options.nested_key_null_strategy.unwrap_or(NullKeys::Merge),
            count_limit: self.options.count_limit,
            strict: self.options.nested_is_strict(),
            subject: self.subject,
        }))
    }

    fn nested_partial_update(self) -> Made {
        let key = self.places(self.nested_fields()?, &self.options.nested_key)?;
        if key.is_empty() {
            return Err(self.error("it needs nested-key"));
        }
        let arrow_type = self.arrow_type();
        Ok(Box::new(NestedPartialUpdate {
            arrow_type,
            key,
            null_keys: self.options.nested_key_null_strategy.unwrap_or(NullKeys::Merge),
            strict: self.options.nested_key_null_strategy.is_some(),
            subject: self.subject,
        }))
    }

    fn union<S: Set + 'static>(self) -> Made {
        self.takes(matches!(self.kind(), TypeKind::VarBinary(_)), "VARBINARY")?;
        Ok(Box::new(Union { subject: self.subject, set: PhantomData::<S> }))
    }
}
