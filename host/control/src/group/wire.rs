//! The core's requests as Kafka's messages, and back. Versions differ in which fields there are.

use std::time::Duration;

use kafka_protocol::ResponseError;
use kafka_protocol::messages::join_group_request::JoinGroupRequestProtocol;
use kafka_protocol::messages::leave_group_request::MemberIdentity;
use kafka_protocol::messages::sync_group_request::SyncGroupRequestAssignment;
use kafka_protocol::messages::{
    GroupId, HeartbeatRequest, JoinGroupRequest, JoinGroupResponse, LeaveGroupRequest, SyncGroupRequest,
};
use kafka_protocol::protocol::StrBytes;

use super::core::{Answer, Joined, Request};
use super::{GroupSettings, PROTOCOL_TYPE, Protocol};
use crate::Error;
use crate::connection::{Address, Connection};
use crate::coordinator::{KeyKind, find_coordinators};

/// What the broker may take over a join or sync beyond the rebalance time-out.
const GRACE: Duration = Duration::from_secs(5);

/// LeaveGroup for several members at once (KIP-345).
const BATCHED_LEAVE: i16 = 3;
/// LeaveGroup and JoinGroup with a reason (KIP-800).
const LEAVE_WITH_REASON: i16 = 5;
const JOIN_WITH_REASON: i16 = 8;
/// SyncGroup that names the protocol (KIP-559).
const SYNC_WITH_PROTOCOL: i16 = 5;
/// JoinGroup with a rebalance time-out of its own (KIP-62).
const JOIN_WITH_REBALANCE_TIMEOUT: i16 = 1;

/// What is the same in all requests of a member.
pub(super) struct Wire {
    group: GroupId,
    session_timeout: i32,
    rebalance_timeout: i32,
    request_limit: Duration,
    rebalance_limit: Duration,
}

impl Wire {
    pub(super) fn new(settings: &GroupSettings) -> Self {
        let millis = |time: Duration| i32::try_from(time.as_millis()).unwrap_or(i32::MAX);
        let request_limit = settings.client.request_timeout;
        Self {
            group: GroupId(text(&settings.group_id)),
            session_timeout: millis(settings.session_timeout),
            rebalance_timeout: millis(settings.rebalance_timeout),
            request_limit,
            rebalance_limit: request_limit.max(settings.rebalance_timeout + GRACE),
        }
    }

    pub(super) async fn find_coordinator(&self, connection: &mut Connection) -> Result<Address, Error> {
        let keys = [self.group.0.clone()];
        let found = find_coordinators(connection, KeyKind::Group, &keys, self.request_limit).await?;
        match found.into_iter().next() {
            Some((_, address)) => address,
            None => Err(Error::refused("FindCoordinator", ResponseError::CoordinatorNotAvailable, None)),
        }
    }

    pub(super) async fn ask(&self, connection: &mut Connection, request: Request) -> Result<Answer, Error> {
        match request {
            Request::Join { member, protocols } => self.join(connection, member, protocols).await,
            Request::Sync { .. } => self.sync(connection, request).await,
            Request::Heartbeat { generation, member } => self.heartbeat(connection, generation, member).await,
            Request::Leave { member, reason } => self.leave(connection, member, reason).await,
        }
    }

    async fn join(
        &self,
        connection: &mut Connection,
        member: String,
        protocols: Vec<Protocol>,
    ) -> Result<Answer, Error> {
        let version = connection.version::<JoinGroupRequest>()?;
        let protocol = |Protocol { name, metadata }| {
            JoinGroupRequestProtocol::default().with_name(StrBytes::from_string(name)).with_metadata(metadata)
        };
        let mut request = JoinGroupRequest::default()
            .with_group_id(self.group.clone())
            .with_session_timeout_ms(self.session_timeout)
            .with_member_id(StrBytes::from_string(member))
            .with_protocol_type(StrBytes::from_static_str(PROTOCOL_TYPE))
            .with_protocols(protocols.into_iter().map(protocol).collect());
        if version >= JOIN_WITH_REBALANCE_TIMEOUT {
            request.rebalance_timeout_ms = self.rebalance_timeout;
        }
        if version >= JOIN_WITH_REASON {
            request.reason = Some(StrBytes::default());
        }
        let answer = connection.call(&request, self.rebalance_limit).await?;
        match ResponseError::try_from_code(answer.error_code) {
            None => Ok(Answer::Joined(joined(answer))),
            Some(ResponseError::MemberIdRequired) => Ok(Answer::MemberId(answer.member_id.to_string())),
            Some(code) => Err(Error::refused("JoinGroup", code, None)),
        }
    }

