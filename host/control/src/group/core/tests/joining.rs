use super::*;

#[test]
fn g02_a_newcomer_gets_an_id_joins_with_it_and_follows() {
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
        (
            E::UnknownServerError,
            "FATAL taking part in the assignment was refused (UnknownServerError): the assignments of all members \
             together may be larger than a record of the topic __consumer_offsets may be (max.message.bytes, by \
             default 1 MiB)",
        ),
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
fn a_second_join_takes_the_place_of_the_first() {
    let mut script = Script::joining();
    script.give(Input::Join(vec![protocol("default")]));
    script.check(&["hang up", "join as `m` with default"]);
}
