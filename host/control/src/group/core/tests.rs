//! A member and a coordinator that answers by script: what is asked and told, as text.

use bytes::Bytes;
use kafka_protocol::ResponseError as E;

use super::{Answer, Core, Failure, Input, Joined, Millis, Output, Request, Ticket, Timing};
use crate::connection::Address;
use crate::group::{GroupEvent, Protocol};

const TIMING: Timing = Timing {
    session_timeout: 10_000,
    heartbeat_interval: 3_000,
    rebalance_timeout: 60_000,
    retry_backoff: 100,
    retry_backoff_max: 1_000,
};

struct Script {
    core: Core,
    now: Millis,
    asked: Option<Ticket>,
    looked_up: Option<Ticket>,
    /// Since it was last shown.
    log: Vec<String>,
}

impl Script {
    fn new() -> Self {
        let mut script = Self { core: Core::new(0, TIMING), now: 0, asked: None, looked_up: None, log: Vec::new() };
        script.give(Input::Tick);
        script
    }

    /// A member whose coordinator is found.
    fn found() -> Self {
        let mut script = Self::new();
        script.answer_look_up(Ok(address()));
        script.log.clear();
        script
    }

    /// A member that waits for the answer to its join, with the id `m`.
    fn joining() -> Self {
        let mut script = Self::found();
        script.join();
        script.answer(Answer::MemberId("m".to_owned()));
        script.log.clear();
        script
    }

    /// A follower that waits for the answer to its sync.
    fn syncing() -> Self {
        let mut script = Self::joining();
        script.answer(joined("leader"));
        script.log.clear();
        script
    }

    fn stable() -> Self {
        let mut script = Self::syncing();
        script.answer(synced());
        script.log.clear();
        script
    }

    fn join(&mut self) {
        self.give(Input::Join(["sessioned", "compatible"].map(protocol).into()));
    }

    fn leave(&mut self, reason: &str) {
        self.give(Input::Leave { reason: reason.to_owned() });
    }

    fn give(&mut self, input: Input) {
        for output in self.core.handle(self.now, input) {
            let line = match output {
                Output::LookUp { ticket } => {
                    assert_eq!(self.looked_up.replace(ticket), None, "looked up twice");
                    "look up".to_owned()
                }
                Output::Send { ticket, request, .. } => {
                    assert_eq!(self.asked.replace(ticket), None, "asked twice");
                    show_request(&request)
                }
                Output::HangUp => {
                    self.asked = None;
                    "hang up".to_owned()
                }
                Output::Event(event) => show_event(&event),
            };
            self.log.push(line);
        }
    }

    fn answer(&mut self, answer: Answer) {
        let ticket = self.asked.take().expect("something was asked");
        self.give(Input::Answer { ticket, answer: Ok(answer) });
    }

    fn refuse(&mut self, code: E) {
        let ticket = self.asked.take().expect("something was asked");
        self.give(Input::Answer { ticket, answer: Err(Failure::Refused { code, message: None }) });
    }

    fn break_connection(&mut self) {
        let ticket = self.asked.take().expect("something was asked");
        let failure = Failure::Connection { refused: false, reason: "broken".to_owned() };
        self.give(Input::Answer { ticket, answer: Err(failure) });
    }

    fn answer_look_up(&mut self, answer: Result<Address, Failure>) {
        let ticket = self.looked_up.take().expect("a coordinator is looked for");
        self.give(Input::Answer { ticket, answer: answer.map(Answer::Coordinator) });
    }

    /// Lets time go by, from deadline to deadline.
    fn pass(&mut self, time: Millis) {
        let end = self.now + time;
        while let Some(deadline) = self.core.next_deadline().filter(|deadline| *deadline <= end) {
            self.now = self.now.max(deadline);
            self.give(Input::Tick);
            let next = self.core.next_deadline();
            assert!(next.is_none_or(|next| next > self.now), "a deadline that stays: {next:?} at {}", self.now);
        }
        self.now = end;
    }

