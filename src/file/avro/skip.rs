//! Fields that nobody wants, passed over.
//!
//! In: a type of the writer's schema. Out: a [`Skip`] that moves a cursor behind one value. Arrays and maps that say
//! how many bytes they take are jumped over; neighbours of fixed size are one jump.

use super::cursor::{Cursor, Fault};
use super::schema::{Kind, Node};

/// How to get behind a value.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Skip {
    /// It takes no byte.
    Nothing,
    /// A varint.
    Varint,
    /// So many bytes.
    Fixed(usize),
    /// A length and as many bytes.
    Bytes,
    /// Items one after the other.
    Array(Box<Skip>),
    /// Strings, each with a value.
    Map(Box<Skip>),
    /// A branch of these.
    Union(Box<[Skip]>),
    /// One after the other.
    Record(Box<[Skip]>),
}

impl Skip {
    pub(super) fn new(node: &Node) -> Self {
        match &node.kind {
            Kind::Null => Skip::Nothing,
            Kind::Boolean => Skip::Fixed(1),
            Kind::Int | Kind::Long | Kind::Enum(_) => Skip::Varint,
            Kind::Float => Skip::Fixed(4),
            Kind::Double => Skip::Fixed(8),
            Kind::Fixed(0) => Skip::Nothing,
            Kind::Fixed(n) => Skip::Fixed(*n),
            Kind::Bytes | Kind::String => Skip::Bytes,
            Kind::Array(items) => Skip::Array(Box::new(Skip::new(items))),
            Kind::Map(values) => Skip::Map(Box::new(Skip::new(values))),
            Kind::Union(branches) => Skip::Union(branches.iter().map(Skip::new).collect()),
            Kind::Record(fields) => Skip::all(fields.iter().map(|f| Skip::new(&f.node))),
        }
    }

    /// Several values, one after the other.
    fn all(parts: impl Iterator<Item = Skip>) -> Self {
        let mut flat: Vec<Skip> = vec![];
        for part in parts {
            match part {
                Skip::Record(nested) => nested.into_vec().into_iter().for_each(|n| push(&mut flat, n)),
                other => push(&mut flat, other),
            }
        }
        match flat.len() {
            0 => Skip::Nothing,
            1 => flat.pop().unwrap_or(Skip::Nothing),
            _ => Skip::Record(flat.into()),
        }
    }

    /// The same as this one and then that one.
    pub(super) fn then(self, next: Skip) -> Self {
        Skip::all([self, next].into_iter())
    }

    pub(super) fn skip(&self, cursor: &mut Cursor<'_>) -> Result<(), Fault> {
        match self {
            Skip::Nothing => Ok(()),
            Skip::Varint => cursor.skip_varint(),
            Skip::Fixed(n) => cursor.take(*n).map(|_| ()),
            Skip::Bytes => cursor.bytes().map(|_| ()),
            Skip::Record(parts) => parts.iter().try_for_each(|p| p.skip(cursor)),
            Skip::Union(branches) => {
                let branch = usize::try_from(cursor.long()?).map_err(|_| Fault::Branch)?;
                branches.get(branch).ok_or(Fault::Branch)?.skip(cursor)
            }
            Skip::Array(item) => items(cursor, **item == Skip::Nothing, |c| item.skip(c)),
            Skip::Map(value) => items(cursor, false, |c| {
                c.bytes()?;
                value.skip(c)
            }),
        }
    }
}

fn push(flat: &mut Vec<Skip>, part: Skip) {
    match (flat.last_mut(), part) {
        (_, Skip::Nothing) => {}
        (Some(Skip::Fixed(before)), Skip::Fixed(n)) => *before = before.saturating_add(n),
        (_, part) => flat.push(part),
    }
}

fn items(
    cursor: &mut Cursor<'_>,
    empty: bool,
    skip: impl Fn(&mut Cursor<'_>) -> Result<(), Fault>,
) -> Result<(), Fault> {
    if empty {
        loop {
            match cursor.long()? {
                0 => return Ok(()),
                1.. => {}
                _ => cursor.skip_varint()?,
            }
        }
    }
    while let Some((count, size)) = cursor.items()? {
        match size {
            Some(size) => {
                cursor.take(size)?;
            }
            None => (0..count).try_for_each(|_| skip(cursor))?,
        }
    }
    Ok(())
}
