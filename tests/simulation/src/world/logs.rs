//! Writing to the logs, and reading from them.

use bulkhead_herder::api::{ConfigRecord, Event, LoggedConfig, StatusRecord, Token};

use super::{AppendFault, Happening, ProcessId, World};
use crate::conditions::Mutation;
use crate::diary;

/// A record on its way into a log.
#[derive(Debug)]
pub(crate) struct Write {
    /// None: somebody from outside.
    from: Option<ProcessId>,
    what: What,
}

#[derive(Debug)]
enum What {
    Config(Option<ConfigRecord>),
    Status(StatusRecord),
}

/// How late what is given up is written after all.
pub(super) const LATE: (u64, u64) = (0, 6_000);

impl World {
    pub(super) fn append_config(&mut self, id: ProcessId, token: Token, mut records: Vec<ConfigRecord>) {
        let (now, pace) = (self.now, self.conditions.pace);
        let Some(process) = self.process(id) else { return };
        let fault = process.writing.faults.pop_front();
        let begin = process.writing.config_at.max(now) + process.dice.between(pace.write);
        let acknowledged = begin + process.dice.between(pace.network);
        let begin = if fault == Some(AppendFault::Late) { begin + process.dice.between(LATE) } else { begin };
        match fault {
            Some(AppendFault::Lost) => records.clear(),
            Some(AppendFault::Half) => records.truncate(1),
            Some(AppendFault::Unacknowledged | AppendFault::Late) | None => {}
        }
        // Records of others may come between.
        let times: Vec<_> = (begin..).step_by(usize::from(process.dice.one_in(3)) + 1).take(records.len()).collect();
        let end = times.last().copied().unwrap_or(begin);
        process.writing.config_at = end;
        let outcome = if fault.is_some() { Err("no broker".to_owned()) } else { Ok(()) };
        for (at, record) in times.into_iter().zip(records) {
            self.agenda.put(at, Happening::Write(Write { from: Some(id), what: What::Config(Some(record)) }));
        }
        let answered = if fault.is_some() { acknowledged } else { acknowledged.max(end) };
        self.agenda.put(answered, Happening::Event(id, Event::Appended { token, outcome }));
    }

    pub(super) fn append_status(&mut self, id: ProcessId, token: Token, record: StatusRecord) {
        let (now, pace) = (self.now, self.conditions.pace);
        let Some(process) = self.process(id) else { return };
        let at = process.writing.status_at.max(now) + process.dice.between(pace.write) / 2;
        process.writing.status_at = at;
        let outcome = if process.writing.status_faults > 0 {
            process.writing.status_faults -= 1;
            process.restarts.unwritten.push(record.clone());
            Err("no broker".to_owned())
        } else {
            Ok(())
        };
        let written = outcome.is_ok() || process.dice.one_in(2);
        let answered = at + process.dice.between(pace.network);
        if written {
            self.agenda.put(at, Happening::Write(Write { from: Some(id), what: What::Status(record) }));
        }
        self.agenda.put(answered, Happening::Event(id, Event::Appended { token, outcome }));
    }

    /// Somebody else writes to the config log; none for what no version of ours understands.
    pub fn append_from_outside(&mut self, record: Option<ConfigRecord>) {
        self.after(0, Happening::Write(Write { from: None, what: What::Config(record) }));
    }

    /// Somebody else writes to the status log.
    pub fn append_status_from_outside(&mut self, record: StatusRecord) {
        self.after(0, Happening::Write(Write { from: None, what: What::Status(record) }));
    }

    pub(super) fn write(&mut self, write: Write) {
        // What a process hadn't sent when it ended is lost.
        if write.from.is_some_and(|id| self.process(id).is_none()) {
            return;
        }
        match write.what {
            What::Config(record) => self.write_config(record),
            What::Status(record) => self.write_status(record),
        }
    }

    pub(super) fn write_config(&mut self, record: Option<ConfigRecord>) {
        let gap = if self.dice.one_in(8) { self.dice.between((1, 3)) } else { 0 };
        if self.dice.one_in(16) {
            self.config.skip(1);
        }
        if let Some(record) = &record {
            self.write_down(None, || diary::of_config(record));
        }
        let trace = record.clone();
        let offset = self.config.append(record, gap);
        self.note(|| format!("log {offset}: {trace:?}"));
        let (now, pace) = (self.now, self.conditions.pace);
        for process in self.processes.iter_mut().flatten().filter(|process| process.reading.begun) {
            let reading = &mut process.reading;
            reading.config_at = reading.config_at.max(now + process.dice.between(pace.read) + reading.lag);
            self.agenda.put(reading.config_at, Happening::Read(process.id, offset));
        }
    }

