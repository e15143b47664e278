//! The side of a comparison that is a column, perhaps below a cast: [`Operand`].
//!
//! In: an expression. Out: the column, where the cast loses nothing: different values stay different and in order, so
//! that a literal can be compared with the column itself. Casts that round or depend on a zone are no operands. Where a
//! value overflows, the engine's comparison is an error or NULL, which takes no row.

use arrow::datatypes::DataType as ArrowType;
use datafusion::logical_expr::Expr;

use crate::predicate::literal::{digits, keeps_order};
use crate::predicate::{ColumnRef, Predicate, Test};
use crate::spec::arrow_type::column_type;
use crate::spec::data_type::{DataField, TypeKind};

/// A column, perhaps cast.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Operand<'f> {
    /// The column.
    pub field: &'f DataField,
    /// The type that it is cast to.
    pub through: Option<ArrowType>,
}

impl<'f> Operand<'f> {
    /// The column of an expression, if it is one.
    pub fn new(fields: &'f [DataField], expr: &Expr) -> Option<Self> {
        match expr {
            Expr::Column(column) => {
                let field = fields.iter().find(|f| f.name == column.name)?;
                Some(Self { field, through: None })
            }
            Expr::Alias(alias) => Self::new(fields, &alias.expr),
            Expr::Cast(cast) => Self::new(fields, &cast.expr)?.cast(cast.field.data_type()),
            Expr::TryCast(cast) => Self::new(fields, &cast.expr)?.cast(cast.field.data_type()),
            _ => None,
        }
    }

    fn cast(self, to: &ArrowType) -> Option<Self> {
        let from = column_type(&self.field.data_type);
        if self.through.is_some() || !keeps_order(&from, to) {
            return None;
        }
        Some(Self { through: Some(to.clone()).filter(|to| *to != from), ..self })
    }

    /// A leaf on the column.
    pub fn leaf(&self, test: Test) -> Predicate {
        let DataField { id, name, data_type, .. } = self.field;
        Predicate::leaf(ColumnRef { id: *id, name: name.clone(), data_type: data_type.clone() }, test)
    }

    /// Whether a comparison takes the very rows that DataFusion takes: not so with NaN and the zeros, nor with times
    /// that the type of the cast cannot hold.
    pub fn is_exact(&self) -> bool {
        use ArrowType::{Decimal128, Decimal256, Float32, Float64, Timestamp};
        let is_float = matches!(self.field.data_type.kind, TypeKind::Float | TypeKind::Double);
        !is_float
            && match &self.through {
                Some(Timestamp(..) | Float32 | Float64) => false,
                Some(Decimal128(p, s) | Decimal256(p, s)) => {
                    let from = digits(&column_type(&self.field.data_type));
                    from.is_some_and(|(whole, _)| i16::from(*p) - i16::from(*s) >= whole)
                }
                _ => true,
            }
    }
}

#[cfg(test)]
mod tests {
    use ArrowType::*;
    use arrow::datatypes::TimeUnit;

    use super::*;

    #[test]
    fn casts_that_lose_nothing() {
        let seconds = |unit| Timestamp(unit, None);
        for (from, to) in [
            (Int32, Int64),
            (Int32, Decimal128(12, 2)),
            (Decimal128(10, 2), Decimal128(12, 4)),
            (Utf8View, Utf8),
            (seconds(TimeUnit::Second), seconds(TimeUnit::Nanosecond)),
            (Timestamp(TimeUnit::Second, Some("UTC".into())), Timestamp(TimeUnit::Second, Some("+01:00".into()))),
            (Date32, seconds(TimeUnit::Millisecond)),
            (Float32, Float64),
        ] {
            assert!(keeps_order(&from, &to), "{from} {to}");
        }
        for (from, to) in [
            (Int64, Int32),
            (Decimal128(15, 2), Decimal128(15, 1)),
            (Decimal128(10, 2), Float64),
            (Int32, Utf8),
            (Utf8View, Int32),
            (seconds(TimeUnit::Nanosecond), seconds(TimeUnit::Second)),
            (seconds(TimeUnit::Second), Timestamp(TimeUnit::Second, Some("UTC".into()))),
            (seconds(TimeUnit::Second), Date32),
            (Int8, UInt8),
            (Float64, Float32),
        ] {
            assert!(!keeps_order(&from, &to), "{from} {to}");
        }
    }
}
