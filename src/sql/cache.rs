//! The session's cache in SQL: `SELECT * FROM paimon_cache()` shows what is kept, `SELECT paimon_clear_cache()` forgets it.
//!
//! In: the [`PaimonCache`] of the session. Out: a row for each value; the number of values that were forgotten.

use std::sync::Arc;

use arrow::array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use arrow::datatypes::DataType;
use datafusion::catalog::{MemTable, TableFunctionArgs, TableFunctionImpl, TableProvider};
use datafusion::common::ScalarValue;
use datafusion::error::Result;
use datafusion::logical_expr::{ColumnarValue, ScalarUDF, Volatility, create_udf};

use crate::cache::PaimonCache;
use crate::error::Error;

/// The table function that shows what is kept.
pub const SHOW_CACHE: &str = "paimon_cache";

/// The function that forgets what is kept.
const CLEAR_CACHE: &str = "paimon_clear_cache";

/// `paimon_cache()`: kind, name, bytes and hits of each value that is kept, as it is when the query is planned; the value
/// that was used last comes first.
#[derive(Debug)]
pub struct ShowCache;

impl TableFunctionImpl for ShowCache {
    fn call_with_args(&self, args: TableFunctionArgs<'_, '_>) -> Result<Arc<dyn TableProvider>> {
        if !args.exprs().is_empty() {
            return Err(Error::invalid_option(format!("{SHOW_CACHE}() has no arguments")).into());
        }
        let cache = args.session().config().get_extension::<PaimonCache>().unwrap_or_default();
        let kept = cache.cache().list();
        let texts = |text: fn(&crate::cache::Kept) -> &str| -> ArrayRef {
            Arc::new(kept.iter().map(|k| Some(text(k))).collect::<StringArray>())
        };
        let longs = |number: fn(&crate::cache::Kept) -> u64| -> ArrayRef {
            Arc::new(kept.iter().map(|k| i64::try_from(number(k)).ok()).collect::<Int64Array>())
        };
        let batch = RecordBatch::try_from_iter([
            ("kind", texts(|k| k.key.kind.as_str())),
            ("name", texts(|k| &k.key.name)),
            ("bytes", longs(|k| k.bytes as u64)),
            ("hits", longs(|k| k.hits)),
        ])?;
        Ok(Arc::new(MemTable::try_new(batch.schema(), vec![vec![batch]])?))
    }
}

/// `paimon_clear_cache()`, which gives the number of values that were kept until then.
pub fn clear_cache(cache: Arc<PaimonCache>) -> ScalarUDF {
    let clear = move |_: &[ColumnarValue]| {
        let kept = cache.cache().list().len();
        cache.clear();
        Ok(ColumnarValue::Scalar(ScalarValue::Int64(i64::try_from(kept).ok())))
    };
    create_udf(CLEAR_CACHE, vec![], DataType::Int64, Volatility::Volatile, Arc::new(clear))
}
