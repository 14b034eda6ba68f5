//! Where lists are in the answers that have some.
//!
//! A list begins with the number of its elements, and the message library makes room for as many before it has seen one
//! of them. So an answer is walked through before it is decoded: what it announces has to be there.

use kafka_protocol::messages::ApiKey;

/// The fields of an answer, in order, as Kafka's message definitions have them.
pub(super) struct Shape {
    /// First version whose lengths are variable and whose structures end in tagged fields (KIP-482).
    flexible: i16,
    fields: &'static [Field],
    /// The tagged fields that are decoded, by their tags.
    tagged: &'static [(u64, &'static [Field])],
}

struct Field {
    since: i16,
    until: i16,
    form: Form,
}

enum Form {
    /// So many bytes.
    Fixed(usize),
    Text,
    Bytes,
    /// A list of numbers of four bytes.
    Numbers,
    /// A list of structures with these fields.
    List(&'static [Field]),
}

use Form::{Bytes, Fixed, List, Numbers, Text};

const fn of(form: Form) -> Field {
    since(0, form)
}

const fn since(since: i16, form: Form) -> Field {
    Field { since, until: i16::MAX, form }
}

const fn until(until: i16, form: Form) -> Field {
    Field { since: 0, until, form }
}

const fn between(since: i16, until: i16, form: Form) -> Field {
    Field { since, until, form }
}

impl Shape {
    /// None for answers without a list.
    pub(super) fn of_answer(key: i16) -> Option<&'static Self> {
        match ApiKey::try_from(key).ok()? {
            ApiKey::ApiVersions => Some(&API_VERSIONS),
            ApiKey::DescribeCluster => Some(&DESCRIBE_CLUSTER),
            ApiKey::FindCoordinator => Some(&FIND_COORDINATOR),
            ApiKey::JoinGroup => Some(&JOIN_GROUP),
            ApiKey::LeaveGroup => Some(&LEAVE_GROUP),
            ApiKey::ListOffsets => Some(&LIST_OFFSETS),
            ApiKey::Metadata => Some(&METADATA),
            ApiKey::SaslHandshake => Some(&SASL_HANDSHAKE),
            _ => None,
        }
    }

    /// Whether everything is there that the answer announces.
    pub(super) fn check(&self, answer: &[u8], version: i16) -> Result<(), String> {
        let mut walk = Walk { rest: answer, version, flexible: version >= self.flexible };
        walk.fields(self.fields, self.tagged).ok_or_else(|| "it ends before all that it announces".to_owned())
    }
}

const API_VERSIONS: Shape = {
    const FEATURES: &[Field] = &[of(List(&[of(Text), of(Fixed(4))]))];
    Shape {
        flexible: 3,
        fields: &[of(Fixed(2)), of(List(&[of(Fixed(6))])), since(1, Fixed(4))],
        tagged: &[(0, FEATURES), (1, &[of(Fixed(8))]), (2, FEATURES), (3, &[of(Fixed(1))])],
    }
};

const DESCRIBE_CLUSTER: Shape = Shape {
    flexible: 0,
    fields: &[
        of(Fixed(6)),
        of(Text),
        since(1, Fixed(1)),
        of(Text),
        of(Fixed(4)),
        of(List(&[of(Fixed(4)), of(Text), of(Fixed(4)), of(Text), since(2, Fixed(1))])),
        of(Fixed(4)),
    ],
    tagged: &[],
};

const FIND_COORDINATOR: Shape = Shape {
    flexible: 3,
    fields: &[
        since(1, Fixed(4)),
        until(3, Fixed(2)),
        between(1, 3, Text),
        until(3, Fixed(4)),
        until(3, Text),
        until(3, Fixed(4)),
        since(4, List(&[of(Text), of(Fixed(4)), of(Text), of(Fixed(6)), of(Text)])),
    ],
    tagged: &[],
};

const JOIN_GROUP: Shape = Shape {
    flexible: 6,
    fields: &[
        since(2, Fixed(4)),
        of(Fixed(6)),
        since(7, Text),
        of(Text),
        of(Text),
        since(9, Fixed(1)),
        of(Text),
        of(List(&[of(Text), since(5, Text), of(Bytes)])),
    ],
    tagged: &[],
};

const LEAVE_GROUP: Shape = Shape {
    flexible: 4,
    fields: &[since(1, Fixed(4)), of(Fixed(2)), since(3, List(&[of(Text), of(Text), of(Fixed(2))]))],
    tagged: &[],
};

