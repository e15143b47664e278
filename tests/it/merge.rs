//! Merging parts of the keys of a section, or only the keys of a condition, gives the rows that merging all gives.

use std::sync::Arc;

use arrow::util::pretty::pretty_format_batches;
use datafusion::error::Result;
use datafusion::physical_plan::{ExecutionPlan, collect};
use datafusion::prelude::SessionContext;
use datafusion_paimon::PaimonScanExec;
use datafusion_paimon::exec::assign::{CombineUnit, ScanTask};
use datafusion_paimon::exec::merge::key_range::KeyPart;
use datafusion_paimon::exec::merge::section::MergeSection;

use crate::support::ran::Ran;
use crate::support::session::session;

/// Tables whose keys lie on many pages, and whether their versions are combined.
const TABLES: [(&str, bool); 3] = [("pages", false), ("pages_aggregated", true), ("many_keys", true)];

async fn rows(plan: Arc<dyn ExecutionPlan>, context: &SessionContext) -> Result<Vec<String>> {
    let batches = collect(plan, context.task_ctx()).await?;
    let mut lines: Vec<String> = pretty_format_batches(&batches)?.to_string().lines().map(str::to_owned).collect();
    lines.retain(|line| line.starts_with('|'));
    lines.sort_unstable();
    Ok(lines)
}

/// The tasks of a scan whose sections are cut into so many parts each.
fn parts(scan: &PaimonScanExec, parts: u64, combines: bool) -> Vec<Vec<ScanTask>> {
    let mut tasks = vec![];
    for split in scan.splits().unwrap().iter() {
        assert!(split.files.is_empty(), "all of the table is merged");
        for (section, part) in split.sections.iter().flat_map(|s| (0..parts).map(move |part| (s, part))) {
            let part = KeyPart { from: part, to: part + 1, of: parts };
            let section = Arc::new(MergeSection::new(split, section.clone(), Some(part)));
            let mut of_part: Vec<_> = section.units().map(ScanTask::Read).collect();
            of_part.extend(combines.then(|| ScanTask::Combine(CombineUnit { section, part: 0, parts: 1 })));
            tasks.push(of_part);
        }
    }
    tasks
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn parts_of_keys_together_are_all_keys() {
    for (table, combines) in TABLES {
        let context = session().unwrap();
        let plan = context.table(format!("paimon.merge.{table}")).await.unwrap().create_physical_plan().await.unwrap();
        let scan = plan.downcast_ref::<PaimonScanExec>().expect("a scan alone");
        let want = rows(Arc::clone(&plan), &context).await.unwrap();
        for number in [2, 3, 7, 40] {
            let tasks = parts(scan, number, combines);
            let cut = Arc::new(scan.with_tasks(tasks));
            let mut busy = 0;
            for partition in 0..cut.properties().partitioning.partition_count() {
                let batches =
                    datafusion::physical_plan::common::collect(cut.execute(partition, context.task_ctx()).unwrap());
                busy += usize::from(batches.await.unwrap().iter().any(|batch| batch.num_rows() > 0));
            }
            assert!(table == "many_keys" || busy > 1, "{table} was not cut");
            assert_eq!(rows(cut, &context).await.unwrap(), want, "{table} in {number} parts");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn conditions_on_keys_give_the_rows_that_fulfil_them() {
    let numbers =
        ["id = 300", "id IN (1, 2, 998, 7000)", "id > 10 AND id <= 42", "id < 0", "id % 100 = 0", "10 / id > 1"];
    let texts = ["name = 'k017'", "name > 'k29' AND id = 3", "name IN ('k000', 'k299', 'k300') OR id = 2", "id = 1"];
    for (table, conditions) in [("pages", &texts[..]), ("pages_aggregated", &numbers), ("many_keys", &numbers)] {
        for pushdown in [false, true] {
            let context = session().unwrap();
            let set = format!("SET datafusion.execution.parquet.pushdown_filters = {pushdown}");
            context.sql(&set).await.unwrap().collect().await.unwrap();
            let all =
                context.sql(&format!("SELECT * FROM paimon.merge.{table}")).await.unwrap().collect().await.unwrap();
            for condition in conditions {
                let filtered = context.read_batches(all.clone()).unwrap();
                let want = filtered.clone().filter(filtered.parse_sql_expr(condition).unwrap()).unwrap();
                let want = want.create_physical_plan().await;
                let fresh = session().unwrap();
                fresh.sql(&set).await.unwrap().collect().await.unwrap();
                let sql = format!("SELECT * FROM paimon.merge.{table} WHERE {condition}");
                let want = rows(want.unwrap(), &context).await.ok();
                // Merged for it, again with what was kept of that, and with all that is merged already.
                for context in [&fresh, &fresh, &context] {
                    let got = context.sql(&sql).await.unwrap().create_physical_plan().await.unwrap();
                    assert_eq!(rows(got, context).await.ok(), want, "{sql}, pushdown {pushdown}");
                }
            }
        }
    }
}

#[tokio::test]
async fn rows_found_under_a_condition_are_kept_for_it() {
    let context = session().unwrap();
    let ran = async |name: &str| {
        let sql = format!("SELECT v FROM paimon.merge.pages WHERE name = '{name}'");
        let ran = Ran::new(&context, &sql).await.unwrap();
        (ran.rows, ran.counted("bytes_scanned").0)
    };
    let (first, again, other) = (ran("k017").await, ran("k017").await, ran("k018").await);
    assert!(first.0 > 0);
    assert_eq!(first.0, again.0);
    // Footers are kept as well: of another key just the keys are read besides its values.
    assert!(again.1 < other.1, "{first:?} {again:?} {other:?}");
}

#[tokio::test]
async fn memory_that_does_not_suffice_is_an_error_that_says_so() {
    use datafusion::error::DataFusionError;
    use datafusion::execution::memory_pool::GreedyMemoryPool;
    use datafusion::execution::runtime_env::RuntimeEnvBuilder;
    use datafusion::prelude::SessionConfig;
    use datafusion_paimon::sql::{register, register_catalog};

    let pool = Arc::new(GreedyMemoryPool::new(10_000));
    let runtime = RuntimeEnvBuilder::new().with_memory_pool(pool).build_arc().unwrap();
    let context = SessionContext::new_with_config_rt(SessionConfig::new(), runtime);
    register(&context).unwrap();
    let warehouse = crate::support::session::data_dir().join("warehouse");
    register_catalog(&context, "paimon", &warehouse.to_string_lossy()).unwrap();
    let failed = context.sql("SELECT * FROM paimon.merge.many_keys").await.unwrap().collect().await.unwrap_err();
    assert!(matches!(failed.find_root(), DataFusionError::ResourcesExhausted(_)), "{failed}");
}
