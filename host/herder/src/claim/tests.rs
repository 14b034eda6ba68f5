use bulkhead_model::config::OverridePolicy;
use bulkhead_model::{ConnectorName, RawConfig, TargetState, WorkerId};

use super::*;
use crate::api::{Event, GroupEvent, LoggedConfig, Request, RequestId};
use crate::protocol::{Assignment, ConnectProtocol};
use crate::testing::text;
use crate::{ClusterSettings, KeySettings, Mode, RestartPolicy, Settings, config_topic};

/// The herder of a worker in a group, and one connector, `orders`.
struct Case {
    herder: Herder,
    now: Millis,
    last_offset: i64,
    last_request: u64,
    /// Tokens of claims and appends that have no outcome, oldest first.
    open: VecDeque<Token>,
}

impl Case {
    fn new(exactly_once: ExactlyOnce) -> Self {
        let herder = Herder::new(settings(exactly_once));
        let mut case = Self { herder, now: Millis(0), last_offset: 0, last_request: 0, open: VecDeque::new() };
        case.read(ConfigRecord::Connector { name: orders(), config: Some(RawConfig::new()) });
        assert_eq!(case.handle(Event::CaughtUp), "join");
        case
    }

    /// It leads and has claimed the log.
    fn leading() -> Self {
        let mut case = Self::new(ExactlyOnce::Preparing);
        assert_eq!(case.synced("me"), "claim");
        assert_eq!(case.claimed(Ok(())), "");
        case
    }

    /// What is done about an event, as far as it is about logs and answers.
    fn handle(&mut self, event: Event) -> String {
        let effects = self.herder.handle(self.now, event);
        let told: Vec<_> = effects.into_iter().filter_map(|effect| self.told(effect)).collect();
        told.join(", ")
    }

    fn told(&mut self, effect: Effect) -> Option<String> {
        let keys = |records: &[ConfigRecord]| {
            let key = |record| String::from_utf8(config_topic::encode(record).0).unwrap();
            records.iter().map(key).collect::<Vec<_>>().join(" ")
        };
        match effect {
            Effect::ClaimLog { token } => {
                self.open.push_back(token);
                Some("claim".to_owned())
            }
            Effect::AppendAsLeader { token, records } => {
                self.open.push_back(token);
                Some(format!("as leader: {}", keys(&records)))
            }
            Effect::AppendConfig { token, records } => {
                self.open.push_back(token);
                Some(format!("plainly: {}", keys(&records)))
            }
            Effect::ForgetClaim => Some("forget".to_owned()),
            Effect::Join { .. } => Some("join".to_owned()),
            Effect::Reply { answer, .. } => {
                // The beginning is enough.
                Some(text(answer).split(' ').take(6).collect::<Vec<_>>().join(" "))
            }
            _ => None,
        }
    }

    fn read(&mut self, record: ConfigRecord) -> String {
        self.last_offset += 1;
        self.handle(Event::ConfigRecord(LoggedConfig { next_offset: self.last_offset, record: Some(record) }))
    }

    /// A round is over in which this member leads or doesn't; this worker is `me`.
    fn synced(&mut self, leader: &str) -> String {
        let assignment = Assignment {
            version: ConnectProtocol::Compatible.version(),
            leader: leader.to_owned(),
            leader_url: format!("http://{leader}/"),
            config_offset: self.last_offset,
            ..Assignment::default()
        };
        self.handle(Event::Group(GroupEvent::Synced {
            generation: 1,
            protocol: ConnectProtocol::Compatible.name().to_owned(),
            member: "me".to_owned(),
            assignment: assignment.encode().unwrap(),
        }))
    }

    fn ask(&mut self, request: Request) -> String {
        self.last_request += 1;
        self.handle(Event::Request { id: RequestId(self.last_request), request })
    }

    fn delete(&mut self) -> String {
        self.ask(Request::DeleteConnector { name: orders() })
    }

    fn set_target(&mut self, state: TargetState) -> String {
        self.ask(Request::SetTargetState { name: orders(), state })
    }

    fn claimed(&mut self, outcome: Result<(), &str>) -> String {
        let token = self.open.pop_front().unwrap();
        self.handle(Event::LogClaimed { token, outcome: outcome.map_err(str::to_owned) })
    }

    fn written(&mut self, outcome: Result<(), NotWritten>) -> String {
        let token = self.open.pop_front().unwrap();
        self.handle(Event::AppendedAsLeader { token, outcome })
    }

    fn after(&mut self, millis: u64) -> String {
        self.now = self.now.plus(millis);
        self.handle(Event::Tick)
    }
}

fn orders() -> ConnectorName {
    ConnectorName::new("orders")
}

fn fenced() -> Result<(), NotWritten> {
    Err(NotWritten::Fenced("a newer claim".to_owned()))
}

fn failed() -> Result<(), NotWritten> {
    Err(NotWritten::Failed("no broker".to_owned()))
}

fn settings(exactly_once: ExactlyOnce) -> Settings {
    let keys = KeySettings {
        algorithm: "HmacSHA256".to_owned(),
        size: None,
        ttl: 1_000,
        signature: "HmacSHA256".to_owned(),
        verification: vec!["HmacSHA256".to_owned()],
    };
    let cluster = ClusterSettings {
        url: "http://me/".to_owned(),
        protocol: ConnectProtocol::Compatible,
        exactly_once,
        sync_timeout: 3_000,
        unsync_backoff: 5_000,
        rebalance_delay: 8_000,
        keys,
    };
    Settings {
        mode: Mode::Distributed(Box::new(cluster)),
        worker: WorkerId("me:8083".into()),
        key_converter: String::new(),
        value_converter: String::new(),
        header_converter: String::new(),
        converter_versions: Default::default(),
        topic_tracking: true,
        restart: RestartPolicy::default(),
        overrides: OverridePolicy::All,
    }
}

