//! Requests about the offsets of groups, which librdkafka has and rdkafka doesn't wrap.
//!
//! All four requests have one shape: an object that names the group
//! and perhaps partitions is handed to librdkafka with a queue; one event comes back, and everything
//! read from it is copied before the event is destroyed.
#![allow(unsafe_code, reason = "librdkafka's admin functions for group offsets have no safe wrapper")]

use std::ffi::{CStr, CString};
use std::ptr::{self, NonNull};
use std::time::Duration;

use bulkhead_model::offset::TopicPartition;
use rdkafka::TopicPartitionList;
use rdkafka::bindings as c;
use rdkafka::client::{Client, ClientContext};
use rdkafka::error::RDKafkaErrorCode as Code;
use rdkafka::types::{RDKafkaAdminOp, RDKafkaRespErr};

/// What is asked of a group's coordinator.
#[derive(Debug)]
pub(super) enum Operation<'a> {
    /// All offsets that the group has committed.
    List,
    Alter(&'a TopicPartitionList),
    /// Removes committed offsets.
    Forget(&'a TopicPartitionList),
    DeleteGroup,
}

/// One partition of an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Row {
    pub(super) partition: TopicPartition,
    /// Negative for none.
    pub(super) offset: i64,
    pub(super) error: Option<Code>,
}

/// The whole request was refused, or not answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Refused {
    pub(super) code: Code,
    pub(super) reason: String,
}

/// Carries a request out; blocks until the answer is there or the time is up.
pub(super) fn request<C: ClientContext>(
    client: &Client<C>,
    group: &str,
    operation: &Operation<'_>,
    timeout: Duration,
) -> Result<Vec<Row>, Refused> {
    let group = CString::new(group).map_err(|_| Refused::here("the group's name has a zero byte in it"))?;
    let queue = Queue::new(client)?;
    let options = Options::new(client, operation.code(), timeout)?;
    operation.submit(client, &group, &options, &queue);
    // The request itself ends in time; the rest is for librdkafka's threads to say so.
    let event = queue.poll(timeout + Duration::from_secs(5))?;
    event.rows(operation)
}

impl Operation<'_> {
    fn code(&self) -> RDKafkaAdminOp {
        match self {
            Self::List => RDKafkaAdminOp::RD_KAFKA_ADMIN_OP_LISTCONSUMERGROUPOFFSETS,
            Self::Alter(_) => RDKafkaAdminOp::RD_KAFKA_ADMIN_OP_ALTERCONSUMERGROUPOFFSETS,
            Self::Forget(_) => RDKafkaAdminOp::RD_KAFKA_ADMIN_OP_DELETECONSUMERGROUPOFFSETS,
            Self::DeleteGroup => RDKafkaAdminOp::RD_KAFKA_ADMIN_OP_DELETEGROUPS,
        }
    }

    fn submit<C: ClientContext>(&self, client: &Client<C>, group: &CStr, options: &Options, queue: &Queue) {
        let (client, group) = (client.native_ptr(), group.as_ptr());
        let (options, queue) = (options.0.as_ptr(), queue.0.as_ptr());
        // SAFETY: client, options and queue live until the answer has been read. librdkafka copies the
        // request object and what it was made of, so the object is destroyed here.
        unsafe {
            match self {
                Self::List => {
                    let mut list = c::rd_kafka_ListConsumerGroupOffsets_new(group, ptr::null());
                    c::rd_kafka_ListConsumerGroupOffsets(client, &mut list, 1, options, queue);
                    c::rd_kafka_ListConsumerGroupOffsets_destroy(list);
                }
                Self::Alter(offsets) => {
                    let mut alter = c::rd_kafka_AlterConsumerGroupOffsets_new(group, offsets.ptr());
                    c::rd_kafka_AlterConsumerGroupOffsets(client, &mut alter, 1, options, queue);
                    c::rd_kafka_AlterConsumerGroupOffsets_destroy(alter);
                }
                Self::Forget(partitions) => {
                    let mut forget = c::rd_kafka_DeleteConsumerGroupOffsets_new(group, partitions.ptr());
                    c::rd_kafka_DeleteConsumerGroupOffsets(client, &mut forget, 1, options, queue);
                    c::rd_kafka_DeleteConsumerGroupOffsets_destroy(forget);
                }
                Self::DeleteGroup => {
                    let mut delete = c::rd_kafka_DeleteGroup_new(group);
                    c::rd_kafka_DeleteGroups(client, &mut delete, 1, options, queue);
                    c::rd_kafka_DeleteGroup_destroy(delete);
                }
            }
        }
    }
}

/// The queue on which the one answer comes.
struct Queue(NonNull<c::rd_kafka_queue_t>);

impl Queue {
    fn new<C: ClientContext>(client: &Client<C>) -> Result<Self, Refused> {
        // SAFETY: the client is alive; a null answer is caught.
        let queue = unsafe { c::rd_kafka_queue_new(client.native_ptr()) };
        NonNull::new(queue).map(Self).ok_or_else(|| Refused::here("no queue could be made"))
    }

