//! What every client does with the lines and errors that librdkafka hands out on its queue.

use rdkafka::config::RDKafkaLogLevel;
use rdkafka::error::KafkaError;

/// Writes a line of librdkafka's own log. It has no configuration values in it, and repeats are
/// suppressed by librdkafka.
pub(crate) fn log(level: RDKafkaLogLevel, facility: &str, line: &str) {
    match level {
        RDKafkaLogLevel::Emerg
        | RDKafkaLogLevel::Alert
        | RDKafkaLogLevel::Critical
        | RDKafkaLogLevel::Error
        | RDKafkaLogLevel::Warning => tracing::warn!(target: "kafka", facility, "{line}"),
        RDKafkaLogLevel::Notice | RDKafkaLogLevel::Info => tracing::info!(target: "kafka", facility, "{line}"),
        RDKafkaLogLevel::Debug => tracing::debug!(target: "kafka", facility, "{line}"),
    }
}

/// Errors of the client as a whole, e.g. a broker that is away. The log line about it has been written
/// already, and the client goes on by itself.
pub(crate) fn client_error(error: &KafkaError, reason: &str) {
    tracing::debug!(target: "kafka", %error, "{reason}");
}
