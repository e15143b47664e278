//! Which fields of a file are wanted, nested ones included.
//!
//! In: paths of names joined by dots. Out: a tree that readers walk along a schema. A path that ends at a record wants
//! all of it, whatever longer paths say.

use std::collections::BTreeMap;

/// The wanted part of a record.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Projection {
    /// All fields.
    All,
    /// Only these, and of each only so much.
    Fields(BTreeMap<String, Projection>),
}

impl Projection {
    /// The projection of some paths; of none: all.
    pub(crate) fn of_paths(paths: &[&str]) -> Self {
        if paths.is_empty() {
            return Projection::All;
        }
        let mut root = Projection::Fields(BTreeMap::new());
        for path in paths {
            let mut at = &mut root;
            for name in path.split('.') {
                let Projection::Fields(fields) = at else { break };
                at = fields.entry(name.to_owned()).or_insert_with(|| Projection::Fields(BTreeMap::new()));
            }
            *at = Projection::All;
        }
        root
    }

    /// What is wanted of the field of that name; `None` where it is not wanted.
    pub(crate) fn child(&self, name: &str) -> Option<&Projection> {
        match self {
            Projection::All => Some(&Projection::All),
            Projection::Fields(fields) => fields.get(name),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shorter_path_wins() {
        for paths in [["f.a", "f"], ["f", "f.a"]] {
            assert_eq!(Projection::of_paths(&paths).child("f"), Some(&Projection::All));
        }
        let p = Projection::of_paths(&["f.a", "f.b.c", "g"]);
        assert_eq!(p.child("x"), None);
        assert_eq!(p.child("f").and_then(|f| f.child("b")).and_then(|b| b.child("c")), Some(&Projection::All));
        assert_eq!(p.child("f").and_then(|f| f.child("c")), None);
        assert_eq!(Projection::of_paths(&[]).child("x"), Some(&Projection::All));
    }
}
