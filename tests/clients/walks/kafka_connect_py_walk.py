"""All calls of the class `KafkaConnect`, then all commands of its command line."""

import json

from click.testing import CliRunner
from kafka_connect import cli
from kafka_connect.kafka_connect import KafkaConnect

from walk import URL, WORK, failing, parsed, repair, sink, source, states, step, until

client = KafkaConnect(URL)
TOPIC = "py-lines"


def reaches(name, *expected):
    until(f"{name} is {expected}", lambda: states(client.get_connector_status(name)) == list(expected))


def named(name, config):
    return {"name": name, "config": config}


step("info", client.get_cluster_info)
step("no connectors", client.list_connectors)
step("no connectors, expanded", lambda: client.list_connectors(expand="status"))
step("plugins", client.list_connector_plugins)

good = source("py-source", TOPIC)
step("validate", lambda: client.validate_connector_config("FileStreamSourceConnector", {"name": "v", **good}))
wrong = {"name": "v", **good, "batch.size": "many"}
step("validate what is wrong", lambda: client.validate_connector_config("FileStreamSource", wrong))
step("validate for another class", lambda: client.validate_connector_config("FileStreamSink", {"name": "v", **good}))
step("validate for an unknown class", lambda: client.validate_connector_config("Nothing", {"name": "v", **good}))

step("create", lambda: client.create_connector(named("py-source", good)))
step("create again", lambda: client.create_connector(named("py-source", good)), conflict=True)
step("create what is wrong", lambda: client.create_connector(named("py-wrong", {"topic": TOPIC})))
step("create of an unknown class", lambda: client.create_connector(named("py-wrong", {"connector.class": "Nothing"})))
step("create stopped", lambda: client.create_connector(
    named("py-sink", sink("py-sink", TOPIC)) | {"initial_state": "STOPPED"}
))
reaches("py-source", "RUNNING", "RUNNING")
reaches("py-sink", "STOPPED")
step("get", lambda: client.get_connector("py-source"))
step("config", lambda: client.get_connector_config("py-source"))
step("status", lambda: client.get_connector_status("py-source"))
step("tasks", lambda: client.list_connector_tasks("py-source"))
step("task status", lambda: client.get_connector_task_status("py-source", 0))
until("the topic is active", lambda: client.list_connector_topics("py-source")["py-source"]["topics"])
step("topics", lambda: client.list_connector_topics("py-source"))
step("stopped", lambda: client.get_connector_status("py-sink"))

step("update", lambda: client.update_connector("py-source", good | {"batch.size": "7"}))
step("update what is wrong", lambda: client.update_connector("py-source", good | {"batch.size": "0.5"}))
reaches("py-source", "RUNNING", "RUNNING")

step("pause", lambda: client.pause_connector("py-source"))
reaches("py-source", "PAUSED", "PAUSED")
step("paused", lambda: client.get_connector_status("py-source"))
step("resume", lambda: client.resume_connector("py-source"))
reaches("py-source", "RUNNING", "RUNNING")
step("stop", lambda: client.stop_connector("py-source"))
reaches("py-source", "STOPPED")
step("reset topics", lambda: client.reset_connector_topics("py-source"))
until("the topics are reset", lambda: not client.list_connector_topics("py-source")["py-source"]["topics"])
step("resume after stop", lambda: client.resume_connector("py-source"))
reaches("py-source", "RUNNING", "RUNNING")

step("restart", lambda: client.restart_connector("py-source"))
reaches("py-source", "RUNNING", "RUNNING")
step("restart with tasks", lambda: client.restart_connector("py-source", include_tasks=True))
reaches("py-source", "RUNNING", "RUNNING")
step("restart task", lambda: client.restart_connector_task("py-source", 0))
reaches("py-source", "RUNNING", "RUNNING")
step("restart task that isn't there", lambda: client.restart_connector_task("py-source", 7))
step("status of a task that isn't there", lambda: client.get_connector_task_status("py-source", 7))