    /// Lets time go by with a broker that answers every heartbeat, and a herder that shows signs of life.
    fn pass_alive(&mut self, time: Millis) {
        for _ in 0..time / 100 {
            self.pass(100);
            self.give(Input::Poll);
            if self.asked.is_some() {
                self.answer(Answer::Alive);
            }
        }
    }

    #[track_caller]
    fn check(&mut self, expected: &[&str]) {
        assert_eq!(std::mem::take(&mut self.log), expected);
    }
}

fn show_request(request: &Request) -> String {
    match request {
        Request::Join { member, protocols } => {
            let names: Vec<_> = protocols.iter().map(|protocol| protocol.name.as_str()).collect();
            format!("join as `{member}` with {}", names.join(","))
        }
        Request::Sync { generation, member, protocol, assignments } => {
            let all: Vec<_> = assignments.iter().map(|(id, bytes)| format!("{id}={bytes:?}")).collect();
            format!("sync {generation} as `{member}` in {protocol} [{}]", all.join(" "))
        }
        Request::Heartbeat { generation, member } => format!("heartbeat {generation} as `{member}`"),
        Request::Leave { member, reason } => format!("leave as `{member}`: {reason}"),
    }
}

fn show_event(event: &GroupEvent) -> String {
    match event {
        GroupEvent::RebalanceNeeded => "REBALANCE NEEDED".to_owned(),
        GroupEvent::Elected { generation, protocol, member, members } => {
            format!("ELECTED {generation} {protocol} {member} of {}", members.len())
        }
        GroupEvent::Synced { generation, protocol, member, leader, assignment } => {
            format!("SYNCED {generation} {protocol} {member} led by {leader}: {assignment:?}")
        }
        GroupEvent::Lost { reason } => format!("LOST {reason}"),
        GroupEvent::CoordinatorLost { reason } => format!("COORDINATOR LOST {reason}"),
        GroupEvent::Left { reason } => format!("LEFT {reason}"),
        GroupEvent::Fatal { reason } => format!("FATAL {reason}"),
    }
}

fn protocol(name: &str) -> Protocol {
    Protocol { name: name.to_owned(), metadata: Bytes::from_static(b"metadata") }
}

fn address() -> Address {
    Address { host: "broker".to_owned(), port: 9092 }
}

fn joined(leader: &str) -> Answer {
    Answer::Joined(answer_to_join(leader))
}

fn answer_to_join(leader: &str) -> Joined {
    Joined {
        generation: 7,
        protocol_type: Some("connect".to_owned()),
        protocol: Some("compatible".to_owned()),
        leader: leader.to_owned(),
        member: "m".to_owned(),
        members: vec![("m".to_owned(), Bytes::from_static(b"metadata"))],
        skip_assignment: false,
    }
}

fn synced() -> Answer {
    Answer::Synced { protocol: Some("compatible".to_owned()), assignment: Bytes::from_static(b"work") }
}

#[test]
fn a_newcomer_gets_an_id_joins_with_it_and_follows() {
    let mut script = Script::new();
    script.check(&["look up"]);
    script.join();
    script.check(&[]);
    script.answer_look_up(Ok(address()));
    script.check(&["join as `` with sessioned,compatible"]);
    script.answer(Answer::MemberId("m".to_owned()));
    script.check(&["join as `m` with sessioned,compatible"]);
    script.answer(joined("someone"));
    script.check(&["sync 7 as `m` in compatible []"]);
    script.answer(synced());
    script.check(&["SYNCED 7 compatible m led by someone: b\"work\""]);
    script.pass(3_000);
    script.check(&["heartbeat 7 as `m`"]);
}

