use super::*;

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
            let leaving = matches!(script.core.phase, super::super::Phase::Leaving { .. });
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
            Some(super::super::Kind::Join) => joined(if random.below(2) == 0 { "m" } else { "other" }),
            Some(super::super::Kind::Sync) => synced(),
            Some(super::super::Kind::Heartbeat) | None => Answer::Alive,
            Some(super::super::Kind::Leave) => Answer::Left,
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
