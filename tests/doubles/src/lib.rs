//! Working in-memory implementations of the ports, shared by all tests.