const LIST_OFFSETS: Shape = Shape {
    flexible: 6,
    fields: &[since(2, Fixed(4)), of(List(&[of(Text), of(List(&[of(Fixed(22)), since(4, Fixed(4))]))]))],
    tagged: &[],
};

const METADATA: Shape = {
    const PARTITIONS: Form = List(&[of(Fixed(10)), since(7, Fixed(4)), of(Numbers), of(Numbers), since(5, Numbers)]);
    const BROKERS: Form = List(&[of(Fixed(4)), of(Text), of(Fixed(4)), since(1, Text)]);
    const TOPICS: Form =
        List(&[of(Fixed(2)), of(Text), since(10, Fixed(16)), since(1, Fixed(1)), of(PARTITIONS), since(8, Fixed(4))]);
    Shape {
        flexible: 9,
        fields: &[
            since(3, Fixed(4)),
            of(BROKERS),
            since(2, Text),
            since(1, Fixed(4)),
            of(TOPICS),
            between(8, 10, Fixed(4)),
            since(13, Fixed(2)),
        ],
        tagged: &[],
    }
};

const SASL_HANDSHAKE: Shape = Shape { flexible: i16::MAX, fields: &[of(Fixed(2)), of(List(&[of(Text)]))], tagged: &[] };

/// None wherever the bytes end too early, or a length is none.
struct Walk<'a> {
    rest: &'a [u8],
    version: i16,
    flexible: bool,
}

