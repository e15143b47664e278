//! Work on very many things on several threads: [`on_threads`].
//!
//! In: things in memory, and what to do with neighbours among them. Out: what came of each share, in order. For work that
//! never waits; what waits, or comes bit by bit, is the business of [`decoders`](super::decoders).

use std::thread::{Result, available_parallelism, scope};

/// Cuts `items` into shares, at most `most` and no more than there are processors, and works on them at the same time. A
/// share whose thread panicked is an error that holds the panic. What is one share is worked on right here.
pub(super) fn on_threads<T: Send, R: Send>(
    items: &mut [T],
    most: usize,
    work: impl Fn(&mut [T]) -> R + Sync,
) -> Vec<Result<R>> {
    let threads = most.clamp(1, available_parallelism().map_or(1, usize::from));
    if threads == 1 {
        return vec![Ok(work(items))];
    }
    let (share, work) = (items.len().div_ceil(threads).max(1), &work);
    scope(|scope| {
        let started: Vec<_> = items.chunks_mut(share).map(|share| scope.spawn(move || work(share))).collect();
        // All are waited for: one that panicked and was not would panic here.
        started.into_iter().map(|thread| thread.join()).collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_worked_on_in_their_order() {
        for most in [0, 1, 2, 100] {
            for n in [0, 1, 2, 1000] {
                let mut items: Vec<usize> = (0..n).collect();
                let shares = on_threads(&mut items, most, |share| {
                    share.iter_mut().for_each(|item| *item += 1);
                    share.to_vec()
                });
                let all: Vec<_> = shares.into_iter().flat_map(Result::unwrap).collect();
                assert_eq!(all, (1..=n).collect::<Vec<_>>(), "{most} {n}");
                assert_eq!(items, all);
            }
        }
    }
}
