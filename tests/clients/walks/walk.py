"""What the walks have in common: each step is one call of a client, noted as a line of JSON.

CONNECT_URL is the worker, CONNECT_WORK a folder that it may read and write under the same path, CONNECT_NOTES the file
to note the steps in.
"""

import contextlib
import io
import json
import os
import time

URL = os.environ["CONNECT_URL"]
WORK = os.environ["CONNECT_WORK"]
NOTES = os.environ["CONNECT_NOTES"]

SOURCE = "org.apache.kafka.connect.file.FileStreamSourceConnector"
SINK = "org.apache.kafka.connect.file.FileStreamSinkConnector"

PATIENCE = 120

# How long a state has to last, so that it isn't the one from before a restart.
HOLD = 0.2


def step(name, call, conflict=False):
    """Notes what a call gave or raised, and returns what it gave. While a rebalance is in the way (409) it is made
    again, unless a conflict is what the step is about."""
    end = time.monotonic() + PATIENCE
    seen, given = outcome(call)
    while not conflict and is_busy(seen) and time.monotonic() < end:
        time.sleep(0.1)
        seen, given = outcome(call)
    with open(NOTES, "a", encoding="utf-8") as notes:
        print(json.dumps({"step": name, **seen}), file=notes)
    return given


def outcome(call):
    seen, given = {}, None
    said = io.StringIO()
    try:
        with contextlib.redirect_stdout(said):
            given = call()
        seen["gives"] = plain(given)
    except SystemExit as end:
        seen["exits"] = end.code
    except Exception as error:  # noqa: BLE001 - whatever it is belongs into the transcript
        seen["raises"] = type(error).__name__
        seen["says"] = str(error)
    if said.getvalue():
        seen["prints"] = parsed(said.getvalue())
    return seen, given


def is_busy(seen):
    text = json.dumps(seen).replace(URL, "")
    return "409" in text or "rebalance is in process" in text


def plain(value):
    return value if isinstance(value, (dict, list, str, int, float, bool, type(None))) else repr(value)


def parsed(text):
    """What a command printed: its lines, where JSON begins in one of them the value."""
    parts = []
    while text := text.lstrip():
        try:
            part, end = json.JSONDecoder().raw_decode(text)
        except ValueError:
            part, end = text.splitlines()[0], len(text.splitlines()[0])
        parts.append(part)
        text = text[end:]
    return parts[0] if len(parts) == 1 else parts


def until(what, reached):
    """Waits for what takes a worker some time, and to last."""
    end = time.monotonic() + PATIENCE
    since = last = None
    while True:
        try:
            last = None
            if reached():
                since = since or time.monotonic()
                if time.monotonic() - since >= HOLD:
                    return
            else:
                since = None
        except Exception as error:  # noqa: BLE001 - such as 404, 409 while the worker is busy
            since, last = None, error
        if time.monotonic() > end:
            raise TimeoutError(f"{what}: not within {PATIENCE} s ({last!r})")
        time.sleep(0.05)


def states(status):
    """Of a status: the connector's state, then those of its tasks."""
    return [status["connector"]["state"], *(task["state"] for task in status["tasks"])]


def source(name, topic, **more):
    """A configuration of a source; its file has three lines."""
    path = f"{WORK}/{name}.in.txt"
    with open(path, "w", encoding="utf-8") as lines:
        lines.write("one\ntwo\nthree\n")
    return {"connector.class": SOURCE, "file": path, "topic": topic, **more}


def sink(name, topic, **more):
    return {"connector.class": SINK, "file": f"{WORK}/{name}.out.txt", "topics": topic, **more}


def failing(name, topic):
    """A configuration of a sink whose task fails until `repair` was called."""
    return sink(name, topic, file=f"{folder(name)}/out.txt")


def repair(name):
    os.mkdir(folder(name))


def folder(name):
    return f"{WORK}/{name}-folder"