const BOTH: &str = "connector-orders target-state-orders";

#[test]
fn a_leader_claims_the_log_once_and_writes_when_it_has_it() {
    let mut case = Case::new(ExactlyOnce::Preparing);
    assert_eq!(case.synced("me"), "claim");
    assert_eq!(case.delete(), "");
    assert_eq!(case.claimed(Ok(())), format!("as leader: {BOTH}"));
    assert_eq!(case.handle(Event::Group(GroupEvent::RebalanceNeeded)), "join");
    assert_eq!(case.synced("me"), "", "it has it still");
    assert_eq!(case.written(Ok(())), "");
}

#[test]
fn without_the_setting_nobody_claims_anything() {
    let mut case = Case::new(ExactlyOnce::Disabled);
    assert_eq!(case.synced("me"), "");
    assert_eq!(case.set_target(TargetState::Stopped), "plainly: commit-orders target-state-orders");
}

#[test]
fn a_follower_claims_nothing_and_pauses_all_the_same() {
    let mut case = Case::new(ExactlyOnce::Preparing);
    assert_eq!(case.synced("other"), "");
    assert_eq!(case.set_target(TargetState::Paused), "plainly: target-state-orders");
}

#[test]
fn of_a_stop_only_the_end_of_the_tasks_is_the_leaders_privilege() {
    let mut case = Case::leading();
    assert_eq!(case.set_target(TargetState::Stopped), "as leader: commit-orders");
    assert_eq!(case.written(Ok(())), "");
    assert_eq!(case.read(ConfigRecord::Commit { name: orders(), tasks: 0 }), "plainly: target-state-orders");
}

#[test]
fn tasks_that_another_leader_published_within_a_stop_are_taken_back_by_who_leads_next() {
    let mut case = Case::new(ExactlyOnce::Preparing);
    case.synced("other");
    case.read(ConfigRecord::Task { id: orders().task(0), config: RawConfig::new() });
    case.read(ConfigRecord::Commit { name: orders(), tasks: 1 });
    case.read(ConfigRecord::TargetState { name: orders(), state: Some(TargetState::Stopped) });
    assert_eq!(case.synced("me"), "claim");
    assert_eq!(case.claimed(Ok(())), "as leader: commit-orders");
}

#[test]
fn g31_who_was_fenced_refuses_and_claims_again_only_when_the_group_says_that_it_leads() {
    let mut case = Case::leading();
    assert_eq!(case.delete(), format!("as leader: {BOTH}"));
    assert_eq!(case.written(fenced()), "join, 409 Cannot complete request because another");
    assert_eq!(case.delete(), "");
    assert_eq!(case.after(60_000), "", "not by itself, however long it takes");
    assert_eq!(case.synced("me"), "claim");
    assert_eq!(case.claimed(Ok(())), format!("as leader: {BOTH}"));
}

#[test]
fn g31_who_was_fenced_and_leads_no_more_gives_the_claim_up() {
    let mut case = Case::leading();
    case.delete();
    case.written(fenced());
    assert_eq!(case.delete(), "");
    assert_eq!(case.synced("other"), "forget, 409 Cannot complete request because another");
    assert_eq!(case.after(60_000), "");
}

#[test]
fn of_writes_that_fail_together_the_later_ones_cost_no_newer_claim() {
    let mut case = Case::leading();
    case.read(ConfigRecord::Connector { name: ConnectorName::new("other"), config: Some(RawConfig::new()) });
    case.synced("me");
    case.delete();
    case.ask(Request::DeleteConnector { name: ConnectorName::new("other") });
    assert_eq!(case.written(fenced()), "join, 409 Cannot complete request because another");
    assert_eq!(case.synced("me"), "claim");
    let late = case.open.pop_front();
    assert_eq!(case.claimed(Ok(())), "");
    case.open.extend(late);
    assert_eq!(case.written(fenced()), "409 Cannot complete request because another");
    assert_eq!(case.delete(), format!("as leader: {BOTH}"));
}

#[test]
fn a_write_that_failed_costs_the_claim_which_is_made_anew() {
    let mut case = Case::leading();
    case.delete();
    assert_eq!(case.written(failed()), "500 The change could not be");
    assert_eq!(case.delete(), "");
    assert_eq!(case.herder.next_deadline(), Some(Millis(RETRY_MILLIS)));
    assert_eq!(case.after(RETRY_MILLIS), "claim");
    assert_eq!(case.claimed(Ok(())), format!("as leader: {BOTH}"));
}

#[test]
fn who_waits_for_a_claim_that_fails_is_told_and_the_next_one_waits_for_the_next_try() {
    let mut case = Case::new(ExactlyOnce::Preparing);
    case.synced("me");
    assert_eq!(case.delete(), "");
    assert_eq!(case.claimed(Err("no coordinator")), "500 The change could not be");
    assert_eq!(case.delete(), "");
    assert_eq!(case.after(RETRY_MILLIS), "claim");
    assert_eq!(case.claimed(Ok(())), format!("as leader: {BOTH}"));
}

#[test]
fn at_the_end_the_claim_is_given_up() {
    let mut case = Case::leading();
    assert_eq!(case.handle(Event::Shutdown), "forget");
}
