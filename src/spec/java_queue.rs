//! A queue whose elements lie as in `java.util.PriorityQueue`: [`PriorityQueue`].
//!
//! Where several elements are least, which of them comes out first is a matter of how they lie in the heap. The reference
//! lets that decide: about the order of runs, and about versions of equal age.

use std::cmp::Ordering;

/// A binary heap, least element first, step for step as Java's.
pub struct PriorityQueue<T, F> {
    elements: Vec<T>,
    compare: F,
}

impl<T, F: Fn(&T, &T) -> Ordering> PriorityQueue<T, F> {
    /// An empty queue, of elements in the order that `compare` tells.
    pub fn new(compare: F) -> Self {
        Self { elements: vec![], compare }
    }

    /// Adds an element.
    pub fn offer(&mut self, element: T) {
        self.elements.push(element);
        let mut at = self.elements.len() - 1;
        while let Some(parent) = at.checked_sub(1).map(|below| below / 2) {
            if !self.is_less(at, parent) {
                break;
            }
            self.elements.swap(at, parent);
            at = parent;
        }
    }

    /// The least element.
    pub fn peek(&self) -> Option<&T> {
        self.elements.first()
    }

    /// Takes the least element out.
    pub fn poll(&mut self) -> Option<T> {
        if self.elements.is_empty() {
            return None;
        }
        let first = self.elements.swap_remove(0);
        let mut at = 0;
        while 2 * at + 1 < self.elements.len() {
            let (left, right) = (2 * at + 1, 2 * at + 2);
            let least = if right < self.elements.len() && self.is_less(right, left) { right } else { left };
            if !self.is_less(least, at) {
                break;
            }
            self.elements.swap(at, least);
            at = least;
        }
        Some(first)
    }

    /// The elements as they lie.
    pub fn into_elements(self) -> Vec<T> {
        self.elements
    }

    fn is_less(&self, a: usize, b: usize) -> bool {
        match (self.elements.get(a), self.elements.get(b)) {
            (Some(a), Some(b)) => (self.compare)(a, b) == Ordering::Less,
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn elements_of_equal_rank_lie_as_in_java() {
        // What `new PriorityQueue<>(comparing(s -> s.charAt(0)))` gives.
        let mut queue = PriorityQueue::new(|a: &&str, b: &&str| a[..1].cmp(&b[..1]));
        ["b1", "a1", "b2", "a2", "a3", "c1", "b3"].into_iter().for_each(|element| queue.offer(element));
        assert_eq!(queue.elements, ["a1", "a2", "b2", "b1", "a3", "c1", "b3"]);
        assert_eq!(queue.poll(), Some("a1"));
        assert_eq!(queue.elements, ["a2", "a3", "b2", "b1", "b3", "c1"]);
    }

    proptest! {
        #[test]
        fn the_least_element_comes_first(mut numbers in prop::collection::vec(0u8..20, 0..60)) {
            let mut queue = PriorityQueue::new(u8::cmp);
            numbers.iter().for_each(|number| queue.offer(*number));
            let polled: Vec<_> = std::iter::from_fn(|| queue.poll()).collect();
            numbers.sort_unstable();
            prop_assert_eq!(polled, numbers);
        }
    }
}
