//! A condition that statistics of files are asked for: [`FilePredicate`].
//!
//! In: a condition on columns of the schema that files were written with. Out: the questions to statistics it leads to, as
//! a whole and column by column. What does not change while files are read is turned into questions once for all files.

use std::sync::{Arc, OnceLock};

use arrow::datatypes::SchemaRef;
use datafusion::physical_expr::{DynamicFilterTracking, PhysicalExpr, split_conjunction};
use datafusion::physical_expr_common::physical_expr::snapshot_physical_expr;
use datafusion::physical_optimizer::pruning::{PruningPredicate, PruningPredicateBuilder};

use super::guard::guarded;
use super::narrowing::PruneSwitches;
use crate::error::{Error, Result};
use crate::spec::arrow_type::arrow_schema;
use crate::spec::data_type::DataField;

const NO_QUESTION: &str = "a condition could not be turned into a question to statistics";

/// A condition on columns of files of one schema. It may change while they are read, toward fewer rows.
#[derive(Debug, Clone)]
pub struct FilePredicate {
    fields: Vec<DataField>,
    schema: SchemaRef,
    expr: Arc<dyn PhysicalExpr>,
    max_in_list_size: usize,
    changes: bool,
    /// What it leads to, where it does not change.
    kept: Arc<Kept>,
}

#[derive(Debug, Default)]
struct Kept {
    whole: OnceLock<Question>,
    of_columns: OnceLock<Arc<[ColumnQuestion]>>,
}

/// What statistics are asked; `None` where nothing is to be learnt.
pub type Question = Option<Arc<PruningPredicate>>;

/// What statistics of one column are asked.
#[derive(Debug, Clone)]
pub struct ColumnQuestion {
    /// The column's name.
    pub column: String,
    /// The question.
    pub predicate: Arc<PruningPredicate>,
}

impl FilePredicate {
    /// A condition whose columns are named as, and numbered by, `fields`, columns of the file's own schema.
    pub fn new(fields: Vec<DataField>, expr: Arc<dyn PhysicalExpr>) -> Self {
        let schema = arrow_schema(&fields);
        let changes = DynamicFilterTracking::classify(&expr).contains_dynamic_filter();
        let max_in_list_size = PruneSwitches::default().max_in_list_size;
        Self { fields, schema, expr, max_in_list_size, changes, kept: Arc::default() }
    }

    /// The same, of which IN lists up to a length are compared with statistics.
    #[must_use]
    pub fn with_max_in_list_size(self, max_in_list_size: usize) -> Self {
        Self { max_in_list_size, kept: Arc::default(), ..self }
    }

    /// The columns it is about.
    pub fn fields(&self) -> &[DataField] {
        &self.fields
    }

    /// The condition.
    pub fn expr(&self) -> &Arc<dyn PhysicalExpr> {
        &self.expr
    }

    /// What it leads to, as it is now.
    pub fn question(&self) -> Result<Question> {
        self.once(&self.kept.whole, || self.build(&self.expr))
    }

    /// What its conjuncts that are about one column lead to, as they are now.
    pub fn column_questions(&self) -> Result<Arc<[ColumnQuestion]>> {
        self.once(&self.kept.of_columns, || {
            let now = guarded(NO_QUESTION, || snapshot_physical_expr(Arc::clone(&self.expr)).map_err(failed))?;
            let of_column = |conjunct: &Arc<dyn PhysicalExpr>| {
                let Some(predicate) = self.build(conjunct)? else { return Ok(None) };
                let column = predicate.required_columns().single_column().map(|column| column.name().to_owned());
                Ok(column.map(|column| ColumnQuestion { column, predicate }))
            };
            split_conjunction(&now).into_iter().filter_map(|conjunct| of_column(conjunct).transpose()).collect()
        })
    }

    /// A value that is kept where the condition does not change.
    fn once<T: Clone>(&self, kept: &OnceLock<T>, make: impl FnOnce() -> Result<T>) -> Result<T> {
        match kept.get() {
            Some(value) => Ok(value.clone()),
            None if self.changes => make(),
            None => make().map(|value| kept.get_or_init(|| value).clone()),
        }
    }

    fn build(&self, expr: &Arc<dyn PhysicalExpr>) -> Result<Question> {
        let built = guarded(NO_QUESTION, || {
            PruningPredicateBuilder::new()
                .with_file_schema(Arc::clone(&self.schema))
                .with_max_in_list_size(self.max_in_list_size)
                .try_build(Arc::clone(expr))
                .map_err(failed)
        })?;
        Ok((!built.always_true()).then(|| Arc::new(built)))
    }
}

fn failed(e: datafusion::error::DataFusionError) -> Error {
    Error::internal(NO_QUESTION).caused_by(e)
}

#[cfg(test)]
mod tests {
    use datafusion::physical_expr::expressions::DynamicFilterPhysicalExpr;
    use datafusion::physical_expr::planner::logical2physical;
    use datafusion::prelude::{Expr, col, lit};

    use super::*;
    use crate::spec::data_type::DataType;

    fn fields() -> Vec<DataField> {
        ["a", "b"]
            .iter()
            .zip(0..)
            .map(|(name, id)| DataField::new(id, *name, DataType::parse("INT").unwrap()))
            .collect()
    }

    fn physical(expr: &Expr) -> Arc<dyn PhysicalExpr> {
        logical2physical(expr, &arrow_schema(&fields()))
    }

    #[test]
    fn conjuncts_of_one_column_are_questions() {
        let expr = col("a").gt(lit(3)).and(col("b").lt(col("a"))).and(col("b").eq(lit(1)).or(col("b").eq(lit(2))));
        let questions = FilePredicate::new(fields(), physical(&expr)).column_questions().unwrap();
        assert_eq!(questions.iter().map(|q| q.column.as_str()).collect::<Vec<_>>(), ["a", "b"]);
        let nothing = FilePredicate::new(fields(), physical(&col("a").lt(col("b"))));
        assert!(nothing.question().unwrap().is_none());
        assert!(nothing.column_questions().unwrap().is_empty());
    }

    #[test]
    fn long_lists_are_not_compared() {
        let list = |length: i32| physical(&col("a").in_list((0..length).map(lit).collect(), false));
        // Bloom filters are asked for lists of any length.
        let asks =
            |predicate: FilePredicate| predicate.question().unwrap().unwrap().predicate_expr().to_string() != "true";
        assert!(asks(FilePredicate::new(fields(), list(4))));
        assert!(asks(FilePredicate::new(fields(), list(4)).with_max_in_list_size(4)));
        assert!(!asks(FilePredicate::new(fields(), list(5)).with_max_in_list_size(4)));
    }

    #[test]
    fn questions_are_kept_unless_the_condition_changes() {
        let fixed = FilePredicate::new(fields(), physical(&col("a").gt(lit(3))));
        let (first, second) = (fixed.question().unwrap().unwrap(), fixed.clone().question().unwrap().unwrap());
        assert!(Arc::ptr_eq(&first, &second));

        let dynamic = Arc::new(DynamicFilterPhysicalExpr::new(vec![physical(&col("a"))], physical(&lit(true))));
        let predicate = FilePredicate::new(fields(), Arc::clone(&dynamic) as _);
        assert!(predicate.question().unwrap().is_none() && predicate.column_questions().unwrap().is_empty());
        dynamic.update(physical(&col("a").gt(lit(7)))).unwrap();
        assert!(predicate.question().unwrap().is_some());
        assert_eq!(predicate.column_questions().unwrap().len(), 1);
    }
}
