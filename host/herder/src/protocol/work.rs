//! Sets of connectors and tasks.

use bulkhead_model::{ConnectorName, Instance, TaskId};
use indexmap::{IndexMap, IndexSet};

use super::bytes::{DecodeError, EncodeError, Reader, Writer};

/// Where a task's number stands, this means the connector's own instance.
const CONNECTOR_ITSELF: i32 = -1;

/// Some of the cluster's connectors and tasks. Keeps the order in which they came, by which the assignor
/// chooses what to take away; equality doesn't look at the order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Work {
    pub connectors: IndexSet<ConnectorName>,
    pub tasks: IndexSet<TaskId>,
}

impl Work {
    pub fn is_empty(&self) -> bool {
        self.connectors.is_empty() && self.tasks.is_empty()
    }

    /// Connectors and tasks together.
    pub fn len(&self) -> usize {
        self.connectors.len() + self.tasks.len()
    }

    pub fn contains(&self, instance: &Instance) -> bool {
        match instance {
            Instance::Connector(name) => self.connectors.contains(name),
            Instance::Task(task) => self.tasks.contains(task),
        }
    }

    pub fn insert(&mut self, instance: Instance) {
        match instance {
            Instance::Connector(name) => self.connectors.insert(name),
            Instance::Task(task) => self.tasks.insert(task),
        };
    }

    /// Connectors first.
    pub fn instances(&self) -> impl Iterator<Item = Instance> {
        let connectors = self.connectors.iter().cloned().map(Instance::Connector);
        connectors.chain(self.tasks.iter().cloned().map(Instance::Task))
    }

    /// Adds all of the other.
    pub fn add(&mut self, other: &Work) {
        self.connectors.extend(other.connectors.iter().cloned());
        self.tasks.extend(other.tasks.iter().cloned());
    }

    /// Takes away all of the other; the order of what stays is kept.
    pub fn subtract(&mut self, other: &Work) {
        if !other.connectors.is_empty() {
            self.connectors.retain(|name| !other.connectors.contains(name));
        }
        if !other.tasks.is_empty() {
            self.tasks.retain(|task| !other.tasks.contains(task));
        }
    }

    /// One entry for each connector: its own instance first, then its tasks.
    pub(super) fn encode(&self, writer: &mut Writer) -> Result<(), EncodeError> {
        let mut entries: IndexMap<&ConnectorName, Vec<i32>> =
            self.connectors.iter().map(|name| (name, vec![CONNECTOR_ITSELF])).collect();
        for task in &self.tasks {
            let what = "tasks of one connector";
            let number = i32::try_from(task.number);
            let number = number.map_err(|_| EncodeError::TooMany { what, count: task.number as usize })?;
            entries.entry(&task.connector).or_default().push(number);
        }
        writer.count("connectors", entries.len())?;
        for (name, numbers) in entries {
            writer.string("a connector's name", name.as_str())?;
            writer.count("tasks", numbers.len())?;
            numbers.into_iter().for_each(|number| writer.i32(number));
        }
        Ok(())
    }

    pub(super) fn decode(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let mut work = Self::default();
        for _ in 0..reader.nullable_count()?.unwrap_or(0) {
            let name = ConnectorName::new(reader.string()?);
            for _ in 0..reader.count()? {
                work.insert(instance(&name, reader.i32()?)?);
            }
        }
        Ok(work)
    }
}

impl FromIterator<Instance> for Work {
    fn from_iter<I: IntoIterator<Item = Instance>>(instances: I) -> Self {
        let mut work = Self::default();
        instances.into_iter().for_each(|instance| work.insert(instance));
        work
    }
}

fn instance(name: &ConnectorName, number: i32) -> Result<Instance, DecodeError> {
    if number == CONNECTOR_ITSELF {
        return Ok(Instance::Connector(name.clone()));
    }
    match u32::try_from(number) {
        Ok(number) => Ok(Instance::Task(name.task(number))),
        Err(_) => Err(DecodeError::Task { connector: name.to_string(), number }),
    }
}
