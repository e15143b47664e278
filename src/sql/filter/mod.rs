//! From DataFusion's filters to a [`Predicate`]: [`FilterTranslator`].
//!
//! In: an `Expr` over the columns of a table. Out: a predicate that takes every row for which the expression is TRUE,
//! and whether it takes no others. What cannot be said steps aside: below AND it is left out, below OR the whole OR is.
//!
//! An expression is translated for the outcome that is wanted of it, TRUE or FALSE; so NOT turns inwards, and NULL, which
//! is neither, needs no thought: `NOT (a < 5 AND b)` is TRUE where `a < 5` is FALSE or `b` is.

mod operand;

use datafusion::common::ScalarValue;
use datafusion::logical_expr::expr::{Between, InList, Like};
use datafusion::logical_expr::{BinaryExpr, Expr, Operator};

use crate::predicate::literal::{Comparison, Place, both_zeros, compare, place};
use crate::predicate::{Predicate, Test};
use crate::spec::data_type::{DataField, TypeKind};
use crate::spec::datum::Datum;
use operand::Operand;

/// A translated expression.
#[derive(Debug, Clone, PartialEq)]
pub struct Translated {
    /// Takes every row for which the expression has the wanted outcome.
    pub predicate: Predicate,
    /// Whether it takes no other row.
    pub exact: bool,
}

/// Translates expressions over the columns of one table.
#[derive(Debug, Clone, Copy)]
pub struct FilterTranslator<'f> {
    fields: &'f [DataField],
}

impl Translated {
    fn exactly(predicate: Predicate) -> Option<Self> {
        Some(Self { predicate, exact: true })
    }

    fn roughly(predicate: Predicate) -> Option<Self> {
        Some(Self { predicate, exact: false })
    }
}

impl<'f> FilterTranslator<'f> {
    /// A translator for a table with these columns.
    pub fn new(fields: &'f [DataField]) -> Self {
        Self { fields }
    }

    /// The rows for which the expression is TRUE; `None` where nothing can be said.
    pub fn translate(&self, expr: &Expr) -> Option<Translated> {
        self.wanted(expr, true)
    }

    /// What all filters say together.
    pub fn all(&self, filters: &[Expr]) -> Predicate {
        Predicate::all_of(filters.iter().filter_map(|f| self.translate(f)).map(|t| t.predicate))
    }

    /// The rows for which the expression is `want`.
    fn wanted(&self, expr: &Expr, want: bool) -> Option<Translated> {
        match expr {
            Expr::Alias(alias) => self.wanted(&alias.expr, want),
            Expr::Not(inner) => self.wanted(inner, !want),
            Expr::IsTrue(inner) if want => self.wanted(inner, true),
            Expr::IsFalse(inner) if want => self.wanted(inner, false),
            Expr::IsNotTrue(inner) if !want => self.wanted(inner, true),
            Expr::IsNotFalse(inner) if !want => self.wanted(inner, false),
            Expr::IsTrue(inner) | Expr::IsNotTrue(inner) => self.boolean_or_null(inner, false),
            Expr::IsFalse(inner) | Expr::IsNotFalse(inner) => self.boolean_or_null(inner, true),
            Expr::IsNull(inner) | Expr::IsUnknown(inner) => self.is_null(inner, want),
            Expr::IsNotNull(inner) | Expr::IsNotUnknown(inner) => self.is_null(inner, !want),
            Expr::Literal(value, _) => match value {
                ScalarValue::Boolean(Some(v)) if *v == want => Translated::exactly(Predicate::always()),
                ScalarValue::Boolean(_) | ScalarValue::Null => Translated::exactly(Predicate::never()),
                _ => None,
            },
            Expr::Column(_) => self.boolean(expr, want),
            Expr::BinaryExpr(BinaryExpr { op: op @ (Operator::And | Operator::Or), .. }) => {
                self.all_or_any(operands(expr, *op), (*op == Operator::And) == want, want)
            }
            Expr::BinaryExpr(binary) => self.comparison(binary, want),
            Expr::Between(between) => self.between(between, want),
            Expr::InList(list) => self.in_list(list, want),
            Expr::Like(like) => self.like(like, want),
            _ => None,
        }
    }