impl Walk<'_> {
    fn fields(&mut self, fields: &[Field], tagged: &[(u64, &[Field])]) -> Option<()> {
        for Field { since, until, form } in fields {
            if (*since..=*until).contains(&self.version) {
                self.form(form)?;
            }
        }
        if self.flexible { self.tagged(tagged) } else { Some(()) }
    }

    fn form(&mut self, form: &Form) -> Option<()> {
        match form {
            Fixed(length) => self.skip(*length),
            Text => {
                let length = if self.flexible { self.compact_length()? } else { self.short_length()? };
                self.skip(length)
            }
            Bytes => {
                let length = self.long_or_compact_length()?;
                self.skip(length)
            }
            Numbers => {
                let count = self.long_or_compact_length()?;
                self.skip(count.checked_mul(4)?)
            }
            List(element) => {
                for _ in 0..self.long_or_compact_length()? {
                    self.fields(element, &[])?;
                }
                Some(())
            }
        }
    }

    fn tagged(&mut self, known: &[(u64, &[Field])]) -> Option<()> {
        for _ in 0..self.variable()? {
            let (tag, length) = (self.variable()?, self.variable()?);
            match known.iter().find(|(known, _)| *known == tag) {
                // Its length isn't looked at when it is decoded.
                Some((_, fields)) => fields.iter().try_for_each(|field| self.form(&field.form))?,
                None => self.skip(usize::try_from(length).ok()?)?,
            }
        }
        Some(())
    }

    fn skip(&mut self, length: usize) -> Option<()> {
        self.rest = self.rest.get(length..)?;
        Some(())
    }

    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (taken, rest) = self.rest.split_first_chunk()?;
        self.rest = rest;
        Some(*taken)
    }

    fn short_length(&mut self) -> Option<usize> {
        Some(usize::try_from(i16::from_be_bytes(self.take()?)).unwrap_or(0))
    }

    fn long_or_compact_length(&mut self) -> Option<usize> {
        if self.flexible {
            return self.compact_length();
        }
        Some(usize::try_from(i32::from_be_bytes(self.take()?)).unwrap_or(0))
    }

    /// One more than it says, so that nothing at all is told apart from a length of 0.
    fn compact_length(&mut self) -> Option<usize> {
        usize::try_from(self.variable()?.saturating_sub(1)).ok()
    }

    /// Seven bits in a byte, the lowest first.
    fn variable(&mut self) -> Option<u64> {
        let mut number = 0;
        for shift in (0..35).step_by(7) {
            let [byte] = self.take()?;
            number |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Some(number);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use bytes::BytesMut;
    use kafka_protocol::messages::*;
    use kafka_protocol::protocol::{Decodable, Encodable, Request, StrBytes};

    use super::*;

    /// Every version of the answer as the library writes it is walked through to its end, and to no end before.
    fn check<R: Request>(make: impl Fn(i16) -> R::Response)
    where
        R::Response: Encodable + Decodable,
    {
        let shape = Shape::of_answer(R::KEY).unwrap();
        for version in R::VERSIONS.min..=R::VERSIONS.max {
            let mut bytes = BytesMut::new();
            make(version).encode(&mut bytes, version).unwrap();
            for end in 0..bytes.len() {
                assert!(shape.check(&bytes[..end], version).is_err(), "version {version}, {end} bytes");
            }
            let mut walk = Walk { rest: &bytes, version, flexible: version >= shape.flexible };
            assert_eq!(walk.fields(shape.fields, shape.tagged), Some(()), "version {version}");
            assert_eq!(walk.rest, b"", "version {version}");
        }
    }

    fn text() -> StrBytes {
        StrBytes::from_static_str("text")
    }

    #[test]
    fn answers_are_walked_through_in_every_version() {
        check::<ApiVersionsRequest>(|version| {
            use api_versions_response::{ApiVersion, FinalizedFeatureKey, SupportedFeatureKey};
            let answer = ApiVersionsResponse::default().with_api_keys(vec![ApiVersion::default(); 3]);
            if version < 3 {
                return answer;
            }
            answer
                .with_supported_features(vec![SupportedFeatureKey::default().with_name(text()); 2])
                .with_finalized_features(vec![FinalizedFeatureKey::default().with_name(text()); 2])
                .with_finalized_features_epoch(7)
                .with_zk_migration_ready(true)
        });
        check::<DescribeClusterRequest>(|_| {
            let broker = describe_cluster_response::DescribeClusterBroker::default();
            let brokers = vec![broker.clone().with_host(text()), broker.with_rack(Some(text()))];
            DescribeClusterResponse::default().with_cluster_id(text()).with_brokers(brokers)
        });
        check::<FindCoordinatorRequest>(|version| {
            let one = find_coordinator_response::Coordinator::default().with_key(text()).with_host(text());
            match version {
                0 => FindCoordinatorResponse::default().with_host(text()),
                1..=3 => FindCoordinatorResponse::default().with_host(text()).with_error_message(Some(text())),
                _ => FindCoordinatorResponse::default().with_coordinators(vec![one; 3]),
            }
        });
        check::<JoinGroupRequest>(|version| {
            let member = join_group_response::JoinGroupResponseMember::default().with_metadata(text().into_bytes());
            let named = if version < 5 { member.clone() } else { member.clone().with_group_instance_id(Some(text())) };
            let members = vec![member, named];
            JoinGroupResponse::default().with_leader(text()).with_protocol_name(Some(text())).with_members(members)
        });
        check::<LeaveGroupRequest>(|version| {
            let member = leave_group_response::MemberResponse::default().with_member_id(text());
            let members = if version < 3 { vec![] } else { vec![member; 2] };
            LeaveGroupResponse::default().with_members(members)
        });
        check::<ListOffsetsRequest>(|version| {
            use list_offsets_response::{ListOffsetsPartitionResponse, ListOffsetsTopicResponse};
            let partition = ListOffsetsPartitionResponse::default().with_offset(7);
            let partition = if version < 4 { partition } else { partition.with_leader_epoch(1) };
            let topic = ListOffsetsTopicResponse::default().with_name(TopicName(text()));
            ListOffsetsResponse::default().with_topics(vec![topic.with_partitions(vec![partition; 3]); 2])
        });
        check::<SaslHandshakeRequest>(|_| SaslHandshakeResponse::default().with_mechanisms(vec![text(); 3]));
        check::<MetadataRequest>(|version| {
            use metadata_response::{MetadataResponseBroker, MetadataResponsePartition, MetadataResponseTopic};
            let nodes = vec![BrokerId(1); 3];
            let partition =
                MetadataResponsePartition::default().with_replica_nodes(nodes.clone()).with_isr_nodes(nodes);
            let topic = MetadataResponseTopic::default().with_name(Some(TopicName(text())));
            let topic = topic.with_partitions(vec![partition; 2]);
            let broker = MetadataResponseBroker::default().with_host(text());
            let answer = MetadataResponse::default().with_brokers(vec![broker; 2]).with_topics(vec![topic; 2]);
            if version < 2 { answer } else { answer.with_cluster_id(Some(text())) }
        });
    }

    #[test]
    fn a_list_that_is_not_there_is_refused_before_room_is_made_for_it() {
        let announced = [0, 0, 0x7f, 0xff, 0xff, 0xff];
        let shape = Shape::of_answer(ApiKey::SaslHandshake as i16).unwrap();
        assert_eq!(shape.check(&announced, 1).unwrap_err(), "it ends before all that it announces");
        let announced = [0, 0, 0xff, 0xff, 0xff, 0xff, 0x0f];
        let shape = Shape::of_answer(ApiKey::ApiVersions as i16).unwrap();
        assert!(shape.check(&announced, 3).is_err());
    }
}
