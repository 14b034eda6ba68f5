//! Source and sink loops, converters, error tolerance and offsets over small ports.
