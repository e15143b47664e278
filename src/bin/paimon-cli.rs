//! paimon-cli.
fn main() {}
