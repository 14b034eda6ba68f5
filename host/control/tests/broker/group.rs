use std::time::Duration;

use bulkhead_control::GroupEvent;
use bytes::Bytes;

use super::support::{Member, broker, settings, unique};

#[tokio::test]
async fn members_come_and_go_and_the_others_learn_of_it() {
    let Some(broker) = broker() else { return };
    let group = unique("come-and-go");
    let mut first = Member::new("a", settings(&broker, &group));
    assert_eq!(first.synced(1).await, (1, "sessioned: 1 of a".to_owned()));

    let mut second = Member::new("b", settings(&broker, &group));
    let (one, two) = tokio::join!(first.synced(2), second.synced(2));
    assert_eq!(one.1, format!("sessioned: {} of a+b", one.0));
    assert_eq!(one, two);

    second.handle.leave("the test is over").await;
    assert_eq!(second.next().await, GroupEvent::Left { reason: "the test is over".to_owned() });
    let alone = first.synced(1).await;
    assert!(alone.0 > one.0, "{alone:?} after {one:?}");

    second.join();
    tokio::join!(first.synced(2), second.synced(2));
}

#[tokio::test]
async fn a_member_that_dies_is_given_up_after_its_session() {
    let Some(broker) = broker() else { return };
    let group = unique("dies");
    let mut stays = Member::new("a", settings(&broker, &group));
    let mut dies = Member::new("b", settings(&broker, &group));
    tokio::join!(stays.synced(2), dies.synced(2));

    let started = std::time::Instant::now();
    drop(dies);
    let (_, alone) = stays.synced(1).await;
    assert!(alone.ends_with("of a"), "{alone}");
    let took = started.elapsed();
    assert!(took > Duration::from_secs(4), "given up after {took:?}, as if it had left");
}

#[tokio::test]
async fn the_group_agrees_on_a_protocol_that_all_know() {
    let Some(broker) = broker() else { return };
    let group = unique("protocols");
    let mut new = Member::new("a", settings(&broker, &group));
    assert_eq!(new.synced(1).await.1, "sessioned: 1 of a");
    let mut old = Member::with_protocols("b", settings(&broker, &group), &["compatible", "default"]);
    let (one, two) = tokio::join!(new.synced(2), old.synced(2));
    assert!(one.1.starts_with("compatible: "), "{one:?}");
    assert_eq!(one, two);

    let mut stranger = Member::with_protocols("c", settings(&broker, &group), &["strange"]);
    let GroupEvent::Fatal { reason } = stranger.next().await else { panic!("a stranger got in") };
    assert_eq!(reason, "joining the group was refused (InconsistentGroupProtocol)");
}

#[tokio::test]
async fn who_shows_no_sign_of_life_leaves_and_may_come_back() {
    let Some(broker) = broker() else { return };
    let mut settings = settings(&broker, &unique("silent"));
    settings.rebalance_timeout = Duration::from_millis(1500);
    let mut member = Member::new("a", settings);
    let (before, _) = member.synced(1).await;
    let left = member.next().await;
    assert_eq!(left, GroupEvent::Left { reason: "the herder showed no sign of life for 1500 ms".to_owned() });
    member.join();
    let (after, _) = member.synced(1).await;
    assert!(after > before, "{after} after {before}");
}

#[tokio::test]
async fn leaving_does_not_wait_for_a_join_that_waits_for_others() {
    let Some(broker) = broker() else { return };
    let group = unique("leave-early");
    let mut settled = Member::new("a", settings(&broker, &group));
    settled.synced(1).await;
    // The settled member doesn't join again, so this one's join waits for the rebalance time-out.
    let mut waits = Member::new("b", settings(&broker, &group));
    assert_eq!(settled.next().await, GroupEvent::RebalanceNeeded);
    let leave = tokio::time::timeout(Duration::from_secs(10), waits.handle.leave("changed its mind"));
    leave.await.expect("leaving is quick");
    assert_eq!(waits.next().await, GroupEvent::Left { reason: "changed its mind".to_owned() });
    settled.join();
    settled.synced(1).await;
}

#[tokio::test]
async fn without_a_broker_the_member_says_so_and_keeps_looking() {
    let mut settings = settings("127.0.0.1:1", "nobody");
    settings.client.request_timeout = Duration::from_secs(1);
    let mut member = Member::new("a", settings);
    let GroupEvent::CoordinatorLost { reason } = member.next().await else { panic!("a broker was found") };
    assert!(reason.starts_with("127.0.0.1:1 can't be reached: "), "{reason}");
    member.handle.leave("nobody is there").await;
    assert_eq!(member.next().await, GroupEvent::Left { reason: "nobody is there".to_owned() });
}

/// What happens at the broker's limit: it keeps the state of a group in one record.
#[tokio::test]
async fn an_assignment_beyond_the_brokers_limit_is_never_complete() {
    let Some(broker) = broker() else { return };
    let mut member = Member::new("a", settings(&broker, &unique("large")));
    let mut elections = 0;
    while elections < 2 {
        match member.next().await {
            GroupEvent::Elected { generation, members, .. } => {
                elections += 1;
                let large = Bytes::from(vec![0; 2 << 20]);
                member.handle.assign(generation, vec![(members[0].0.clone(), large)]);
            }
            event => {
                eprintln!("{event:?}");
                assert!(!matches!(event, GroupEvent::Synced { .. }), "the broker took 2 MiB");
                member.join();
            }
        }
    }
    member.handle.leave("the test is over").await;
}