step("create what fails", lambda: client.create_connector(named("py-fails", failing("py-fails", TOPIC))))
reaches("py-fails", "RUNNING", "FAILED")
step("failed", lambda: client.get_connector_status("py-fails"))
step("failed task", lambda: client.get_connector_task_status("py-fails", 0))
repair("py-fails")
step("restart what failed", lambda: client.restart_connector("py-fails", include_tasks=True, only_failed=True))
reaches("py-fails", "RUNNING", "RUNNING")

step("list", client.list_connectors)
step("list with status", lambda: client.list_connectors(expand="status"))
step("list with info", lambda: client.list_connectors(expand="info"))
step("list by state", lambda: client.list_connectors(pattern="py-.*", state="stopped"))
step("pause all", lambda: client.pause_all_connectors(pattern="py-source"))
reaches("py-source", "PAUSED", "PAUSED")
step("resume all", lambda: client.resume_all_connectors(state="paused"))
reaches("py-source", "RUNNING", "RUNNING")
step("restart all", lambda: client.restart_all_connectors(pattern="py-(source|fails)", include_tasks=True))
reaches("py-source", "RUNNING", "RUNNING")
reaches("py-fails", "RUNNING", "RUNNING")
step("stop all", lambda: client.stop_all_connectors(pattern="py-fails"))
reaches("py-fails", "STOPPED")

for name, call in {
    "get": client.get_connector,
    "config": client.get_connector_config,
    "status": client.get_connector_status,
    "tasks": client.list_connector_tasks,
    "topics": client.list_connector_topics,
    "reset topics": client.reset_connector_topics,
    "pause": client.pause_connector,
    "resume": client.resume_connector,
    "stop": client.stop_connector,
    "restart": client.restart_connector,
    "delete": client.delete_connector,
}.items():
    step(f"{name} of an unknown connector", lambda call=call: call("py-nobody"))

step("delete", lambda: client.delete_connector("py-sink"))
step("delete all", lambda: client.delete_all_connectors(pattern="py-.*"))
until("all are gone", lambda: client.list_connectors(pattern="py-.*") == [])


def command(*words, quiet=False):
    """Quiet are those that show a status which is about to change."""

    def run():
        result = CliRunner().invoke(cli.cli, ["--url", URL, *words])
        if not quiet:
            print(result.output, end="")
        if result.exit_code:
            raise result.exception
        return result.exit_code

    return step(f"$ {' '.join(word for word in words if not word.startswith('{'))}", run)


def cli_reaches(name, *expected):
    def state():
        result = CliRunner().invoke(cli.cli, ["--url", URL, "status", name])
        return states(parsed(result.output)) == list(expected)

    until(f"{name} is {expected}", state)


config = source("pc-source", TOPIC)
with open(f"{WORK}/pc.json", "w", encoding="utf-8") as file:
    json.dump(config, file)
command("info")
command("list-plugins")
command("create", "-d", json.dumps(named("pc-source", config)))
cli_reaches("pc-source", "RUNNING", "RUNNING")
for words in ["list", "list -e info", "list -e status -s running", "get pc-source", "config pc-source"]:
    command(*words.split())
for words in ["status pc-source", "list-tasks pc-source", "task-status pc-source 0", "restart-task pc-source 0"]:
    command(*words.split())
    cli_reaches("pc-source", "RUNNING", "RUNNING")
command("update", "pc-source", "-d", json.dumps(config | {"batch.size": "9"}))
cli_reaches("pc-source", "RUNNING", "RUNNING")
command("restart", "pc-source", "--include-tasks", quiet=True)
cli_reaches("pc-source", "RUNNING", "RUNNING")
command("pause", "pc-source")
cli_reaches("pc-source", "PAUSED", "PAUSED")
command("resume", "--all", "-p", "pc-.*")
cli_reaches("pc-source", "RUNNING", "RUNNING")
command("reset-topics", "pc-source")
# What it sends is a string with JSON in it.
command("validate-config", "FileStreamSource", "-d", json.dumps({"name": "v", **config}))
command("delete", "pc-source")
command("get", "pc-source")
