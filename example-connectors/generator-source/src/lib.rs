//! Makes records up: so many a second, of such a size, under so many keys.
//!
//! Start at [`Generator`], which deals streams out to tasks; [`Stream`] is what a task resumes, [`Template`] what a record
//! looks like.

mod connector;
mod stream;
mod task;
mod template;

pub use connector::{Generator, Settings};
pub use stream::Stream;
pub use task::GeneratorTask;
pub use template::Template;

bulkhead_sdk::export! {
    source "io.bulkhead.GeneratorSourceConnector" => (Generator, GeneratorTask)
}
