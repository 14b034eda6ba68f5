//! One instance that runs, as the actor holds it.

use std::time::Duration;

use bulkhead_model::work::{Event, Run};
use bulkhead_model::{Instance, TargetState};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::timeout;

/// What is said to a running instance. A newer target replaces one that was not yet taken up.
pub(crate) trait Steering: Send + 'static {
    fn set_target(&self, target: TargetState);
    fn stop(&self);
    /// See [`bulkhead_model::work::Command::ForgetTopics`].
    fn forget_topics(&self) {}
}

/// An instance between its start and its end.
pub(crate) struct Running {
    pub run: Run,
    pub steering: Box<dyn Steering>,
    /// Ends when the instance has; `Some` if it ended by itself, with the trace.
    pub ended: JoinHandle<Option<String>>,
}

/// How much longer than the grace time an instance may take, since its sandbox is dropped at the end
/// of the grace time and offsets are still committed then.
const SLACK: Duration = Duration::from_secs(1);

impl Running {
    /// Tells the instance to stop, waits, and aborts it if it doesn't. Afterwards it is gone.
    pub(crate) async fn stop(self, instance: Instance, grace: Duration, events: mpsc::UnboundedSender<Event>) {
        self.steering.stop();
        let mut ended = self.ended;
        if timeout(grace + SLACK, &mut ended).await.is_err() {
            tracing::warn!(%instance, "Did not stop in time; its sandbox is dropped.");
            ended.abort();
            let _ = ended.await;
        }
        let _ = events.send(Event::Stopped { run: self.run, instance });
    }
}
