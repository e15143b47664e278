//! What happens when nobody reads the output any more, as in `paimon-cli … | head`: [`end_with_the_reader`].

use std::panic::{set_hook, take_hook};
use std::process::exit;

/// What a shell shows of a program that the system ended for this.
const BROKEN_PIPE: i32 = 128 + 13;

/// Ends the program without a word when its output goes nowhere. Printing panics then, at whatever place it happens.
pub fn end_with_the_reader() {
    let hook = take_hook();
    set_hook(Box::new(move |panic| {
        match panic.payload().downcast_ref::<String>() {
            Some(text) if nobody_reads(text) => exit(BROKEN_PIPE),
            _ => hook(panic),
        };
    }));
}

/// Whether that is what a panic is about.
fn nobody_reads(text: &str) -> bool {
    text.starts_with("failed printing to stdout") && text.contains("Broken pipe")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_panics_are_none_of_its() {
        assert!(nobody_reads("failed printing to stdout: Broken pipe (os error 32)"));
        assert!(!nobody_reads("failed printing to stdout: No space left on device (os error 28)"));
        assert!(!nobody_reads("Broken pipe"));
    }
}
