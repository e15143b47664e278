//! Reading: splits become streams of the table's rows.
//!
//! In: the `DataSplit`s that planning made, and what is wanted of them. Out: `RecordBatch`es of the table's schema. Knows
//! DataFusion's executor and the files below it; of planning it knows nothing but the splits.

pub mod evolution;