    fn all_or_any(&self, operands: Vec<&Expr>, all: bool, want: bool) -> Option<Translated> {
        let each: Vec<_> = operands.into_iter().map(|e| self.wanted(e, want)).collect();
        let exact = each.iter().all(|t| t.as_ref().is_some_and(|t| t.exact));
        if all {
            let said: Vec<_> = each.into_iter().flatten().map(|t| t.predicate).collect();
            return (!said.is_empty()).then(|| Translated { predicate: Predicate::all_of(said), exact });
        }
        let said = each.into_iter().map(|t| t.map(|t| t.predicate)).collect::<Option<Vec<_>>>()?;
        Some(Translated { predicate: Predicate::any_of(said), exact })
    }

    fn boolean(&self, expr: &Expr, want: bool) -> Option<Translated> {
        let operand = Operand::new(self.fields, expr)?;
        if operand.field.data_type.kind != TypeKind::Boolean || operand.through.is_some() {
            return None;
        }
        Translated::exactly(operand.leaf(Test::Equal(Datum::Boolean(want))))
    }

    /// Where a column is the value or NULL.
    fn boolean_or_null(&self, expr: &Expr, value: bool) -> Option<Translated> {
        let is = self.boolean(expr, value)?;
        let null = self.is_null(expr, true)?;
        Translated::exactly(Predicate::any_of([is.predicate, null.predicate]))
    }

    fn is_null(&self, expr: &Expr, want: bool) -> Option<Translated> {
        let operand = Operand::new(self.fields, expr).filter(|o| o.through.is_none())?;
        Translated::exactly(operand.leaf(if want { Test::IsNull } else { Test::IsNotNull }))
    }

    fn comparison(&self, binary: &BinaryExpr, want: bool) -> Option<Translated> {
        let (operand, literal, op) = match (binary.left.as_ref(), binary.right.as_ref()) {
            (column, Expr::Literal(literal, _)) => (Operand::new(self.fields, column)?, literal, binary.op),
            (Expr::Literal(literal, _), column) => (Operand::new(self.fields, column)?, literal, binary.op.swap()?),
            _ => return None,
        };
        let distinct = match op {
            Operator::IsDistinctFrom => want,
            Operator::IsNotDistinctFrom => !want,
            _ => {
                let comparison = Comparison::of(op)?;
                return self.compared(&operand, if want { comparison } else { comparison.negated() }, literal);
            }
        };
        if literal.is_null() {
            let operand = Some(operand).filter(|o| o.through.is_none())?;
            return Translated::exactly(operand.leaf(if distinct { Test::IsNotNull } else { Test::IsNull }));
        }
        if !distinct {
            return self.compared(&operand, Comparison::Equal, literal);
        }
        let differs = self.compared(&operand, Comparison::NotEqual, literal)?;
        let either = Predicate::any_of([differs.predicate, operand.leaf(Test::IsNull)]);
        Some(Translated { predicate: either, exact: differs.exact })
    }

    /// A comparison with NULL is never TRUE and never FALSE.
    fn compared(&self, operand: &Operand<'_>, comparison: Comparison, literal: &ScalarValue) -> Option<Translated> {
        if literal.is_null() {
            return Translated::exactly(Predicate::never());
        }
        let place = place(literal, &operand.field.data_type)?;
        let test = compare(comparison, place);
        Some(Translated {
            predicate: test.map_or_else(Predicate::never, |test| operand.leaf(test)),
            exact: operand.is_exact(),
        })
    }

    fn between(&self, between: &Between, want: bool) -> Option<Translated> {
        let inside = between.negated != want;
        let operand = Operand::new(self.fields, &between.expr)?;
        let (low, high) = match inside {
            true => (Comparison::GreaterOrEqual, Comparison::LessOrEqual),
            false => (Comparison::Less, Comparison::Greater),
        };
        let bound = |comparison, expr: &Expr| match expr {
            Expr::Literal(literal, _) => self.compared(&operand, comparison, literal),
            _ => None,
        };
        let bounds = [bound(low, &between.low), bound(high, &between.high)];
        let exact = bounds.iter().all(|t| t.as_ref().is_some_and(|t| t.exact));
        let said = bounds.into_iter().map(|t| t.map(|t| t.predicate));
        if inside {
            let said: Vec<_> = said.flatten().collect();
            return (!said.is_empty()).then(|| Translated { predicate: Predicate::all_of(said), exact });
        }
        let said = said.collect::<Option<Vec<_>>>()?;
        Some(Translated { predicate: Predicate::any_of(said), exact })
    }

