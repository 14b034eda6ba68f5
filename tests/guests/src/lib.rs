//! Hostile and well-behaved guests for the sandbox tests.
