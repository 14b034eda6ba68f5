//! What Connect workers say to each other when their group is formed (KIP-415): the metadata with which a
//! member joins, and the assignment that the leader gives it.
//!
//! The group's coordinator passes both on as bytes. They come from other workers, of any version: what
//! can't be read is an error, never more memory than the bytes justify.

mod bytes;
mod work;

use bytes::{Reader, Writer};

pub use bytes::{DecodeError, EncodeError};
pub use work::Work;

/// The protocol type of JoinGroup and SyncGroup.
pub const PROTOCOL_TYPE: &str = "connect";

/// How much a string may have, in bytes.
pub const MAX_STRING: usize = i16::MAX as usize;

/// `connect.protocol`: what the members of the group agree on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum ConnectProtocol {
    /// Every rebalance stops all work first.
    Eager,
    /// Work that stays where it is goes on (KIP-415).
    Compatible,
    /// As compatible, and internal requests are signed (KIP-507).
    #[default]
    Sessioned,
}

/// With what a worker joins the group.
#[derive(Clone, Debug, PartialEq)]
pub struct MemberMetadata {
    /// 0 eager, 1 compatible, 2 sessioned; newer ones are read as if they were 2.
    pub version: i16,
    /// Advertised URL of the REST interface, with a slash at its end.
    pub url: String,
    /// Offset after the last config record applied; -1 for none.
    pub config_offset: i64,
    /// All that the worker holds; none for one that holds no assignment, and in version 0.
    pub allocation: Option<Assignment>,
}

/// What the leader gives a member, and what a member tells the leader it holds.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Assignment {
    pub version: i16,
    pub error: AssignmentError,
    /// Member id of the leader.
    pub leader: String,
    pub leader_url: String,
    /// The config offset for which it was worked out.
    pub config_offset: i64,
    /// Version 0: all that the member is to run. Later: what it is to start.
    pub assigned: Work,
    /// What the member is to stop. Not in version 0.
    pub revoked: Work,
    /// Milliseconds after which the member is to join again, 0 for never. Not in version 0.
    pub delay_ms: u32,
}

/// Whether an assignment could be worked out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AssignmentError {
    #[default]
    None,
    /// The leader has read less of the config topic than a member.
    ConfigMismatch,
    /// A code that we don't know.
    Other(i16),
}

impl ConnectProtocol {
    /// All by their names in JoinGroup, the best first.
    const ALL: [Self; 3] = [Self::Sessioned, Self::Compatible, Self::Eager];

    /// What a worker with this setting offers, the best first.
    pub fn offered(self) -> impl Iterator<Item = Self> {
        Self::ALL.into_iter().filter(move |other| *other <= self)
    }

    pub fn name(self) -> &'static str {
        match self {
            Self::Eager => "default",
            Self::Compatible => "compatible",
            Self::Sessioned => "sessioned",
        }
    }

    /// The protocol that the coordinator chose.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|protocol| protocol.name() == name)
    }

    /// Of the metadata and the assignment.
    pub fn version(self) -> i16 {
        match self {
            Self::Eager => 0,
            Self::Compatible => 1,
            Self::Sessioned => 2,
        }
    }
}

impl AssignmentError {
    fn code(self) -> i16 {
        match self {
            Self::None => 0,
            Self::ConfigMismatch => 1,
            Self::Other(code) => code,
        }
    }

    fn from_code(code: i16) -> Self {
        match code {
            0 => Self::None,
            1 => Self::ConfigMismatch,
            other => Self::Other(other),
        }
    }
}

impl MemberMetadata {
    pub fn encode(&self) -> Result<Vec<u8>, EncodeError> {
        let mut writer = Writer::default();
        writer.i16(self.version);
        writer.string("the worker's URL", &self.url)?;
        writer.i64(self.config_offset);
        // Version 0 has no place for it; its readers ignore what follows, ours don't. A member of an eager
        // group holds something only if it came from a cooperative one.
        let held = self.allocation.as_ref().filter(|held| self.version > 0 || !held.assigned.is_empty());
        if self.version > 0 || held.is_some() {
            let allocation = held.map(|held| held.encode_as(self.version)).transpose()?;
            writer.nullable_bytes(allocation.as_deref())?;
        }
        Ok(writer.into_bytes())
    }

    pub fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(bytes);
        let version = reader.version()?;
        let url = reader.string()?.to_owned();
        let config_offset = reader.i64()?;
        let allocation = match reader.is_at_end() {
            true => Ok(None),
            false => reader.nullable_bytes().and_then(|bytes| bytes.map(Assignment::decode).transpose()),
        };
        // What follows in version 0 may be anything.
        let allocation = if version > 0 { allocation? } else { allocation.unwrap_or_default() };
        Ok(Self { version, url, config_offset, allocation })
    }
}

impl Assignment {
    pub fn encode(&self) -> Result<Vec<u8>, EncodeError> {
        self.encode_as(self.version)
    }

    fn encode_as(&self, version: i16) -> Result<Vec<u8>, EncodeError> {
        let mut writer = Writer::default();
        writer.i16(version);
        writer.i16(self.error.code());
        writer.string("the leader's member id", &self.leader)?;
        writer.string("the leader's URL", &self.leader_url)?;
        writer.i64(self.config_offset);
        self.assigned.encode(&mut writer)?;
        if version > 0 {
            self.revoked.encode(&mut writer)?;
            writer.i32(i32::try_from(self.delay_ms).unwrap_or(i32::MAX));
        }
        Ok(writer.into_bytes())
    }

    /// Fields that an older version lacks are empty; a negative delay is none.
    pub fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(bytes);
        let mut assignment = Self {
            version: reader.version()?,
            error: AssignmentError::from_code(reader.i16()?),
            leader: reader.string()?.to_owned(),
            leader_url: reader.string()?.to_owned(),
            config_offset: reader.i64()?,
            ..Self::default()
        };
        if !reader.is_at_end() {
            assignment.assigned = Work::decode(&mut reader)?;
        }
        if assignment.version > 0 && !reader.is_at_end() {
            assignment.revoked = Work::decode(&mut reader)?;
        }
        if assignment.version > 0 && !reader.is_at_end() {
            assignment.delay_ms = u32::try_from(reader.i32()?).unwrap_or(0);
        }
        Ok(assignment)
    }
}

#[cfg(test)]
mod tests;
