//! A row-at-a-time model for tests.
