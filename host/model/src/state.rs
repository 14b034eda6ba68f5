//! What operators want of a connector, and what its instances report.

use serde::{Deserialize, Serialize};

/// What the operator wants of a connector (KIP-875); `initial_state` of a create request (KIP-980)
/// uses the same three under the names RUNNING, PAUSED and STOPPED.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum TargetState {
    #[default]
    Started,
    Paused,
    Stopped,
}

/// What an instance reports. A trace exists exactly when it failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum State {
    Unassigned,
    Running,
    Paused,
    Stopped,
    Restarting,
    Failed { trace: String },
}

impl TargetState {
    /// Reads an `initial_state`: RUNNING, PAUSED or STOPPED in any case.
    pub fn parse_initial(text: &str) -> Option<Self> {
        match text.to_ascii_uppercase().as_str() {
            "RUNNING" => Some(Self::Started),
            "PAUSED" => Some(Self::Paused),
            "STOPPED" => Some(Self::Stopped),
            _ => None,
        }
    }
}

impl State {
    /// The word that status answers and the status topic use.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Unassigned => "UNASSIGNED",
            Self::Running => "RUNNING",
            Self::Paused => "PAUSED",
            Self::Stopped => "STOPPED",
            Self::Restarting => "RESTARTING",
            Self::Failed { .. } => "FAILED",
        }
    }

    pub fn trace(&self) -> Option<&str> {
        match self {
            Self::Failed { trace } => Some(trace),
            Self::Unassigned | Self::Running | Self::Paused | Self::Stopped | Self::Restarting => None,
        }
    }

    pub fn is_failed(&self) -> bool {
        matches!(self, Self::Failed { .. })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_initial_state_is_read_in_any_case_and_without_spaces() {
        assert_eq!(TargetState::parse_initial("running"), Some(TargetState::Started));
        assert_eq!(TargetState::parse_initial("Paused"), Some(TargetState::Paused));
        assert_eq!(TargetState::parse_initial("STOPPED"), Some(TargetState::Stopped));
        assert_eq!(TargetState::parse_initial(" RUNNING"), None);
        assert_eq!(TargetState::parse_initial("STARTED"), None);
    }
}
