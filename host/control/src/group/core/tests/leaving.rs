use super::*;

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
