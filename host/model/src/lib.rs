//! Vocabulary of a Kafka Connect worker: names, states, configurations, values, records.
