use super::*;

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
fn trouble_that_passes_is_no_end() {
    let mut script = Script::stable();
    script.pass(3_000);
    script.refuse(E::RequestTimedOut);
    script.pass(3_000);
    script.check(&["heartbeat 7 as `m`", "heartbeat 7 as `m`"]);
    let mut script = Script::syncing();
    script.refuse(E::NetworkException);
    script.pass(100);
    script.check(&["join as `m` with sessioned,compatible"]);
}
