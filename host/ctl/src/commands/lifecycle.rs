//! States of connectors: pause, resume, stop, restart.

use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::answers::Status;
use crate::arguments::State;
use crate::client::{Client, connector};
use crate::commands::connectors::states;
use crate::error::Error;
use crate::terminal::Terminal;

/// How often to look whether something has stopped.
const LOOK: Duration = Duration::from_millis(100);

/// What to restart, as KIP-745 has it.
#[derive(Clone, Copy)]
pub struct Extent {
    pub include_tasks: bool,
    pub only_failed: bool,
}

/// The worker takes note, and acts a little later.
pub fn pause(client: &Client, terminal: &mut Terminal<'_>, name: &str) -> Result<(), Error> {
    put(client, name, "/pause")?;
    terminal.say(&format!("{name}: pausing"))
}

pub fn resume(client: &Client, terminal: &mut Terminal<'_>, name: &str) -> Result<(), Error> {
    put(client, name, "/resume")?;
    terminal.say(&format!("{name}: resuming"))
}

pub fn stop(client: &Client, terminal: &mut Terminal<'_>, name: &str) -> Result<(), Error> {
    put(client, name, "/stop")?;
    terminal.say(&format!("{name}: stopping"))
}

pub fn put(client: &Client, name: &str, verb: &str) -> Result<(), Error> {
    client.put(&connector(name, verb)).map(drop)
}

pub fn restart(client: &Client, terminal: &mut Terminal<'_>, name: &str, extent: Extent) -> Result<(), Error> {
    let Extent { include_tasks, only_failed } = extent;
    let path = connector(name, &format!("/restart?includeTasks={include_tasks}&onlyFailed={only_failed}"));
    let answer = client.post(&path)?;
    terminal.show(&answer, || match answer.text() {
        "" => Ok(format!("{name}: restarted")),
        _ => Ok(states(&answer.read()?)),
    })
}

pub fn restart_task(client: &Client, terminal: &mut Terminal<'_>, name: &str, task: u32) -> Result<(), Error> {
    client.post(&connector(name, &format!("/tasks/{task}/restart")))?;
    terminal.say(&format!("{name}-{task}: restarted"))
}

pub fn status(client: &Client, name: &str) -> Result<Status, Error> {
    client.get(&connector(name, "/status"))?.read()
}

/// Stops it and waits until nothing of it runs. The outcome is how it was before.
pub fn bring_to_rest(client: &Client, name: &str) -> Result<Status, Error> {
    let before = status(client, name)?;
    put(client, name, "/stop")?;
    wait_for_rest(client, name).map_err(Error::after(format!("`{name}` was told to stop")))?;
    Ok(before)
}

fn wait_for_rest(client: &Client, name: &str) -> Result<(), Error> {
    let end = Instant::now() + client.patience();
    while !status(client, name)?.is_at_rest() {
        if Instant::now() >= end {
            return Err(Error::StillRuns { waited: client.patience() });
        }
        sleep(LOOK);
    }
    Ok(())
}

/// Gives a stopped connector another state.
pub fn leave_stopped_for(client: &Client, name: &str, state: State) -> Result<(), Error> {
    match state {
        State::Running => put(client, name, "/resume"),
        State::Paused => put(client, name, "/pause"),
        State::Stopped => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{Reply, Worker};

    #[test]
    fn states_are_asked_for() {
        let worker = Worker::start([Reply::new(202, ""), Reply::new(202, ""), Reply::new(204, "")]);
        let said = ["pause a", "resume a", "stop a"].map(|command| worker.run(command));
        assert_eq!(said, ["a: pausing\n", "a: resuming\n", "a: stopping\n"]);
        assert_eq!(
            worker.requests(),
            ["PUT /connectors/a/pause", "PUT /connectors/a/resume", "PUT /connectors/a/stop"]
        );
    }

    #[test]
    fn a_restart_shows_its_plan_if_there_is_one() {
        let plan = r#"{"name": "a", "connector": {"state": "RESTARTING", "worker_id": "w:1"}, "tasks": []}"#;
        let worker = Worker::start([Reply::new(204, ""), Reply::new(202, plan), Reply::new(204, "")]);
        assert_eq!(worker.run("restart a"), "a: restarted\n");
        assert_eq!(
            worker.run("restart a --include-tasks --only-failed"),
            "INSTANCE  STATE       WORKER\na         RESTARTING  w:1\n"
        );
        assert_eq!(worker.run("restart a --task 3"), "a-3: restarted\n");
        assert_eq!(
            worker.requests(),
            [
                "POST /connectors/a/restart?includeTasks=false&onlyFailed=false",
                "POST /connectors/a/restart?includeTasks=true&onlyFailed=true",
                "POST /connectors/a/tasks/3/restart",
            ]
        );
        let answer = worker.run("restart a --task 3 --only-failed");
        assert!(answer.starts_with("error: the argument '--task <NUMBER>' cannot be used with"), "{answer}");
        assert!(answer.ends_with('2'), "{answer}");
    }
}
