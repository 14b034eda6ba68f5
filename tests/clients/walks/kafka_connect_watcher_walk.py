"""kafka-connect-watcher, and kafka-connect-api, which it asks workers through: first that, then rules that mend."""

from kafka_connect_api.kafka_connect_api import Api, Cluster, Connector
from kafka_connect_watcher import error_rules
from kafka_connect_watcher.cluster import ConnectCluster
from kafka_connect_watcher.config import Config

from walk import SINK, URL, failing, repair, sink, source, states, step, until

TOPIC = "kw-lines"

# It waits for seconds after each action; this walk looks by itself.
error_rules.time.sleep = lambda seconds: None

host, port = URL.removeprefix("http://").split(":")
api = Api(host, port=int(port))
cluster = Cluster(api)


def reaches(name, *expected):
    until(f"{name} is {expected}", lambda: states(Connector(cluster, name).status) == list(expected))


def write_config(connector, config):
    connector.config = config


def set_level(level):
    cluster.root_logger = level


step("cluster", cluster.get)
step("version and Kafka", lambda: [len(cluster.version) > 0, cluster.kafka_cluster == cluster.get()["kafka_cluster_id"]])
step("no connectors", lambda: list(cluster.connectors))
step("root logger", lambda: cluster.root_logger["level"])
step("set root logger", lambda: set_level("WARN"))
step("root logger is set", lambda: cluster.root_logger["level"])
step("set a logger of the list", lambda: "root" in cluster.set_logger_log_level("root", "INFO"))
step("set a level that is none", lambda: api.put("/admin/loggers/kw.unknown", json={"level": "LOUD"}))

one = Connector(cluster, "kw-source")
step("before it exists", one.exists)
step("status before it exists", lambda: one.status)
step("create", lambda: write_config(one, source("kw-source", TOPIC)))
reaches("kw-source", "RUNNING", "RUNNING")
step("exists", one.exists)
step("class", lambda: one.connector_class)
step("config", lambda: one.config)
step("state", lambda: one.state)
step("status", lambda: one.status)
step("tasks", lambda: [[repr(task), task.config, task.status, task.is_running()] for task in one.tasks])
step("update", lambda: write_config(one, source("kw-source", TOPIC, **{"batch.size": "7"})))
reaches("kw-source", "RUNNING", "RUNNING")
step("update what is wrong", lambda: write_config(one, source("kw-source", TOPIC, **{"batch.size": "x"})))
step("create what is wrong", lambda: write_config(Connector(cluster, "kw-wrong"), {"connector.class": SINK}))
step("pause", one.pause)
reaches("kw-source", "PAUSED", "PAUSED")
step("resume", one.resume)
reaches("kw-source", "RUNNING", "RUNNING")
step("restart", lambda: one.restart())
step("restart tasks", one.restart_all_tasks)
reaches("kw-source", "RUNNING", "RUNNING")
step("cycle", one.cycle_connector)
reaches("kw-source", "RUNNING", "RUNNING")
step("cycle of an unknown one", Connector(cluster, "kw-nobody").cycle_connector)
step("restart of an unknown one", Connector(cluster, "kw-nobody").restart)
step("delete of an unknown one", Connector(cluster, "kw-nobody").delete)


def watched(**rule):
    """One round of the watcher over the cluster, with one rule."""
    definition = {"hostname": host, "port": int(port), "evaluation_rules": [rule]}
    config = Config(configuration={"clusters": [definition]})
    watched_cluster = ConnectCluster(config.config["clusters"][0], config)
    watched_cluster.handling_rules[0].execute(watched_cluster)
    return watched_cluster.metrics


def mending(action):
    return [{"action": action, "wait_for_status": "5s"}]


step("all is well", lambda: watched(auto_correct_actions=mending("restart")))
step("sink", lambda: write_config(Connector(cluster, "kw-sink"), sink("kw-sink", TOPIC)))
step("sink that fails", lambda: write_config(Connector(cluster, "kw-fails"), failing("kw-fails", TOPIC)))
reaches("kw-sink", "RUNNING", "RUNNING")
reaches("kw-fails", "RUNNING", "FAILED")
step("one fails, and is restarted in vain", lambda: watched(auto_correct_actions=mending("restart")))
reaches("kw-fails", "RUNNING", "FAILED")
step("one fails, and is excluded", lambda: watched(exclude_regex=["kw-f.*"]))
repair("kw-fails")
step("one fails, and is cycled", lambda: watched(include_regex=["kw-f.*"], auto_correct_actions=mending("cycle")))
reaches("kw-fails", "RUNNING", "RUNNING")
step("one is to be paused", lambda: one.pause())
reaches("kw-source", "PAUSED", "PAUSED")
step("a paused one is ignored", lambda: watched(ignore_paused=True))
reaches("kw-source", "PAUSED", "PAUSED")
step("a paused one is cycled", lambda: watched(ignore_paused=False))
reaches("kw-source", "RUNNING", "RUNNING")
for name in ["kw-source", "kw-sink", "kw-fails"]:
    step(f"delete {name}", Connector(cluster, name).delete)
until("all are gone", lambda: not cluster.connectors)