#[test]
fn a_leader_assigns_and_stays_alive_while_it_thinks() {
    let mut script = Script::joining();
    script.answer(joined("m"));
    script.check(&["ELECTED 7 compatible m of 1"]);
    script.pass(3_000);
    script.check(&["heartbeat 7 as `m`"]);
    script.refuse(E::RebalanceInProgress);
    script.check(&[]);
    script.give(Input::Assign { generation: 6, assignments: Vec::new() });
    script.check(&[]);
    script.give(Input::Assign { generation: 7, assignments: vec![("m".to_owned(), Bytes::from_static(b"all"))] });
    script.check(&["sync 7 as `m` in compatible [m=b\"all\"]"]);
    script.answer(synced());
    script.check(&["SYNCED 7 compatible m led by m: b\"work\""]);
}

#[test]
fn refused_joins_are_tried_again_or_end_it() {
    let again = "join as `m` with sessioned,compatible";
    let anew = "join as `` with sessioned,compatible";
    for (code, then) in [
        (E::CoordinatorLoadInProgress, &[again][..]),
        (E::RebalanceInProgress, &[again]),
        (E::UnknownMemberId, &[anew]),
        (E::IllegalGeneration, &[anew]),
        (E::NotCoordinator, &["hang up"]),
        (E::CoordinatorNotAvailable, &["hang up"]),
        (E::InconsistentGroupProtocol, &["FATAL joining the group was refused (InconsistentGroupProtocol)"]),
        (E::InvalidSessionTimeout, &["FATAL joining the group was refused (InvalidSessionTimeout)"]),
        (E::InvalidGroupId, &["FATAL joining the group was refused (InvalidGroupId)"]),
        (E::GroupAuthorizationFailed, &["FATAL joining the group was refused (GroupAuthorizationFailed)"]),
        (E::GroupMaxSizeReached, &["FATAL joining the group was refused (GroupMaxSizeReached)"]),
        (E::FencedInstanceId, &["FATAL joining the group was refused (FencedInstanceId)"]),
        (E::UnsupportedVersion, &["FATAL joining the group was refused (UnsupportedVersion)"]),
    ] {
        let mut script = Script::joining();
        script.refuse(code);
        script.pass(99);
        let before: Vec<_> = then.iter().copied().filter(|line| !line.starts_with("join")).collect();
        script.check(&before);
        script.pass(1);
        let after: Vec<_> = match code {
            E::NotCoordinator | E::CoordinatorNotAvailable => vec!["look up"],
            _ => then.iter().copied().filter(|line| line.starts_with("join")).collect(),
        };
        script.check(&after);
    }
}

#[test]
fn pauses_grow_while_the_coordinator_loads() {
    let mut script = Script::joining();
    for pause in [100, 200, 400, 800, 1_000, 1_000] {
        script.refuse(E::CoordinatorLoadInProgress);
        script.pass(pause - 1);
        script.check(&[]);
        script.pass(1);
        script.check(&["join as `m` with sessioned,compatible"]);
    }
}

#[test]
fn answers_that_make_no_sense_for_this_group_end_it() {
    for (change, reason) in [
        (
            (|joined| joined.skip_assignment = true) as fn(&mut Joined),
            "FATAL the broker takes this worker for a static member, which it isn't",
        ),
        (|joined| joined.protocol = None, "FATAL the broker chose no protocol"),
        (|joined| joined.protocol_type = Some("consumer".to_owned()), "FATAL the group is not one of Connect workers"),
    ] {
        let mut script = Script::joining();
        let mut answer = answer_to_join("m");
        change(&mut answer);
        script.answer(Answer::Joined(answer));
        script.check(&[reason]);
        assert_eq!(script.core.next_deadline(), None);
        script.join();
        script.check(&["join as `m` with sessioned,compatible"]);
    }
    let mut script = Script::syncing();
    script.answer(Answer::Synced { protocol: Some("default".to_owned()), assignment: Bytes::new() });
    script.check(&["FATAL the group changed its protocol between join and sync"]);
}

