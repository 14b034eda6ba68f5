use std::collections::BTreeMap;

use bulkhead_control::{Admin, Error, Isolation, Position};
use bulkhead_model::offset::TopicPartition;
use kafka_protocol::ResponseError;

use super::support::{broker, client, unique};

#[tokio::test]
async fn the_cluster_is_described() {
    let Some(broker) = broker() else { return };
    let cluster = Admin::new(client(&broker)).unwrap().cluster().await.unwrap();
    assert!(!cluster.id.is_empty());
    let addresses: Vec<_> = cluster.brokers.iter().map(|node| format!("{}:{}", node.host, node.port)).collect();
    assert!(addresses.contains(&broker), "{addresses:?}");
}

/// The offsets topic is there once a group was looked for; each group that committed nothing leaves it as it was.
#[tokio::test]
async fn offsets_are_listed_under_both_isolation_levels() {
    let Some(broker) = broker() else { return };
    let admin = Admin::new(client(&broker)).unwrap();
    admin.fence([unique("some-id")]).await.unwrap();
    let partitions: Vec<_> = (0..5).map(|number| TopicPartition::new("__transaction_state", number)).collect();
    let mut sums = BTreeMap::new();
    for isolation in [Isolation::ReadUncommitted, Isolation::ReadCommitted] {
        for position in [Position::Earliest, Position::Latest] {
            let offsets = admin.offsets(&partitions, position, isolation).await.unwrap();
            assert_eq!(offsets.len(), 5);
            sums.insert(format!("{isolation:?} {position:?}"), offsets.values().sum::<i64>());
        }
    }
    assert_eq!(sums["ReadUncommitted Earliest"], 0, "{sums:?}");
    assert!(sums["ReadUncommitted Latest"] > 0, "{sums:?}");
    assert!(sums["ReadCommitted Latest"] > 0, "{sums:?}");
}

#[tokio::test]
async fn a_topic_that_does_not_come_is_named() {
    let Some(broker) = broker() else { return };
    let mut settings = client(&broker);
    settings.request_timeout = std::time::Duration::from_secs(5);
    let missing = [TopicPartition::new("no-such-topic", 3)];
    let error = Admin::new(settings).unwrap().offsets(&missing, Position::Latest, Isolation::ReadCommitted).await;
    let error = error.unwrap_err();
    assert_eq!(error.to_string(), "reading the offsets of no-such-topic-3 was refused (UnknownTopicOrPartition)");
}

#[tokio::test]
async fn many_producers_are_fenced_at_once() {
    let Some(broker) = broker() else { return };
    let admin = Admin::new(client(&broker)).unwrap();
    let prefix = unique("fence");
    let ids = || (0..40).map(|number| format!("{prefix}-{number}"));
    let started = std::time::Instant::now();
    admin.fence(ids()).await.unwrap();
    admin.fence(ids()).await.unwrap();
    assert!(started.elapsed().as_secs() < 20, "fencing 40 ids twice took {:?}", started.elapsed());

    let error = admin.fence([String::new()]).await.unwrap_err();
    let Error::Refused { code: ResponseError::InvalidRequest, .. } = error else { panic!("{error:?}") };
}
