//! Workers that die without a word. What they did goes on elsewhere, or where they return, and nothing is lost.

use std::time::Duration;

use crate::cluster;
use crate::pipe::{A_SECOND, Pipe};
use crate::witness::{self, check_single, check_successions};

fn all<'a>(pipes: &'a [Pipe], witnesses: &'a [(String, u32)]) -> Vec<(&'a str, u32)> {
    pipes.iter().flat_map(Pipe::connectors).chain(witness::borrowed(witnesses)).collect()
}

#[test]
fn a_killed_follower_and_a_killed_leader_lose_nothing() {
    let Some(mut cluster) = cluster("kills", 3) else { return };
    let pipes = ["a", "b"].map(|name| Pipe::create(&cluster, &cluster.rest(0), name));
    let witnesses = witness::create(&cluster, &cluster.rest(1), 2);
    let connectors = all(&pipes, &witnesses);
    cluster.settled(&connectors).unwrap();
    pipes.iter().for_each(|pipe| pipe.flows(50));
    let (leader, follower) = (cluster.leader().unwrap(), cluster.follower().unwrap());
    for victim in [follower, leader] {
        cluster.kill(victim).unwrap();
        cluster.settled(&connectors).unwrap();
        pipes.iter().for_each(|pipe| pipe.flows(50));
        check_single(&cluster, &witnesses);
        cluster.start(victim).unwrap();
        cluster.settled(&connectors).unwrap();
    }
    check_single(&cluster, &witnesses);
    check_successions(&cluster, &witnesses, Duration::ZERO);
    drop(connectors);
    pipes.into_iter().for_each(|pipe| pipe.check(&cluster, 2 * A_SECOND));
}

#[test]
fn one_of_three_killed_workers_returns_and_goes_on_with_everything() {
    let Some(mut cluster) = cluster("all-killed", 3) else { return };
    let pipes = ["a", "b"].map(|name| Pipe::create(&cluster, &cluster.rest(0), name));
    let witnesses = witness::create(&cluster, &cluster.rest(1), 2);
    let connectors = all(&pipes, &witnesses);
    cluster.settled(&connectors).unwrap();
    pipes.iter().for_each(|pipe| pipe.flows(50));
    for victim in 0..3 {
        cluster.kill(victim).unwrap();
    }
    cluster.start(1).unwrap();
    cluster.settled(&connectors).unwrap();
    pipes.iter().for_each(|pipe| pipe.flows(50));
    check_single(&cluster, &witnesses);
    for back in [0, 2] {
        cluster.spawn(back).unwrap();
    }
    for back in [0, 2] {
        cluster.wait_until_it_is_up(back).unwrap();
    }
    cluster.settled(&connectors).unwrap();
    check_single(&cluster, &witnesses);
    check_successions(&cluster, &witnesses, Duration::ZERO);
    drop(connectors);
    pipes.into_iter().for_each(|pipe| pipe.check(&cluster, A_SECOND));
}
