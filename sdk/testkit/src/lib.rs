//! Runs a compiled connector in the real sandbox without Kafka and without a worker.