    async fn sync(&self, connection: &mut Connection, request: Request) -> Result<Answer, Error> {
        let Request::Sync { generation, member, protocol, assignments } = request else {
            unreachable!("only a sync is given here")
        };
        let version = connection.version::<SyncGroupRequest>()?;
        let assignment = |(member, assignment)| {
            SyncGroupRequestAssignment::default()
                .with_member_id(StrBytes::from_string(member))
                .with_assignment(assignment)
        };
        let mut request = SyncGroupRequest::default()
            .with_group_id(self.group.clone())
            .with_generation_id(generation)
            .with_member_id(StrBytes::from_string(member))
            .with_assignments(assignments.into_iter().map(assignment).collect());
        if version >= SYNC_WITH_PROTOCOL {
            request.protocol_type = Some(StrBytes::from_static_str(PROTOCOL_TYPE));
            request.protocol_name = Some(StrBytes::from_string(protocol));
        }
        let answer = connection.call(&request, self.rebalance_limit).await?;
        granted("SyncGroup", answer.error_code)?;
        let protocol = answer.protocol_name.map(|name| name.to_string());
        Ok(Answer::Synced { protocol, assignment: answer.assignment })
    }

    async fn heartbeat(&self, connection: &mut Connection, generation: i32, member: String) -> Result<Answer, Error> {
        let request = HeartbeatRequest::default()
            .with_group_id(self.group.clone())
            .with_generation_id(generation)
            .with_member_id(StrBytes::from_string(member));
        let answer = connection.call(&request, self.request_limit).await?;
        granted("Heartbeat", answer.error_code)?;
        Ok(Answer::Alive)
    }

    async fn leave(&self, connection: &mut Connection, member: String, reason: String) -> Result<Answer, Error> {
        let version = connection.version::<LeaveGroupRequest>()?;
        let member = StrBytes::from_string(member);
        let mut request = LeaveGroupRequest::default().with_group_id(self.group.clone());
        if version < BATCHED_LEAVE {
            request.member_id = member;
        } else {
            let reason = (version >= LEAVE_WITH_REASON).then(|| StrBytes::from_string(reason));
            request.members = vec![MemberIdentity::default().with_member_id(member).with_reason(reason)];
        }
        let answer = connection.call(&request, self.request_limit).await?;
        granted("LeaveGroup", answer.error_code)?;
        for member in answer.members {
            granted("LeaveGroup", member.error_code)?;
        }
        Ok(Answer::Left)
    }
}

fn joined(answer: JoinGroupResponse) -> Joined {
    Joined {
        generation: answer.generation_id,
        protocol_type: answer.protocol_type.map(|name| name.to_string()),
        protocol: answer.protocol_name.map(|name| name.to_string()),
        leader: answer.leader.to_string(),
        member: answer.member_id.to_string(),
        members: answer.members.into_iter().map(|member| (member.member_id.to_string(), member.metadata)).collect(),
        skip_assignment: answer.skip_assignment,
    }
}

fn granted(what: &str, code: i16) -> Result<(), Error> {
    ResponseError::try_from_code(code).map_or(Ok(()), |code| Err(Error::refused(what, code, None)))
}

fn text(text: &str) -> StrBytes {
    StrBytes::from_string(text.to_owned())
}
