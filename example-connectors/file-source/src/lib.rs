//! Reads a file line by line and goes on as it grows: the keys, offsets and behaviour of Kafka Connect's FileStreamSource.
//!
//! Start at [`FileSource`] for the connector, at [`FileSourceTask`] for the reading. [`Lines`] knows nothing of Kafka.

mod connector;
mod lines;
mod task;

pub use connector::{FileSource, Settings};
pub use lines::Lines;
pub use task::FileSourceTask;

bulkhead_sdk::export! {
    source "io.bulkhead.FileStreamSourceConnector" => (FileSource, FileSourceTask)
        aliases ["org.apache.kafka.connect.file.FileStreamSourceConnector"]
        needs { files: read_only }
}
