//! Runs connectors and tasks; decides nothing.
