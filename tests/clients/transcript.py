"""Makes what a walk noted comparable: `transcript.py apache|bulkhead NOTES URL WORK` prints it as text, without what
differs from run to run, and with what may differ between Apache's worker and ours in one form."""

import json
import re
import sys

# Members whose values differ by run or version; that there is a value counts.
VOLATILE = {"version", "commit", "kafka_cluster_id", "kafkaClusterId", "trace"}

# Members that name an entry of a list, which may then come in any order.
NAMES = ("name", "connector", "class", "class_name")

# Where the two may differ: a pattern for what Apache's worker says, one for what ours says, and what stands for both.
ALLOWED = [
    # Where a message says the same in other words.
    (r"You can also find the above list of errors at the endpoint (`[^`]*`)",
     r"The endpoint (`[^`]*`) gives this list as well", r"See \1"),
    (r"org\.apache\.kafka\.connect\.errors\.ConnectException: Failed to find any class that implements Connector "
     r"and which name matches (\w+), available connectors are: (?:PluginDesc\{[^}]*\}(?:, )?)+",
     r"Connector class (\w+) was not found; known connector classes: [\w.$]+(?:, [\w.$]+)*", r"<no class \1>"),
    (r"Included connector type (\S+) does not match request type (\w+)",
     r"`connector\.class` is `([^`]+)`, but the path asks for `(\w+)`", r"\1 is no \2"),
    (r"[\"']invalid log level '(\w+)'\.[\"']", r"[\"']log level `(\w+)` is none of [A-Z, ]+[\"']", r"<no level \1>"),
    # Mistakes of the client are 400, not 500 (tests/conformance/QUIRKS.md): an unknown class to validate, and a body
    # that is a string with JSON in it, which `validate-config` of kafka-connect-py sends.
    (r'"error_code": 500,\n "message": "[\w.]+\.BadRequestException: (<no class \w+>)',
     r'"error_code": 400,\n "message": "(<no class \w+>)', r"400 \1"),
    (r"(?<=validate-config FileStreamSource -d\nraises: HTTPError\nsays: )500 Server Error: Server Error",
     r"(?<=validate-config FileStreamSource -d\nraises: HTTPError\nsays: )400 Client Error: Bad Request", "400"),
    # The file connectors have names of ours in the list of plugins; Apache's names are aliases.
    (r"org\.apache\.kafka\.connect\.file\.FileStream(Source|Sink)Connector",
     r"(?:io\.bulkhead|org\.apache\.kafka\.connect\.file)\.FileStream(Source|Sink)Connector", r"{file.\1}"),
]


def without_allowed_differences(worker, text):
    for apaches, ours, common in ALLOWED:
        text = re.sub(apaches if worker == "apache" else ours, common, text)
    return text


def is_of_another_plugin(value):
    """Of the plugins only the file connectors are everywhere."""
    if not isinstance(value, dict):
        return False
    name = value.get("class", value.get("class_name", "FileStream"))
    return "FileStream" not in name


def is_extension(name):
    """Ours has more properties, and groups for them."""
    return name.startswith(("sandbox.", "restart.")) or name in ("Sandbox", "Restart")


def order(value):
    """Names, and entries that have one, in alphabetical order."""
    if all(isinstance(item, str) for item in value):
        return sorted(value)
    if all(isinstance(item, dict) and any(isinstance(item.get(name), str) for name in NAMES) for item in value):
        return sorted(value, key=lambda item: json.dumps(item, sort_keys=True))
    return value


def wrong(value):
    return {"value": value["value"], "errors": len(value["errors"])}


def validation(answer):
    """The values and numbers of errors by property; `tests/conformance` compares their definitions."""
    values = (entry["value"] for entry in answer["configs"])
    configs = {value["name"]: wrong(value) if value["errors"] else value["value"] for value in values}
    return {**answer, "configs": {name: value for name, value in configs.items() if not is_extension(name)}}


class Normaliser:
    def __init__(self, url, work):
        self.places = [(work, "{work}"), (url.removeprefix("http://"), "{worker}")]

    def text(self, text):
        for place, mark in self.places:
            text = text.replace(place, mark)
        return text

    def value(self, value):
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, list):
            return order([self.value(item) for item in value if not is_of_another_plugin(item)])
        if isinstance(value, dict):
            if isinstance(value.get("configs"), list):
                value = validation(value)
            if isinstance(value.get("groups"), list):
                value = {**value, "groups": [group for group in value["groups"] if not is_extension(group)]}
            return {key: self.member(key, item) for key, item in value.items()}
        return value

    def member(self, key, value):
        if key.endswith("plugin.version") or key in VOLATILE:
            return f"<{key}>" if value else value
        return self.value(value)


def shown(value):
    return value if isinstance(value, str) else json.dumps(value, indent=1, sort_keys=True)


def transcript(worker, notes, url, work):
    normaliser = Normaliser(url, work)
    text = ""
    with open(notes, encoding="utf-8") as lines:
        for line in lines:
            note = normaliser.value(json.loads(line))
            text += f"## {note.pop('step')}\n"
            text += "".join(f"{key}: {shown(value)}\n" for key, value in note.items()) + "\n"
    return without_allowed_differences(worker, text)


if __name__ == "__main__":
    print(transcript(*sys.argv[1:]), end="")
