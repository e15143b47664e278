//! Merging the versions of keys, in columns.
//!
//! Merging is split in two. First only the key, sequence and row-kind columns of a section are read, and a
//! [`tournament`] over its sorted runs finds which rows survive, as one bitmap a file. Then the value columns are read
//! like those of files that need no merging, under these bitmaps: no value is copied row by row, and filters, pruning and
//! late materialisation work as everywhere else. Engines whose rows come from several versions do so for the keys that
//! have one version only; the others are combined (`combine`).

pub mod aggregate;
pub mod combine;
pub mod key_filter;
pub mod key_range;
pub mod key_reader;
pub mod keys;
pub mod loser_tree;
pub mod lowest_level;
pub mod marks;
pub mod memory;
pub mod section;
pub mod survivors;
pub mod ties;
pub mod tournament;
