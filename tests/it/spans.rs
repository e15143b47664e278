//! The spans of `tracing` that a scan opens.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

use crate::support::session::session;

/// Collects, of the spans of this crate, names and files, and how often each was entered.
#[derive(Clone, Default)]
struct Spans {
    next: Arc<AtomicU64>,
    opened: Arc<Mutex<BTreeMap<u64, Span>>>,
}

#[derive(Debug, Clone, Default)]
struct Span {
    name: &'static str,
    fields: BTreeMap<&'static str, String>,
    entered: usize,
}

impl Visit for Span {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.fields.insert(field.name(), format!("{value:?}"));
    }
}

impl Subscriber for Spans {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.is_span() && metadata.target().starts_with("datafusion_paimon")
    }

    fn new_span(&self, attributes: &Attributes<'_>) -> Id {
        let id = self.next.fetch_add(1, Ordering::Relaxed) + 1;
        let mut span = Span { name: attributes.metadata().name(), ..Span::default() };
        attributes.record(&mut span);
        self.opened.lock().unwrap().insert(id, span);
        Id::from_u64(id)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, _: &Event<'_>) {}

    fn enter(&self, id: &Id) {
        if let Some(span) = self.opened.lock().unwrap().get_mut(&id.into_u64()) {
            span.entered += 1;
        }
    }

    fn exit(&self, _: &Id) {}
}

/// The spans of a query. Its runtime has one thread, so that all of it is under the subscriber.
async fn spans(sql: &str) -> Vec<Span> {
    let context = session().unwrap();
    let spans = Spans::default();
    let guard = tracing::subscriber::set_default(spans.clone());
    context.sql(sql).await.unwrap().collect().await.unwrap();
    drop(guard);
    let opened = spans.opened.lock().unwrap();
    opened.values().cloned().collect()
}

#[tokio::test]
async fn opening_fetching_and_decoding_a_file_are_spans_that_name_it() {
    for table in ["parquet", "orc", "avro"] {
        let spans = spans(&format!("SELECT * FROM paimon.append.many_batches_{table}")).await;
        for name in ["open", "fetch", "decode"] {
            let of_file = |span: &&Span| {
                span.name == name && span.fields["file"].ends_with(&format!(".{table}")) && span.entered > 0
            };
            assert!(spans.iter().any(|span| of_file(&span)), "{table} {name}: {spans:?}");
        }
        assert!(!spans.iter().any(|span| span.name == "merge"), "{spans:?}");
    }
}

#[tokio::test]
async fn merging_is_a_span() {
    for table in ["pages", "pages_aggregated"] {
        let spans = spans(&format!("SELECT * FROM paimon.merge.{table}")).await;
        let merge = spans.iter().find(|span| span.name == "merge" && span.fields.contains_key("runs")).unwrap();
        assert!(merge.entered > 0 && merge.fields["runs"].parse::<usize>().unwrap() > 1, "{merge:?}");
    }
}
