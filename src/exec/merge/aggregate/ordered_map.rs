//! A map from the bytes of a key to a value that keeps the order in which keys were first put.
//!
//! What Java does with a `HashMap`, whose order nobody relies on; here results are the same on every run.

use std::collections::HashMap;

/// The map; see the file's header.
#[derive(Debug)]
pub(super) struct OrderedMap<V> {
    slots: Vec<Option<V>>,
    places: HashMap<Box<[u8]>, usize>,
}

impl<V> Default for OrderedMap<V> {
    fn default() -> Self {
        Self { slots: Vec::new(), places: HashMap::new() }
    }
}

impl<V> OrderedMap<V> {
    /// The number of keys.
    pub fn len(&self) -> usize {
        self.places.len()
    }

    /// The value of a key.
    pub fn get_mut(&mut self, key: &[u8]) -> Option<&mut V> {
        self.slots.get_mut(*self.places.get(key)?)?.as_mut()
    }

    /// Sets the value of a key; one that is new comes last.
    pub fn put(&mut self, key: Box<[u8]>, value: V) {
        match self.get_mut(&key) {
            Some(old) => *old = value,
            None => {
                self.places.insert(key, self.slots.len());
                self.slots.push(Some(value));
            }
        }
    }

    /// Forgets a key.
    pub fn remove(&mut self, key: &[u8]) {
        if let Some(slot) = self.places.remove(key).and_then(|place| self.slots.get_mut(place)) {
            *slot = None;
        }
    }

    /// The values, in order.
    pub fn values(&self) -> impl Iterator<Item = &V> {
        self.slots.iter().flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_keeps_its_place_until_it_is_removed() {
        let mut map = OrderedMap::default();
        let key = |k: u8| vec![k].into_boxed_slice();
        for (k, v) in [(3, 'a'), (1, 'b'), (2, 'c'), (1, 'd')] {
            map.put(key(k), v);
        }
        map.remove(&[3]);
        map.remove(&[9]);
        map.put(key(3), 'e');
        assert_eq!((map.len(), map.values().collect::<String>()), (3, "dce".into()));
        assert_eq!(map.get_mut(&[7]), None);
    }
}