    fn in_list(&self, list: &InList, want: bool) -> Option<Translated> {
        let inside = list.negated != want;
        let operand = Operand::new(self.fields, &list.expr)?;
        let mut literals = vec![];
        for expr in &list.list {
            let Expr::Literal(literal, _) = expr else { return None };
            if literal.is_null() {
                if inside {
                    continue;
                }
                return Translated::exactly(Predicate::never());
            }
            match place(literal, &operand.field.data_type)? {
                Place::At(value) if is_zero(&value) && inside => literals.extend(both_zeros(&value)),
                // Whether it is the other zero is not known.
                Place::At(value) if is_zero(&value) => {}
                Place::At(value) => literals.push(value),
                _ => {}
            }
        }
        let test = match (inside, literals.is_empty()) {
            (true, _) => Test::is_in(literals),
            (false, true) => Test::IsNotNull,
            (false, false) => Test::is_not_in(literals),
        };
        Some(Translated { predicate: operand.leaf(test), exact: operand.is_exact() })
    }

    /// `LIKE` with a prefix and what follows anything; `_` and further text are looked at by the engine.
    fn like(&self, like: &Like, want: bool) -> Option<Translated> {
        if like.case_insensitive || like.negated == want {
            return None;
        }
        let operand = Operand::new(self.fields, &like.expr)?;
        let is_text = matches!(operand.field.data_type.kind, TypeKind::Char(_) | TypeKind::VarChar(_));
        let Expr::Literal(pattern, _) = like.pattern.as_ref() else { return None };
        if pattern.is_null() {
            return Translated::exactly(Predicate::never());
        }
        let pattern = pattern.try_as_str().flatten().filter(|_| is_text)?;
        let (prefix, rest) = prefix_of(pattern, like.escape_char.unwrap_or('\\'));
        match (prefix.is_empty(), rest) {
            (_, "") => Translated::exactly(operand.leaf(Test::Equal(Datum::String(prefix)))),
            (true, "%") => Translated::exactly(operand.leaf(Test::IsNotNull)),
            (true, _) => Translated::roughly(operand.leaf(Test::IsNotNull)),
            (false, "%") => Translated::exactly(operand.leaf(Test::StartsWith(prefix))),
            (false, _) => Translated::roughly(operand.leaf(Test::StartsWith(prefix))),
        }
    }
}

/// The text before the first wildcard, and the rest of the pattern.
fn prefix_of(pattern: &str, escape: char) -> (String, &str) {
    let mut prefix = String::new();
    let mut chars = pattern.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '%' | '_' => return (prefix, pattern.get(at..).unwrap_or_default()),
            // Engines differ where nothing that needs it is escaped: leave that to them.
            c if c == escape => match chars.next() {
                Some((_, c)) if c == '%' || c == '_' || c == escape => prefix.push(c),
                _ => return (prefix, pattern.get(at..).unwrap_or_default()),
            },
            c => prefix.push(c),
        }
    }
    (prefix, "")
}

/// All operands of nested uses of one operator, left to right, without recursion.
fn operands(expr: &Expr, op: Operator) -> Vec<&Expr> {
    let (mut found, mut open) = (vec![], vec![expr]);
    while let Some(expr) = open.pop() {
        match expr {
            Expr::BinaryExpr(binary) if binary.op == op => open.extend([&*binary.right, &*binary.left]),
            other => found.push(other),
        }
    }
    found
}

fn is_zero(value: &Datum) -> bool {
    match value {
        Datum::Float(v) => *v == 0.0,
        Datum::Double(v) => *v == 0.0,
        _ => false,
    }
}

#[cfg(test)]
mod tests;
