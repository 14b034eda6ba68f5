//! The logs of a standalone worker: what the herder appends comes back to it as the next event.

use bulkhead_herder::api::{ConfigRecord, Event, LoggedConfig, StatusRecord, Token};
use tokio::sync::mpsc;

use super::ports::{Log, News, Outside};

/// A config log in memory.
#[derive(Debug, Default)]
struct ConfigLog {
    /// Where it ends.
    next_offset: i64,
}

/// A status log in memory.
#[derive(Debug)]
struct StatusLog;

impl Outside {
    /// Of a worker that is alone.
    pub fn alone(news: mpsc::Receiver<News>) -> Self {
        Self { config: Box::new(ConfigLog::default()), status: Box::new(StatusLog), cluster: None, news }
    }
}

impl Log<ConfigRecord> for ConfigLog {
    fn append(&mut self, token: Token, records: Vec<ConfigRecord>) -> Vec<Event> {
        let logged = records.into_iter().map(|record| {
            self.next_offset += 1;
            Event::ConfigRecord(LoggedConfig { next_offset: self.next_offset, record: Some(record) })
        });
        logged.chain([appended(token)]).collect()
    }

    fn read_to_end(&mut self, token: Token) -> Vec<Event> {
        vec![Event::ReadToEnd { token, outcome: Ok(()) }]
    }
}

impl Log<StatusRecord> for StatusLog {
    fn append(&mut self, token: Token, records: Vec<StatusRecord>) -> Vec<Event> {
        records.into_iter().map(Event::StatusRecord).chain([appended(token)]).collect()
    }

    fn read_to_end(&mut self, token: Token) -> Vec<Event> {
        vec![Event::ReadToEnd { token, outcome: Ok(()) }]
    }
}

fn appended(token: Token) -> Event {
    Event::Appended { token, outcome: Ok(()) }
}
