//! Kafka clients on librdkafka behind the ports of the pipeline.
