//! Reading ahead: bytes that will be needed are fetched while those before them are decoded.
//!
//! In: what a scan may spend ([`ReadAheadSettings`]). Out: for each output partition, and for each sorted run of a merge, a
//! [`Lane`] through which the formats' readers send for the ranges of their files. A range is fetched by a task of its
//! own as soon as the [`Budget`] has room for it, in the order in which the lane will need them; it holds its part of
//! the budget until it was decoded. A range that is needed before its turn came is fetched at once. So reading ahead only
//! ever moves a fetch forward in time: it changes neither the rows nor the order of rows and errors, and without any
//! budget each range is fetched when it is needed.
//!
//! ```text
//!   lane 0   |=decoding=|--fetched--|..on its way..|  waiting  |  waiting  |      each range: a `Pending`
//!   lane 1   |=decoding=|--fetched--|..on its way..|  waiting  |
//!             └───────── one Budget for all ───────┘
//! ```

mod budget;
mod lane;
mod metrics;
mod pending;
mod settings;

pub use budget::{Budget, Held};
pub use lane::{FileLane, Lane, ReadAhead};
pub use metrics::PrefetchMetrics;
pub use pending::Pending;
pub use settings::ReadAheadSettings;