    fn write_status(&mut self, record: StatusRecord) {
        let partition = self.status.append(&record);
        self.write_down(None, || diary::of_status(&record));
        self.note(|| format!("status log: {record:?}"));
        let (now, pace) = (self.now, self.conditions.pace);
        for process in self.processes.iter_mut().flatten().filter(|process| process.reading.begun) {
            let at = &mut process.reading.status_at[partition];
            *at = (*at).max(now + process.dice.between(pace.read));
            self.agenda.put(*at, Happening::Event(process.id, Event::StatusRecord(record.clone())));
        }
    }

    /// A new process reads both logs from the beginning.
    pub(super) fn start_up(&mut self, id: ProcessId) {
        let old: Vec<_> = self.status.newest().cloned().collect();
        let end = self.config.end();
        let Some(process) = self.process(id) else { return };
        process.reading.begun = true;
        self.read_up_to(id, end - 1, false);
        for record in old {
            self.deliver(id, Event::StatusRecord(record));
        }
        self.deliver(id, Event::CaughtUp);
        if let Some(process) = self.process(id) {
            process.reading.caught_up = true;
        }
        if self.conditions.mutation == Some(Mutation::OldRestarts) {
            self.repeat_restarts(id, end);
        }
    }

    /// As a worker would that doesn't tell news from what it reads at its start.
    fn repeat_restarts(&mut self, id: ProcessId, end: i64) {
        let mut from = 0;
        while let Some(entry) = self.config.read(from, end - 1).cloned() {
            from = entry.offset + 1;
            if matches!(entry.record, Some(ConfigRecord::Restart(_))) {
                self.deliver(id, Event::ConfigRecord(LoggedConfig { next_offset: end, record: entry.record }));
            }
        }
    }

    pub(super) fn read(&mut self, id: ProcessId, last: i64) {
        self.read_up_to(id, last, true);
        let Some(process) = self.process(id) else { return };
        let position = process.reading.position;
        let done: Vec<_> = process.reading.markers.extract_if(.., |(end, _)| *end <= position).collect();
        for (_, token) in done {
            self.deliver(id, Event::ReadToEnd { token, outcome: Ok(()) });
        }
    }

    fn read_up_to(&mut self, id: ProcessId, last: i64, news: bool) {
        while let Some(process) = self.process(id) {
            let position = process.reading.position;
            let Some(entry) = self.config.read(position, last).cloned() else { break };
            let next_offset = entry.offset + 1;
            if news {
                self.note_restart(id, entry.record.as_ref());
            }
            if let Some(process) = self.process(id) {
                process.reading.position = next_offset;
            }
            self.deliver(id, Event::ConfigRecord(LoggedConfig { next_offset, record: entry.record }));
        }
        if let Some(process) = self.process(id) {
            process.reading.position = process.reading.position.max(last + 1);
        }
    }

    pub(super) fn read_to_end(&mut self, id: ProcessId, token: Token) {
        let (now, pace) = (self.now, self.conditions.pace);
        let Some(process) = self.process(id) else { return };
        // What it has sent itself is written first.
        let asked = process.writing.config_at.max(now) + process.dice.between(pace.network);
        self.agenda.put(asked, Happening::FindEnd(id, token));
    }

    pub(super) fn find_end(&mut self, id: ProcessId, token: Token) {
        let end = self.config.end();
        let Some(process) = self.process(id) else { return };
        if process.reading.failures > 0 {
            process.reading.failures -= 1;
            return self.deliver(id, Event::ReadToEnd { token, outcome: Err("no broker".to_owned()) });
        }
        // Behind the last record there may be marks, which are passed without a word.
        let (position, arrives) = (process.reading.position, process.reading.config_at);
        if self.config.read(position, end).is_some() {
            if let Some(process) = self.process(id) {
                process.reading.markers.push((end, token));
            }
            // By then all that is on its way has arrived.
            self.agenda.put(arrives.max(self.now), Happening::Read(id, end - 1));
        } else {
            self.deliver(id, Event::ReadToEnd { token, outcome: Ok(()) });
        }
    }
}
