"""kafka-connect-cli: each of its commands, as its entry point runs them."""

import json
import sys

from kafka_connect import __main__ as cli
from kafka_connect import kafka_connect as calls

from walk import URL, WORK, failing, repair, source, step, until

TOPIC = "cc-lines"


def command(*words, conflict=False):
    def run():
        sys.argv = ["kafka_connect", *words, "--url", URL]
        cli.main()

    return step(f"$ {' '.join(word for word in words if not word.startswith('{'))}", run, conflict=conflict)


def reaches(name, *expected):
    def look():
        connector = calls._get_connector_status(URL, name)["connector"]["state"]
        return [connector, *(task["state"] for task in calls.list_connector_tasks(URL, name))] == list(expected)

    until(f"{name} is {expected}", look)


command("health-check", "--verbose")
command("connector", "list")
config = source("cc-source", TOPIC)
with open(f"{WORK}/cc.json", "w", encoding="utf-8") as file:
    json.dump(config, file)
command("connector", "create", "--name", "cc-source", "--configuration-file", f"{WORK}/cc.json")
reaches("cc-source", "RUNNING", "RUNNING")
command("connector", "create", "--name", "cc-source", "--configuration", json.dumps(config), conflict=True)
command("connector", "create", "--name", "cc-source", "--configuration", json.dumps(config), "--if-not-exists")
command("connector", "create", "--name", "cc-wrong", "--configuration", '{"connector.class": "Nothing"}')
command("connector", "get", "--name", "cc-source")
command("connector", "configuration", "--name", "cc-source")
command("connector", "list")
command("task", "list", "--connector", "cc-source")
command("health-check", "--verbose")
changed = json.dumps(config | {"batch.size": "7"})
command("connector", "update", "--name", "cc-source", "--configuration", changed)
reaches("cc-source", "RUNNING", "RUNNING")
command("connector", "update", "--name", "cc-source", "--configuration", json.dumps(config | {"batch.size": "-1"}))
command("connector", "pause", "--name", "cc-source")
reaches("cc-source", "PAUSED", "PAUSED")
command("connector", "get", "--name", "cc-source")
command("connector", "resume", "--name", "cc-source")
reaches("cc-source", "RUNNING", "RUNNING")
command("connector", "restart", "--name", "cc-source")
command("task", "restart", "--connector", "cc-source", "--task", "0")
reaches("cc-source", "RUNNING", "RUNNING")
command("task", "restart", "--connector", "cc-source", "--task", "5")

command("connector", "create", "--name", "cc-fails", "--configuration", json.dumps(failing("cc-fails", TOPIC)))
reaches("cc-fails", "RUNNING", "FAILED")
command("health-check", "--verbose")
command("connector", "get", "--name", "cc-fails")
command("connector", "list")
command("task", "list", "--connector", "cc-fails")
repair("cc-fails")
command("task", "restart", "--connector", "cc-fails", "--task", "0")
reaches("cc-fails", "RUNNING", "RUNNING")
command("connector", "pause-all", "--name", "cc-.*", "--verbose")
reaches("cc-source", "PAUSED", "PAUSED")
reaches("cc-fails", "PAUSED", "PAUSED")
command("connector", "resume-all", "--verbose")
reaches("cc-source", "RUNNING", "RUNNING")
reaches("cc-fails", "RUNNING", "RUNNING")

for words in ["get", "configuration", "pause", "resume", "restart", "delete"]:
    command("connector", words, "--name", "cc-nobody")
command("task", "list", "--connector", "cc-nobody")
command("connector", "delete", "--name", "cc-source")
command("connector", "delete-all", "--verbose")
until("all are gone", lambda: calls.list_connectors(URL) == [])