#[test]
fn a_refused_sync_means_to_join_again() {
    for (code, then) in [
        (E::RebalanceInProgress, "join as `m` with sessioned,compatible"),
        (E::UnknownMemberId, "join as `` with sessioned,compatible"),
        (E::IllegalGeneration, "join as `` with sessioned,compatible"),
        (E::GroupAuthorizationFailed, "FATAL taking part in the assignment was refused (GroupAuthorizationFailed)"),
        (E::UnknownServerError, "FATAL taking part in the assignment was refused (UnknownServerError)"),
    ] {
        let mut script = Script::syncing();
        script.refuse(code);
        script.pass(100);
        script.check(&[then]);
    }
    let moved = |script: &mut Script| {
        script.pass(100);
        script.check(&["hang up", "look up"]);
        script.answer_look_up(Ok(address()));
        script.check(&["join as `m` with sessioned,compatible"]);
    };
    let mut script = Script::syncing();
    script.refuse(E::NotCoordinator);
    moved(&mut script);
    let mut script = Script::syncing();
    script.break_connection();
    moved(&mut script);
}

#[test]
fn heartbeats_go_on_until_the_next_join_and_tell_of_a_rebalance_once() {
    let mut script = Script::stable();
    script.pass(3_000);
    script.check(&["heartbeat 7 as `m`"]);
    script.refuse(E::RebalanceInProgress);
    script.check(&["REBALANCE NEEDED"]);
    for _ in 0..5 {
        script.pass(3_000);
        script.check(&["heartbeat 7 as `m`"]);
        script.refuse(E::RebalanceInProgress);
        script.check(&[]);
    }
    script.join();
    script.check(&["join as `m` with sessioned,compatible"]);
    script.pass(60_000);
    script.check(&[]);
}

#[test]
fn a_member_that_is_disowned_says_so_and_waits_for_a_join() {
    for code in [E::UnknownMemberId, E::IllegalGeneration] {
        let mut script = Script::stable();
        script.pass(3_000);
        script.refuse(code);
        script.check(&["heartbeat 7 as `m`", &format!("LOST staying in the group was refused ({code})")]);
        script.pass(100_000);
        script.check(&[]);
        script.join();
        script.check(&["join as `` with sessioned,compatible"]);
    }
    let mut script = Script::stable();
    script.pass(3_000);
    script.refuse(E::GroupAuthorizationFailed);
    script.check(&["heartbeat 7 as `m`", "FATAL staying in the group was refused (GroupAuthorizationFailed)"]);
}

#[test]
fn a_coordinator_that_moves_is_followed_without_a_word() {
    let mut script = Script::stable();
    script.pass(3_000);
    script.refuse(E::NotCoordinator);
    script.pass(100);
    script.check(&["heartbeat 7 as `m`", "hang up", "look up"]);
    script.answer_look_up(Ok(address()));
    script.check(&["heartbeat 7 as `m`"]);
    script.break_connection();
    script.check(&["hang up", "look up"]);
    script.answer_look_up(Ok(address()));
    script.pass(200);
    script.check(&["heartbeat 7 as `m`"]);
}

#[test]
fn a_silent_coordinator_is_given_up_after_the_session_and_told_of_after_a_heartbeat_more() {
    let mut script = Script::stable();
    script.pass(9_999);
    script.check(&["heartbeat 7 as `m`"]);
    script.pass(1);
    script.check(&["hang up", "look up"]);
    script.pass(2_999);
    script.check(&[]);
    script.pass(1);
    script.check(&["COORDINATOR LOST no heartbeat was answered within 10000 ms"]);
    script.join();
    script.pass(30_000);
    script.check(&[]);
    script.answer_look_up(Ok(address()));
    script.check(&["join as `m` with sessioned,compatible"]);
    script.break_connection();
    script.pass(3_000);
    script.check(&["hang up", "look up", "COORDINATOR LOST broken"]);
}

