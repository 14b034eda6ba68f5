//! The table of Java's property names: what becomes of each.
//!
//! `security.*`, `ssl.*` and `sasl.*` depend on one another and have a module of their own.

use super::Role;

/// What becomes of a property.
#[derive(Clone, Copy, Debug)]
pub(super) enum Rule {
    /// Same name, same meaning; also librdkafka's own names, and names that nobody knows.
    Same,
    Renamed(&'static str),
    /// The value is written differently as well; `None` if it has no counterpart.
    Mapped(&'static str, fn(&str) -> Option<String>),
    /// Read by this crate.
    Ours,
    /// Concerns what only a Java client does; nothing is lost.
    Pointless,
    /// librdkafka has nothing of the kind: worth a warning.
    Ignored,
}

/// Looks a key up; the key is without any prefix.
pub(super) fn rule(role: Role, key: &str) -> Rule {
    match role {
        Role::Producer => producer(key),
        Role::Consumer => consumer(key),
        Role::Admin => common(key),
    }
}

fn common(key: &str) -> Rule {
    match key {
        "client.dns.lookup" => Rule::Mapped("client.dns.lookup", dns_lookup),
        "connections.max.idle.ms" => Rule::Mapped("connections.max.idle.ms", minus_one_as_zero),
        "metadata.max.age.ms" => Rule::Renamed("topic.metadata.refresh.interval.ms"),
        "receive.buffer.bytes" => Rule::Mapped("socket.receive.buffer.bytes", minus_one_as_zero),
        "request.timeout.ms" => Rule::Renamed("socket.timeout.ms"),
        "send.buffer.bytes" => Rule::Mapped("socket.send.buffer.bytes", minus_one_as_zero),
        "auto.include.jmx.reporter"
        | "default.api.timeout.ms"
        | "key.deserializer"
        | "key.serializer"
        | "metrics.num.samples"
        | "metrics.recording.level"
        | "metrics.sample.window.ms"
        | "value.deserializer"
        | "value.serializer" => Rule::Pointless,
        "config.providers"
        | "interceptor.classes"
        | "metric.reporters"
        | "security.providers"
        | "socket.connection.setup.timeout.max.ms" => Rule::Ignored,
        _ => Rule::Same,
    }
}

fn producer(key: &str) -> Rule {
    match key {
        "batch.size" => Rule::Mapped("batch.size", at_least_one),
        "buffer.memory" => Rule::Ours,
        "max.request.size" => Rule::Renamed("message.max.bytes"),
        // librdkafka's second names of what has a default here.
        "max.in.flight" => Rule::Renamed("max.in.flight.requests.per.connection"),
        "message.timeout.ms" => Rule::Renamed("delivery.timeout.ms"),
        "queue.buffering.max.ms" => Rule::Renamed("linger.ms"),
        "request.required.acks" => Rule::Renamed("acks"),
        "partitioner.class" => Rule::Mapped("partitioner", partitioner),
        "request.timeout.ms" => Rule::Same,
        // `send` never waits.
        "max.block.ms" => Rule::Pointless,
        "compression.gzip.level"
        | "compression.lz4.level"
        | "compression.zstd.level"
        | "metadata.max.idle.ms"
        | "partitioner.adaptive.partitioning.enable"
        | "partitioner.availability.timeout.ms"
        | "partitioner.ignore.keys"
        | "transaction.timeout.ms"
        | "transactional.id" => Rule::Ignored,
        _ => common(key),
    }
}

fn consumer(key: &str) -> Rule {
    match key {
        "auto.offset.reset" => Rule::Mapped("auto.offset.reset", offset_reset),
        "exclude.internal.topics" | "max.poll.records" => Rule::Ours,
        "fetch.max.wait.ms" => Rule::Renamed("fetch.wait.max.ms"),
        "fetch.min.bytes" => Rule::Mapped("fetch.min.bytes", at_least_one),
        "partition.assignment.strategy" => Rule::Mapped("partition.assignment.strategy", assignors),
        // Offsets are committed when the sink says so, never by a timer of the client.
        "auto.commit.interval.ms" | "enable.auto.commit" | "enable.auto.offset.store" => Rule::Ignored,
        _ => common(key),
    }
}

fn dns_lookup(value: &str) -> Option<String> {
    let value = if value == "default" { "use_all_dns_ips" } else { value };
    Some(value.to_owned())
}

fn minus_one_as_zero(value: &str) -> Option<String> {
    let value = if value.trim() == "-1" { "0" } else { value };
    Some(value.to_owned())
}

fn at_least_one(value: &str) -> Option<String> {
    let value = if value.trim() == "0" { "1" } else { value };
    Some(value.to_owned())
}

fn offset_reset(value: &str) -> Option<String> {
    match value.trim() {
        "earliest" => Some("earliest".to_owned()),
        "latest" => Some("latest".to_owned()),
        "none" => Some("error".to_owned()),
        _ => None,
    }
}

fn partitioner(value: &str) -> Option<String> {
    match simple_name(value) {
        "" | "DefaultPartitioner" => Some("murmur2_random".to_owned()),
        "UniformStickyPartitioner" => Some("random".to_owned()),
        _ => None,
    }
}

/// All have to be of one protocol for librdkafka, while Java's default names one of each: range goes
/// with round robin, and an eager one wins because every member of an old group knows it.
fn assignors(value: &str) -> Option<String> {
    let names: Option<Vec<_>> = value.split(',').map(assignor).collect();
    let names = names?;
    let eager: Vec<_> = names.iter().copied().filter(|name| *name != COOPERATIVE).collect();
    let kept = if eager.is_empty() { names } else { eager };
    Some(kept.join(","))
}

const COOPERATIVE: &str = "cooperative-sticky";

fn assignor(class: &str) -> Option<&'static str> {
    match simple_name(class) {
        "RangeAssignor" | "range" => Some("range"),
        "RoundRobinAssignor" | "roundrobin" => Some("roundrobin"),
        "CooperativeStickyAssignor" | COOPERATIVE => Some(COOPERATIVE),
        _ => None,
    }
}

fn simple_name(class: &str) -> &str {
    class.trim().rsplit('.').next().unwrap_or_default()
}
