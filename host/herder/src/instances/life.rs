//! One instance, from its first start to its end.

use bulkhead_model::work::Run;
use bulkhead_model::{State, TargetState};

use super::{Action, Spec};

/// How far an instance is.
#[derive(Debug, Default)]
pub(super) enum Life {
    /// Nothing of it exists.
    #[default]
    Gone,
    /// Told to start.
    Starting { run: Run, spec: Spec },
    /// The target of `spec` is what it was told last, `reached` what it is in.
    Up { run: Run, spec: Spec, reached: TargetState, version: Option<String> },
    /// Told to stop.
    Stopping { run: Run, ending: Ending },
    /// Nothing of it exists any more but the trace.
    Failed { run: Run, spec: Spec, trace: String },
}

/// What follows when a run has stopped.
#[derive(Debug)]
pub(super) enum Ending {
    /// Another run, at once.
    Replaced,
    Farewell(Farewell),
    /// It counts as failed; its status says so already.
    Failed {
        spec: Spec,
        trace: String,
    },
}

/// What the cluster is told of an instance that ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Farewell {
    Restarting,
    /// It is configured, but isn't run here any longer.
    Unassigned,
    /// It isn't configured any longer.
    Removed,
}

impl Life {
    /// Turns what exists into something that is stopping.
    pub(super) fn stop(&mut self, ending: Ending) -> Vec<Action> {
        let (Self::Starting { run, .. } | Self::Up { run, .. }) = *self else {
            return Vec::new();
        };
        *self = Self::Stopping { run, ending };
        vec![Action::Stop { run }]
    }

    /// What was stopping has stopped. Says what is to be reported.
    pub(super) fn bury(&mut self) -> Vec<Action> {
        match std::mem::take(self) {
            Self::Stopping { ending: Ending::Farewell(farewell), .. } => vec![farewell.action()],
            Self::Stopping { ending: Ending::Replaced, .. } => Vec::new(),
            Self::Stopping { run, ending: Ending::Failed { spec, trace } } => {
                *self = Self::Failed { run, spec, trace };
                Vec::new()
            }
            Self::Gone | Self::Starting { .. } | Self::Up { .. } | Self::Failed { .. } => Vec::new(),
        }
    }

    /// Whether something of it exists in the worker.
    pub(super) fn is_live(&self) -> bool {
        match self {
            Self::Starting { .. } | Self::Up { .. } | Self::Stopping { .. } => true,
            Self::Gone | Self::Failed { .. } => false,
        }
    }
}

impl Ending {
    /// Another farewell for what is stopping already. What was removed stays removed, even if an
    /// instance of the same name follows.
    pub(super) fn change(&mut self, farewell: Farewell) {
        if !matches!(self, Self::Farewell(Farewell::Removed)) {
            *self = Self::Farewell(farewell);
        }
    }
}

impl Farewell {
    pub(super) fn action(self) -> Action {
        match self {
            Self::Restarting => Action::Report { state: State::Restarting, version: None },
            Self::Unassigned => Action::Report { state: State::Unassigned, version: None },
            Self::Removed => Action::Forget,
        }
    }
}