#[test]
fn looking_for_a_coordinator_pauses_longer_and_longer() {
    let mut script = Script::found();
    script.join();
    script.break_connection();
    script.check(&["join as `` with sessioned,compatible", "hang up", "look up"]);
    for pause in [100, 200, 400, 800] {
        script.answer_look_up(Err(Failure::Connection { refused: true, reason: "no entry".to_owned() }));
        script.pass(pause - 1);
        script.check(&[]);
        script.pass(1);
        script.check(&["look up"]);
    }
    script.answer_look_up(Err(Failure::Refused { code: E::CoordinatorNotAvailable, message: None }));
    script.pass(1_500);
    script.check(&["look up", "COORDINATOR LOST looking for the coordinator was refused (CoordinatorNotAvailable)"]);
}

#[test]
fn a_refusal_is_the_end_at_the_start_only() {
    let refused = || Failure::Connection { refused: true, reason: "wrong password".to_owned() };
    let mut script = Script::new();
    script.answer_look_up(Err(refused()));
    script.check(&["look up", "FATAL wrong password"]);
    assert_eq!(script.core.next_deadline(), None);
    script.join();
    script.check(&["look up"]);

    let mut script = Script::new();
    let code = E::GroupAuthorizationFailed;
    script.answer_look_up(Err(Failure::Refused { code, message: Some("not you".to_owned()) }));
    script.check(&["look up", "FATAL looking for the coordinator was refused (GroupAuthorizationFailed: not you)"]);
}

#[test]
fn a_herder_that_shows_no_sign_of_life_is_taken_out_of_the_group() {
    let mut script = Script::stable();
    script.pass_alive(120_000);
    let heartbeats = std::mem::take(&mut script.log);
    assert!(heartbeats.iter().all(|line| line == "heartbeat 7 as `m`"), "{heartbeats:?}");
    for _ in 0..600 {
        script.pass(100);
        if script.asked.is_some() && !script.log.iter().any(|line| line.starts_with("leave")) {
            script.answer(Answer::Alive);
        }
    }
    script.log.retain(|line| !line.starts_with("heartbeat"));
    script.check(&["leave as `m`: the herder showed no sign of life for 60000 ms"]);
    script.answer(Answer::Left);
    script.check(&["LEFT the herder showed no sign of life for 60000 ms"]);
    script.join();
    script.check(&["join as `` with sessioned,compatible"]);
}

#[test]
fn leaving_gives_up_a_join_that_waits() {
    let mut script = Script::joining();
    let late = script.asked.expect("the join is out");
    script.leave("bye");
    script.check(&["hang up", "leave as `m`: bye"]);
    script.give(Input::Answer { ticket: late, answer: Ok(joined("m")) });
    script.check(&[]);
    script.refuse(E::UnknownMemberId);
    script.check(&["LEFT bye"]);
    script.leave("again");
    script.check(&["LEFT again"]);
}

#[test]
fn leaving_needs_no_coordinator() {
    let mut script = Script::new();
    script.join();
    script.leave("bye");
    script.check(&["look up", "LEFT bye"]);

    let mut script = Script::stable();
    script.leave("bye");
    script.break_connection();
    script.check(&["leave as `m`: bye", "hang up", "look up", "LEFT bye"]);
}

#[test]
fn a_join_while_leaving_comes_after_it() {
    let mut script = Script::stable();
    script.leave("bye");
    script.join();
    script.check(&["leave as `m`: bye"]);
    script.answer(Answer::Left);
    script.check(&["LEFT bye", "join as `` with sessioned,compatible"]);

    let mut script = Script::stable();
    script.leave("bye");
    script.join();
    script.leave("bye for good");
    script.answer(Answer::Left);
    script.check(&["leave as `m`: bye", "LEFT bye"]);
}

#[test]
fn a_second_join_takes_the_place_of_the_first() {
    let mut script = Script::joining();
    script.give(Input::Join(vec![protocol("default")]));
    script.check(&["hang up", "join as `m` with default"]);
}

