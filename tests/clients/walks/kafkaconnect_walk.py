"""kafkaconnect: each of its commands. Of those that create connectors, `mirrormaker2` takes configurations from files and
so can be given file connectors; the others are for connectors that aren't there, and show how that is told."""

import json

from click.testing import CliRunner
from kafkaconnect.cli import main

from walk import URL, WORK, failing, parsed, sink, source, states, step, until

TOPIC = "kc-lines"


def run(*words):
    return CliRunner().invoke(main, ["--connect", URL, "--broker", "127.0.0.1:1", *words])


def command(*words):
    def output():
        result = run(*words)
        print(result.output, end="")
        if result.exit_code:
            raise result.exception

    return step(f"$ {' '.join(words)}", output)


def reaches(name, *expected):
    until(f"{name} is {expected}", lambda: states(parsed(run("status", name).output)) == list(expected))


def write(name, config):
    path = f"{WORK}/{name}.json"
    with open(path, "w", encoding="utf-8") as file:
        json.dump(config, file)
    return path


command("list")
command("plugins")
good = write("kc-good", source("kc-source", TOPIC))
wrong = write("kc-wrong", source("kc-source", TOPIC, **{"batch.size": "many"}))
command("upload", good, "--name", "kc-source", "--dry-run")
command("upload", wrong, "--name", "kc-source")
command("list")
command("upload", good, "--name", "kc-source")
reaches("kc-source", "RUNNING", "RUNNING")
for word in ["info", "status", "config", "tasks"]:
    command(word, "kc-source")
until("the topic is active", lambda: TOPIC in run("topics", "kc-source").output)
command("topics", "kc-source")
command("upload", write("kc-more", source("kc-source", TOPIC, **{"batch.size": "7"})), "--name", "kc-source")
reaches("kc-source", "RUNNING", "RUNNING")
command("pause", "kc-source")
reaches("kc-source", "PAUSED", "PAUSED")
command("resume", "kc-source")
reaches("kc-source", "RUNNING", "RUNNING")
command("restart", "kc-source")
reaches("kc-source", "RUNNING", "RUNNING")

three = [
    "-h", write("kc-h", source("kc-h", TOPIC)),
    "-c", write("kc-c", sink("kc-c", TOPIC)),
    "-m", write("kc-m", failing("kc-m", TOPIC)),
]
command("create", "mirrormaker2", "--name", "kc", *three, "--dry-run")
command("create", "mirrormaker2", "--name", "kc", *three)
reaches("kc-heartbeat", "RUNNING", "RUNNING")
reaches("kc-checkpoint", "RUNNING", "RUNNING")
reaches("kc-mirror-source", "RUNNING", "FAILED")
command("status", "kc-mirror-source")
command("list")
absent = write("kc-absent", {"name": "kc-absent", "connector.class": "Nothing", "topics": TOPIC})
for command_name in ["s3-sink", "jdbc-sink"]:
    command("create", command_name, "--dry-run", absent)
    command("create", command_name, absent)

for word in ["info", "status", "config", "tasks", "topics", "pause", "resume", "restart", "delete"]:
    command(word, "kc-nobody")
for name in ["kc-source", "kc-heartbeat", "kc-checkpoint", "kc-mirror-source"]:
    command("delete", name)
until("all are gone", lambda: parsed(run("list").output) == [])