    fn poll(&self, timeout: Duration) -> Result<Event, Refused> {
        let millis = i32::try_from(timeout.as_millis()).unwrap_or(i32::MAX);
        // SAFETY: the queue is alive; the event, if there is one, is ours to destroy.
        let event = unsafe { c::rd_kafka_queue_poll(self.0.as_ptr(), millis) };
        NonNull::new(event)
            .map(Event)
            .ok_or_else(|| Refused { code: Code::OperationTimedOut, reason: "no answer came".to_owned() })
    }
}

impl Drop for Queue {
    fn drop(&mut self) {
        // SAFETY: made by `rd_kafka_queue_new`, destroyed once.
        unsafe { c::rd_kafka_queue_destroy(self.0.as_ptr()) }
    }
}

struct Options(NonNull<c::rd_kafka_AdminOptions_t>);

impl Options {
    fn new<C: ClientContext>(
        client: &Client<C>,
        operation: RDKafkaAdminOp,
        timeout: Duration,
    ) -> Result<Self, Refused> {
        let millis = i32::try_from(timeout.as_millis()).unwrap_or(i32::MAX);
        // SAFETY: the client is alive; a null answer is caught; an error text isn't asked for, so its
        // buffer has no length.
        let (options, outcome) = unsafe {
            let options = c::rd_kafka_AdminOptions_new(client.native_ptr(), operation);
            let Some(options) = NonNull::new(options) else {
                return Err(Refused::here("no request options could be made"));
            };
            let options = Self(options);
            let outcome = c::rd_kafka_AdminOptions_set_request_timeout(options.0.as_ptr(), millis, ptr::null_mut(), 0);
            (options, outcome)
        };
        match outcome {
            RDKafkaRespErr::RD_KAFKA_RESP_ERR_NO_ERROR => Ok(options),
            error => Err(Refused { code: error.into(), reason: "the request's time-out was not accepted".to_owned() }),
        }
    }
}

impl Drop for Options {
    fn drop(&mut self) {
        // SAFETY: made by `rd_kafka_AdminOptions_new`, destroyed once.
        unsafe { c::rd_kafka_AdminOptions_destroy(self.0.as_ptr()) }
    }
}

/// The answer; owns everything that is read from it.
struct Event(NonNull<c::rd_kafka_event_t>);

impl Event {
    fn rows(&self, operation: &Operation<'_>) -> Result<Vec<Row>, Refused> {
        let event = self.0.as_ptr();
        // SAFETY: the event is alive, is of the kind that was asked for or the accessor answers null, and
        // all pointers taken from it are read before it is destroyed.
        unsafe {
            let code = c::rd_kafka_event_error(event);
            if code != RDKafkaRespErr::RD_KAFKA_RESP_ERR_NO_ERROR {
                return Err(Refused { code: code.into(), reason: text(c::rd_kafka_event_error_string(event)) });
            }
            let mut count = 0;
            let groups = match operation {
                Operation::List => c::rd_kafka_ListConsumerGroupOffsets_result_groups(event, &mut count),
                Operation::Alter(_) => c::rd_kafka_AlterConsumerGroupOffsets_result_groups(event, &mut count),
                Operation::Forget(_) => c::rd_kafka_DeleteConsumerGroupOffsets_result_groups(event, &mut count),
                Operation::DeleteGroup => c::rd_kafka_DeleteGroups_result_groups(event, &mut count),
            };
            if groups.is_null() || count == 0 {
                return Err(Refused::here("the answer speaks of no group"));
            }
            group_rows(*groups)
        }
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        // SAFETY: taken from a queue, destroyed once.
        unsafe { c::rd_kafka_event_destroy(self.0.as_ptr()) }
    }
}

/// # Safety
/// `group` belongs to an event that is alive.
unsafe fn group_rows(group: *const c::rd_kafka_group_result_t) -> Result<Vec<Row>, Refused> {
    // SAFETY: as above; error and partitions may be null, which is asked first.
    unsafe {
        let error = c::rd_kafka_group_result_error(group);
        if !error.is_null() {
            return Err(Refused {
                code: c::rd_kafka_error_code(error).into(),
                reason: text(c::rd_kafka_error_string(error)),
            });
        }
        let partitions = c::rd_kafka_group_result_partitions(group);
        if partitions.is_null() {
            return Ok(Vec::new());
        }
        let count = usize::try_from((*partitions).cnt).unwrap_or_default();
        let rows = (0..count).map(|index| row(&*(*partitions).elems.add(index)));
        Ok(rows.collect())
    }
}

fn row(element: &c::rd_kafka_topic_partition_t) -> Row {
    let error = element.err;
    Row {
        // SAFETY: the element's topic is a C string as long as the element lives.
        partition: TopicPartition::new(unsafe { text(element.topic) }, element.partition),
        offset: element.offset,
        error: (error != RDKafkaRespErr::RD_KAFKA_RESP_ERR_NO_ERROR).then(|| error.into()),
    }
}

/// # Safety
/// `text` is null or a C string that lives for the length of the call.
unsafe fn text(text: *const std::ffi::c_char) -> String {
    if text.is_null() {
        return String::new();
    }
    // SAFETY: as above.
    unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
}

impl Refused {
    fn here(reason: &str) -> Self {
        Self { code: Code::InvalidArgument, reason: reason.to_owned() }
    }
}
