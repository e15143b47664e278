//! Batches whose decoding is a span of `tracing`: [`in_span`].
//!
//! A span that is held while something is waited for would take in what other tasks do meanwhile. So it is entered each
//! time the stream is asked, and left when the stream answers; its busy time is what decoding took.

use futures::StreamExt;
use futures::stream::poll_fn;
use tracing::Span;

use super::BatchStream;

/// The same batches, each of them made inside the span.
pub fn in_span(mut batches: BatchStream, span: Span) -> BatchStream {
    poll_fn(move |cx| span.in_scope(|| batches.poll_next_unpin(cx))).boxed()
}
