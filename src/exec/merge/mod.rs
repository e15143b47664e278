//! Merging the versions of keys, in columns.
//!
//! Merging is split in two. First only the key, sequence and row-kind columns of a section are read, and a
//! [`tournament`] over its sorted runs finds which rows survive, as one bitmap a file. Then the value columns are read
//! like those of files that need no merging, under these bitmaps: no value is copied row by row, and filters, pruning and
//! late materialisation work as everywhere else.

pub mod aggregate;
pub mod keys;
pub mod loser_tree;
pub mod section;
pub mod survivors;
pub mod tournament;
