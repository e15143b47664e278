//! The index of a stripe, as far as a part of it needs it: [`StripeIndex`].
//!
//! In: the footer of the stripe, and which columns are of interest. Out: which row groups may hold a row that fulfils a
//! predicate, and, for the row groups that are to be read, which bytes of which streams they need. Something that
//! contradicts itself is an error, upon which the stripe is read without its index.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use super::at_hand::AtHand;
use super::codec::{ByteStream, Start};
use super::fetch::Cut;
use super::parts::Part;
use super::prune::{Statistics, ask};
use super::row_index::{Entry, Positions, entries, positions};
use super::stripe::{StreamKey, StreamKind, StripeFooter};
use super::tail::Tail;
use crate::error::{Error, Result};
use crate::file::FilePredicate;
use crate::spec::data_type::DataField;

/// The longest index of a column that is looked at, decompressed.
const MAX_INDEX_BYTES: usize = 64 << 20;

/// The indexes of some columns of a stripe.
pub(super) struct StripeIndex<'a> {
    tail: &'a Tail,
    part: &'a Part,
    /// Of each column, decompressed.
    columns: HashMap<u32, Vec<u8>>,
}

impl<'a> StripeIndex<'a> {
    /// The indexes of these columns.
    pub(super) async fn load(
        tail: &'a Tail,
        part: &'a Part,
        footer: &StripeFooter,
        columns: &HashSet<u32>,
        at_hand: &mut AtHand<'_>,
    ) -> Result<Self> {
        let wanted = footer.wanted_indexes(columns);
        at_hand.read(wanted.iter().map(|(_, range)| range.clone())).await?;
        let plain = |(column, range): (u32, Range<u64>)| {
            let stream = ByteStream::new(at_hand.get(&range)?, tail.compression)?;
            Ok((column, stream.read_to_end(MAX_INDEX_BYTES)?))
        };
        Ok(Self { tail, part, columns: wanted.into_iter().map(plain).collect::<Result<_>>()? })
    }

    /// The entries of a column, one for each row group of the stripe.
    fn entries(&self, column: u32) -> Result<Vec<Entry<'_>>> {
        let bytes = self.columns.get(&column);
        let bytes = bytes.ok_or_else(|| Error::corrupt(format!("a stripe has no row index of column {column}")))?;
        let entries = entries(bytes)?;
        let groups = self.part.stripe.rows.div_ceil(self.tail.row_group_rows.max(1));
        if entries.len() as u64 != groups {
            let message = format!("a row index of {} row groups, the stripe has {groups}", entries.len());
            return Err(Error::corrupt(message));
        }
        Ok(entries)
    }

    /// The number in the stripe of the part's first row group.
    fn first_group(&self) -> usize {
        usize::try_from(self.part.rows.start / self.tail.row_group_rows.max(1)).unwrap_or(usize::MAX)
    }

    /// For each row group of the part whether it may hold a row that fulfils the predicate.
    pub(super) fn matching(&self, predicate: &FilePredicate, columns: &[(u32, &DataField)]) -> Result<Vec<bool>> {
        let rows = |group: Part| group.rows.end.saturating_sub(group.rows.start);
        let rows: Vec<u64> = self.part.row_groups(self.tail.row_group_rows).map(rows).collect();
        let mut bounds = vec![vec![]; rows.len()];
        for (column, field) in columns {
            let entries = self.entries(*column)?;
            for (bounds, entry) in bounds.iter_mut().zip(entries.iter().skip(self.first_group())) {
                bounds.push(entry.bounds(&field.data_type)?);
            }
        }
        ask(predicate, &Statistics { columns: columns.to_vec(), rows, bounds })
    }

    /// The row groups of the part that are to be read, in runs, with the bytes that they need of these columns.
    pub(super) fn cuts(&self, footer: &StripeFooter, columns: &HashSet<u32>, kept: &[bool]) -> Result<Vec<Cut>> {
        let streams = footer.wanted(columns);
        let positions = self.positions(footer, columns, &streams)?;
        let rows: Vec<_> = self.part.row_groups(self.tail.row_group_rows).map(|group| group.rows).collect();
        let runs = kept.chunk_by(|a, b| a == b).scan(0, |at, run| {
            let groups = *at..*at + run.len();
            *at = groups.end;
            Some((groups, run.first() == Some(&true)))
        });
        let cut = |groups: Range<usize>| {
            let first = rows.get(groups.start).map_or(0, |rows| rows.start);
            let end = groups.end.checked_sub(1).and_then(|last| rows.get(last)).map_or(first, |rows| rows.end);
            let in_stripe =
                self.first_group().saturating_add(groups.start)..self.first_group().saturating_add(groups.end);
            let stream = |(key, range): &(StreamKey, Range<u64>)| {
                let (range, start) = match positions.get(key) {
                    Some(positions) => self.bytes(positions, &in_stripe, range)?,
                    None => (range.clone(), Start::default()),
                };
                Ok((*key, range, start))
            };
            let streams = streams.iter().map(stream).collect::<Result<_>>()?;
            Ok(Cut { rows: first..end, first_row: first, by_index: true, streams })
        };
        runs.filter(|(_, kept)| *kept).map(|(groups, _)| cut(groups)).collect()
    }

    /// What of a stream some row groups of the stripe need.
    fn bytes(&self, positions: &Positions, groups: &Range<usize>, stream: &Range<u64>) -> Result<(Range<u64>, Start)> {
        let length = stream.end.saturating_sub(stream.start);
        let (part, start) = positions.part(groups, length, self.tail.compression)?;
        Ok((stream.start.saturating_add(part.start)..stream.start.saturating_add(part.end), start))
    }

    /// The positions in all streams but those of dictionaries, which are read whole.
    fn positions(
        &self,
        footer: &StripeFooter,
        columns: &HashSet<u32>,
        streams: &[(StreamKey, Range<u64>)],
    ) -> Result<HashMap<StreamKey, Positions>> {
        let mut found = HashMap::new();
        for column in columns {
            let lacks = || Error::corrupt(format!("the stripe's footer says nothing of column {column}"));
            let kind = self.tail.types.get(*column as usize).ok_or_else(lacks)?.kind;
            let encoding = *footer.encodings.get(*column as usize).ok_or_else(lacks)?;
            let has_present = streams.iter().any(|(key, _)| *key == (*column, StreamKind::Present));
            let of_column = positions(&self.entries(*column)?, kind, encoding, has_present, self.tail.compression)?;
            found.extend(of_column.into_iter().map(|(kind, positions)| ((*column, kind), positions)));
            let of_dictionary =
                |kind| encoding.dictionary && matches!(kind, StreamKind::Length | StreamKind::DictionaryData);
            for ((_, kind), _) in streams.iter().filter(|((of, _), _)| of == column) {
                if !found.contains_key(&(*column, *kind)) && !of_dictionary(*kind) {
                    return Err(Error::corrupt(format!(
                        "the row index of column {column} has no positions in {kind:?}"
                    )));
                }
            }
        }
        Ok(found)
    }
}
