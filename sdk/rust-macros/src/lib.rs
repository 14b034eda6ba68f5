//! Derives of bulkhead-sdk.
