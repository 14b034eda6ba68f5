//! Connectors and tasks as isolated WebAssembly component instances.