/// Random inputs and answers. A join may end once; while none is going on, no outcome of one may be told.
#[test]
fn every_join_has_exactly_one_outcome_whatever_happens() {
    for seed in 0..500 {
        let mut random = Random(seed);
        let mut script = Script::new();
        let mut joins = 0;
        for step in 0..300 {
            let chaos = step < 250;
            if chaos {
                random_step(&mut script, &mut random);
            } else {
                quiet_step(&mut script, &mut random);
            }
            for line in std::mem::take(&mut script.log) {
                let word = line.split(' ').next().unwrap_or_default();
                match word {
                    "JOIN" => joins = 1,
                    "JOIN-AFTER-LEAVING" => joins = 2,
                    "LEFT" if joins == 2 => joins = 1,
                    "CANCELLED" if joins == 2 => joins = 1,
                    "SYNCED" => {
                        assert_eq!(joins, 1, "synced without a join, seed {seed}, step {step}");
                        joins = 0;
                    }
                    "COORDINATOR" | "LEFT" | "FATAL" => joins = 0,
                    _ => {}
                }
            }
            if !chaos && joins == 0 && !script.core.is_in_generation() {
                script.log.push("JOIN".to_owned());
                script.join();
            }
        }
        assert!(script.core.is_in_generation(), "a quiet broker took in no member, seed {seed}");
    }
}

fn quiet_step(script: &mut Script, random: &mut Random) {
    answer_something(script, random, false);
    script.give(Input::Poll);
    script.give(Input::Assign { generation: 7, assignments: Vec::new() });
    script.pass(1_000);
}

fn random_step(script: &mut Script, random: &mut Random) {
    match random.below(12) {
        0 => {
            let leaving = matches!(script.core.phase, super::Phase::Leaving { .. });
            script.log.push(if leaving { "JOIN-AFTER-LEAVING" } else { "JOIN" }.to_owned());
            script.join();
        }
        1 => {
            script.log.push("CANCELLED".to_owned());
            script.leave("bye");
        }
        2 => {
            let late = random.below(50);
            if script.asked != Some(late) && script.looked_up != Some(late) {
                script.give(Input::Answer { ticket: late, answer: Ok(joined("m")) });
            }
        }
        3 | 4 => script.pass(random.below(4_000)),
        5 => {
            script.give(Input::Poll);
            script.give(Input::Assign { generation: 7, assignments: Vec::new() });
        }
        6..=9 => answer_something(script, random, true),
        10 if script.asked.is_some() => script.break_connection(),
        _ => script.give(Input::Tick),
    }
}

fn answer_something(script: &mut Script, random: &mut Random, chaos: bool) {
    if script.looked_up.is_some() {
        let broken = Failure::Connection { refused: false, reason: "broken".to_owned() };
        let found = if chaos && random.below(3) == 0 { Err(broken) } else { Ok(address()) };
        script.answer_look_up(found);
    } else if let Some(ticket) = script.asked.take() {
        let codes = [E::UnknownMemberId, E::RebalanceInProgress, E::NotCoordinator, E::CoordinatorLoadInProgress];
        let refused = Failure::Refused { code: codes[random.below(4) as usize], message: None };
        let kind = script.core.out.map(|out| out.kind);
        let granted = match kind {
            Some(super::Kind::Join) => joined(if random.below(2) == 0 { "m" } else { "other" }),
            Some(super::Kind::Sync) => synced(),
            Some(super::Kind::Heartbeat) | None => Answer::Alive,
            Some(super::Kind::Leave) => Answer::Left,
        };
        let answer = if chaos && random.below(3) == 0 { Err(refused) } else { Ok(granted) };
        script.give(Input::Answer { ticket, answer });
    }
}

/// SplitMix64.
struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        let mut x = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        self.0 = x;
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (x ^ (x >> 31)) % end
    }
}
