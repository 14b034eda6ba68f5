//! Offsets of sinks' groups, against a real broker: the mock doesn't know these requests.

use bulkhead_model::ConnectorName;
use bulkhead_model::offset::TopicPartition;
use bulkhead_pipeline::ports::{Clients, ConsumeError, Consumer};

use crate::support::{Broker, assigned, at, fill, fresh, sink, task};

#[tokio::test(flavor = "multi_thread")]
async fn offsets_are_listed_altered_removed_and_deleted() {
    let Some(broker) = Broker::real() else { return };
    let clients = broker.clients(&[]);
    let (one, two) = (broker.topic("offsets"), broker.topic("offsets"));
    fill(&clients, &one, 3);
    fill(&clients, &two, 3);
    let (name, config) = (ConnectorName::new(fresh("sink")), sink(&one));
    let sorted = async || {
        let mut offsets = clients.group_offsets(&name, &config).await.unwrap();
        offsets.sort_by(|a, b| a.partition.cmp(&b.partition));
        offsets
    };

    assert_eq!(sorted().await, [], "a group that doesn't exist has no offsets");
    clients.delete_group(&name, &config).await.unwrap();

    let partitions = [TopicPartition::new(&one, 0), TopicPartition::new(&two, 0)];
    let alter = partitions.iter().map(|partition| (partition.clone(), Some(2))).collect();
    clients.alter_group_offsets(&name, &config, alter).await.unwrap();
    assert_eq!(sorted().await, [at(&one, 0, 2), at(&two, 0, 2)]);

    let forget = vec![(partitions[0].clone(), None), (partitions[1].clone(), Some(1))];
    clients.alter_group_offsets(&name, &config, forget).await.unwrap();
    assert_eq!(sorted().await, [at(&two, 0, 1)]);

    clients.delete_group(&name, &config).await.unwrap();
    assert_eq!(sorted().await, []);
    let again = vec![(partitions[0].clone(), None)];
    clients.alter_group_offsets(&name, &config, again).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_group_with_members_is_left_alone() {
    let Some(broker) = Broker::real() else { return };
    let clients = broker.clients(&[]);
    let topic = broker.topic("members");
    fill(&clients, &topic, 3);
    let (name, config) = (ConnectorName::new(fresh("sink")), sink(&topic));
    let mut consumer = clients.consumer(&task(name.as_str(), 0), &config).unwrap();
    assigned(&mut consumer).await;
    consumer.commit(vec![at(&topic, 0, 1)]).await.unwrap();

    let partition = TopicPartition::new(&topic, 0);
    let altered = clients.alter_group_offsets(&name, &config, vec![(partition.clone(), Some(2))]).await;
    let removed = clients.alter_group_offsets(&name, &config, vec![(partition, None)]).await;
    let deleted = clients.delete_group(&name, &config).await;
    for outcome in [altered, removed, deleted] {
        let error = outcome.unwrap_err();
        assert!(matches!(error, ConsumeError::Retriable(_)), "{error:?}");
        assert!(error.to_string().contains("haven't stopped completely"), "{error}");
    }
    assert_eq!(clients.group_offsets(&name, &config).await.unwrap(), [at(&topic, 0, 1)]);
    consumer.close().await;
    clients.delete_group(&name, &config).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_an_offset_is_refused() {
    let Some(broker) = Broker::real() else { return };
    let clients = broker.clients(&[]);
    let topic = broker.topic("refused");
    fill(&clients, &topic, 1);
    let (name, config) = (ConnectorName::new(fresh("sink")), sink(&topic));
    let missing = fresh("missing");
    for (topic, partition, offset, expected) in [
        (&topic, 0, -1, format!("offset -1 of {topic}-0 is negative")),
        (&topic, -1, 0, format!("partition -1 of topic `{topic}` is negative")),
        (&topic, 7, 0, format!("topic `{topic}` has no partition 7")),
        (&missing, 0, 0, format!("topic `{missing}` doesn't exist")),
    ] {
        let offsets = vec![(TopicPartition::new(topic, partition), Some(offset))];
        let error = clients.alter_group_offsets(&name, &config, offsets).await.unwrap_err();
        assert_eq!(error, ConsumeError::Fatal(expected));
    }
}
