use bulkhead_model::ConnectorName;

use super::*;

/// Plays a script against one connector instance and prints what was to be done after each line.
#[derive(Default)]
struct Script {
    instances: Instances,
    revision: u64,
    seen: Vec<String>,
}

impl Script {
    fn instance() -> Instance {
        Instance::Connector(ConnectorName::new("orders"))
    }

    fn note(mut self, actions: Vec<Action>) -> Self {
        self.seen.extend(actions.into_iter().map(|action| match action {
            Action::Start { run, target } => format!("start {} {target:?}", run.0),
            Action::Stop { run } => format!("stop {}", run.0),
            Action::SetTarget { run, target } => format!("set {} {target:?}", run.0),
            Action::Report { state, .. } => state.name().to_owned(),
            Action::Forget => "forget".to_owned(),
        }));
        self
    }

    fn want(mut self, revision: u64, target: TargetState) -> Self {
        self.revision = revision;
        let spec = Spec { revision: Revision::test(revision), target };
        let actions = self.instances.want(&Self::instance(), Some(spec), Farewell::Removed);
        self.note(actions)
    }

    fn dismiss(mut self) -> Self {
        let actions = self.instances.want(&Self::instance(), None, Farewell::Removed);
        self.note(actions)
    }

    fn restart(mut self) -> Self {
        let actions = self.instances.restart(&Self::instance());
        self.note(actions)
    }

    fn fail(mut self) -> Self {
        let actions = self.instances.fail(&Self::instance(), "too many tasks".to_owned());
        self.note(actions)
    }

    fn started(mut self, run: u64, target: TargetState) -> Self {
        let actions = self.instances.started(&Self::instance(), Run(run), target, None);
        self.note(actions)
    }

    fn failed(mut self, run: u64) -> Self {
        let actions = self.instances.failed(&Self::instance(), Run(run), "boom".to_owned());
        self.note(actions)
    }

    fn stopped(mut self, run: u64) -> Self {
        let actions = self.instances.stopped(&Self::instance(), Run(run));
        self.note(actions)
    }

    #[track_caller]
    fn check(self, expected: &str) {
        assert_eq!(self.seen.join(", "), expected);
    }
}

use TargetState::{Paused, Started, Stopped};

#[test]
fn an_instance_starts_and_is_forgotten_when_it_has_stopped() {
    let script = Script::default().want(1, Started).started(1, Started).dismiss().stopped(1);
    script.check("start 1 Started, RUNNING, stop 1, forget");
}

#[test]
fn an_update_starts_the_new_run_only_when_the_old_one_is_gone() {
    let script = Script::default().want(1, Started).started(1, Started).want(2, Started).want(3, Started).stopped(1);
    script.check("start 1 Started, RUNNING, stop 1, start 2 Started");
}

#[test]
fn an_update_during_a_start_ends_that_start() {
    let script = Script::default().want(1, Started).want(2, Started).started(1, Started).stopped(1);
    script.check("start 1 Started, stop 1, start 2 Started");
}

#[test]
fn a_change_of_target_during_a_start_is_told_afterwards() {
    let script = Script::default().want(1, Started).want(1, Paused).started(1, Started);
    script.check("start 1 Started, RUNNING, set 1 Paused");
}

#[test]
fn what_came_up_paused_runs_when_it_is_resumed() {
    let script = Script::default().want(1, Paused).started(1, Paused).want(1, Started).started(1, Started);
    script.check("start 1 Paused, PAUSED, set 1 Started, RUNNING");
}

#[test]
fn what_was_stopped_is_resumed_by_a_new_run() {
    let script = Script::default().want(1, Stopped).started(1, Stopped).want(1, Started).stopped(1);
    script.check("start 1 Stopped, STOPPED, stop 1, start 2 Started");
}

#[test]
fn news_of_an_older_run_is_ignored() {
    let script = Script::default().want(1, Started).started(1, Started).restart().stopped(1);
    let script = script.failed(1).stopped(1).started(1, Started).started(2, Started);
    script.check("start 1 Started, RUNNING, stop 1, RESTARTING, start 2 Started, RUNNING");
}

#[test]
fn a_failed_instance_stays_failed_until_restarted_or_configured_anew() {
    let failed = || Script::default().want(1, Started).failed(1);
    failed().want(1, Paused).check("start 1 Started, FAILED");
    failed().restart().check("start 1 Started, FAILED, RESTARTING, start 2 Started");
    failed().want(2, Started).check("start 1 Started, FAILED, start 2 Started");
    failed().want(1, Stopped).check("start 1 Started, FAILED, start 2 Stopped");
    failed().dismiss().check("start 1 Started, FAILED, forget");
}

#[test]
fn a_failure_on_the_way_out_counts_as_the_end() {
    let script = Script::default().want(1, Started).started(1, Started).restart().failed(1).stopped(1);
    script.check("start 1 Started, RUNNING, stop 1, RESTARTING, start 2 Started");
}

#[test]
fn an_instance_removed_and_wanted_again_is_forgotten_in_between() {
    let script = Script::default().want(1, Started).started(1, Started).dismiss().want(2, Started).restart().stopped(1);
    script.check("start 1 Started, RUNNING, stop 1, forget, start 2 Started");
}

#[test]
fn a_run_that_must_not_go_on_is_stopped_and_stays_failed() {
    let failed = || Script::default().want(1, Started).started(1, Started).fail();
    failed().stopped(1).check("start 1 Started, RUNNING, FAILED, stop 1");
    failed().restart().stopped(1).check("start 1 Started, RUNNING, FAILED, stop 1, RESTARTING, start 2 Started");
    failed().want(2, Started).stopped(1).check("start 1 Started, RUNNING, FAILED, stop 1, start 2 Started");
}
