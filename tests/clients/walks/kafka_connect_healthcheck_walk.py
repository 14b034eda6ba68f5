"""kafka-connect-healthcheck: what it makes of healthy, failed and paused connectors, and what its server answers."""

import threading
from functools import partial
from http.server import HTTPServer

import requests
from kafka_connect_healthcheck.handler import RequestHandler
from kafka_connect_healthcheck.health import Health

from walk import URL, failing, repair, source, states, step, until

TOPIC = "hc-lines"
WORKER = URL.removeprefix("http://")


def health(worker=None, unhealthy="FAILED", threshold=0, containers="CONNECTOR,TASK"):
    return Health(URL, worker, unhealthy.split(","), "", threshold, containers.split(","))


def create(name, config):
    requests.put(f"{URL}/connectors/{name}/config", json=config, timeout=60).raise_for_status()


def reaches(name, *expected):
    def look():
        return states(requests.get(f"{URL}/connectors/{name}/status", timeout=60).json()) == list(expected)

    until(f"{name} is {expected}", look)


def checks(what):
    step(f"health, {what}", health().get_health_result)
    step(f"health of this worker, {what}", health(worker=WORKER).get_health_result)
    step(f"health of another worker, {what}", health(worker="127.0.0.1:1").get_health_result)
    step(f"health if half may fail, {what}", health(threshold=50).get_health_result)
    step(f"health of connectors alone, {what}", health(containers="CONNECTOR").get_health_result)
    step(f"health with paused for bad, {what}", health(unhealthy="FAILED,PAUSED,UNASSIGNED").get_health_result)


def serve():
    server = HTTPServer(("127.0.0.1", 0), partial(RequestHandler, health()))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


def asked(server, path):
    answer = requests.get(f"http://127.0.0.1:{server.server_port}{path}", timeout=60)
    return [answer.status_code, answer.text and answer.json()]


server = serve()
checks("without connectors")
step("server without connectors", lambda: asked(server, "/"))
step("server pinged", lambda: asked(server, "/ping"))

step("a source", lambda: create("hc-source", source("hc-source", TOPIC)))
reaches("hc-source", "RUNNING", "RUNNING")
checks("one running")
step("server with one running", lambda: asked(server, "/"))

step("a sink that fails", lambda: create("hc-fails", failing("hc-fails", TOPIC)))
reaches("hc-fails", "RUNNING", "FAILED")
checks("one failed")
step("server with one failed", lambda: asked(server, "/"))

requests.put(f"{URL}/connectors/hc-source/pause", timeout=60).raise_for_status()
reaches("hc-source", "PAUSED", "PAUSED")
repair("hc-fails")
requests.post(f"{URL}/connectors/hc-fails/tasks/0/restart", timeout=60).raise_for_status()
reaches("hc-fails", "RUNNING", "RUNNING")
checks("one paused")

requests.put(f"{URL}/connectors/hc-fails/stop", timeout=60).raise_for_status()
reaches("hc-fails", "STOPPED")
checks("one stopped")
for name in ["hc-source", "hc-fails"]:
    requests.delete(f"{URL}/connectors/{name}", timeout=60).raise_for_status()
