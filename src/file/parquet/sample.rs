//! What a file's metadata tell before rows are read: [`candidates`] and [`samples`].
//!
//! In: a [`ReadRequest`]. Out: the rows that its predicate leaves by statistics of row groups and pages; or the least
//! value of a column in each page. Both are for files that are sorted by a column, where few pages hold a range of it.

use arrow::array::{Array, BooleanBufferBuilder};
use datafusion::common::pruning::PruningStatistics;
use datafusion::common::{Column, ScalarValue};

use super::access::{self, Group};
use super::footer::Footer;
use super::page_index;
use super::prune::Pruner;
use super::statistics::{PageStatistics, PlainColumns};
use crate::error::Result;
use crate::file::ReadRequest;
use crate::selection::RowSelection;

/// The rows that the predicate of a request leaves; `None` where it has none that statistics can be asked of.
pub async fn candidates(request: &ReadRequest) -> Result<Option<RowSelection>> {
    let path = request.file.path();
    let (footer, source) =
        Footer::load(&request.file, request.footers.as_deref()).await.map_err(|e| e.in_file(path))?;
    let Some(mut pruner) = Pruner::new(&footer, request) else { return Ok(None) };
    let groups = access::row_groups(&footer, &[], None, request.selection.as_ref()).map_err(|e| e.in_file(path))?;
    let all: Vec<usize> =
        footer.metadata.row_groups().iter().map(|g| usize::try_from(g.num_rows()).unwrap_or(0)).collect();
    Ok(Some(selection(&all, &pruner.narrow(&source, groups).await)))
}

/// A bit for each row of a file, whose row groups have `rows` rows.
fn selection(rows: &[usize], groups: &[Group]) -> RowSelection {
    let mut bits = BooleanBufferBuilder::new(0);
    let mut groups = groups.iter().peekable();
    for (position, rows) in rows.iter().enumerate() {
        match groups.next_if(|group| group.position == position) {
            Some(Group { selection: Some(selection), .. }) => bits.append_buffer(selection),
            Some(_) => bits.append_n(*rows, true),
            None => bits.append_n(*rows, false),
        }
    }
    RowSelection::new(bits.finish())
}

/// The least value of the request's only column in each page, with the number of rows before the page. Pages of which
/// nothing is known are left out.
pub async fn samples(request: &ReadRequest) -> Result<Vec<(usize, ScalarValue)>> {
    let path = request.file.path();
    let (footer, source) =
        Footer::load(&request.file, request.footers.as_deref()).await.map_err(|e| e.in_file(path))?;
    let footer = match page_index::load(&source, &footer, request.footers.as_deref()).await {
        Ok(Some(footer)) => footer,
        _ => return Ok(vec![]),
    };
    let columns = PlainColumns::new(&footer, &request.fields);
    let Some(column) = request.fields.first().and_then(|field| columns.get(&field.name)) else { return Ok(vec![]) };
    let name = Column::from_name("key");
    let (mut samples, mut first_row) = (vec![], 0);
    for group in access::row_groups(&footer, &[], None, None).map_err(|e| e.in_file(path))? {
        if let Some(rows) = page_index::page_rows(&footer, &group, column.leaf) {
            let pages = PageStatistics { footer: &footer, column, group: group.position, rows: &rows };
            let mut row = first_row;
            let mins = pages.min_values(&name);
            for (page, rows) in rows.iter().enumerate() {
                let min = mins.as_ref().filter(|mins| mins.is_valid(page));
                samples.extend(min.and_then(|m| ScalarValue::try_from_array(m, page).ok()).map(|value| (row, value)));
                row += rows;
            }
        }
        first_row += group.rows;
    }
    Ok(samples)
}

#[cfg(test)]
mod tests {
    use arrow::buffer::BooleanBuffer;

    use super::*;

    #[test]
    fn row_groups_are_laid_end_to_end() {
        let group = |position, selection: Option<Vec<bool>>| Group {
            position,
            rows: 2,
            selection: selection.map(BooleanBuffer::from),
            first_row: 0,
            few_pages: false,
        };
        let groups = [group(1, None), group(3, Some(vec![false, true]))];
        assert_eq!(selection(&[2, 2, 2, 2], &groups).positions(), [2, 3, 7]);
        assert_eq!(selection(&[2, 2], &[]).len(), 4);
    }
}
