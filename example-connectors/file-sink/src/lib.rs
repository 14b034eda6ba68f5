//! Writes each record's value as a line of a file: the keys and behaviour of Kafka Connect's FileStreamSink.

mod connector;
mod output;
mod task;

pub use connector::FileSink;
pub use output::Output;
pub use task::{FileSinkTask, Settings};

bulkhead_sdk::export! {
    sink "io.bulkhead.FileStreamSinkConnector" => (FileSink, FileSinkTask)
        aliases ["org.apache.kafka.connect.file.FileStreamSinkConnector"]
        needs { files: read_write }
}
