import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;

import org.sourcelab.kafka.connect.apiclient.Configuration;
import org.sourcelab.kafka.connect.apiclient.KafkaConnectClient;
import org.sourcelab.kafka.connect.apiclient.request.JacksonFactory;
import org.sourcelab.kafka.connect.apiclient.request.dto.ConnectorPluginConfigDefinition;
import org.sourcelab.kafka.connect.apiclient.request.dto.ConnectorStatus;
import org.sourcelab.kafka.connect.apiclient.request.dto.NewConnectorDefinition;
import org.sourcelab.kafka.connect.apiclient.request.post.PostConnectorRestart;
import org.sourcelab.kafka.connect.apiclient.rest.exceptions.InvalidRequestException;

/** All calls of org.sourcelab's client, noted as `walk.py` notes those of the others. */
public class SourcelabClient {
    static final String URL = System.getenv("CONNECT_URL");
    static final String WORK = System.getenv("CONNECT_WORK");
    static final Path NOTES = Path.of(System.getenv("CONNECT_NOTES"));
    static final Duration PATIENCE = Duration.ofSeconds(120);
    static final Duration HOLD = Duration.ofMillis(200);
    static final String TOPIC = "sl-lines";
    static final String SOURCE = "org.apache.kafka.connect.file.FileStreamSourceConnector";
    static final String SINK = "org.apache.kafka.connect.file.FileStreamSinkConnector";

    final KafkaConnectClient client = new KafkaConnectClient(new Configuration(URL));

    public static void main(String[] arguments) throws Exception {
        new SourcelabClient().walk();
    }

    void walk() throws Exception {
        step("version", client::getConnectServerVersion);
        step("no connectors", client::getConnectors);
        step("no connectors with everything", client::getConnectorsWithAllExpandedMetadata);
        step("plugins", client::getConnectorPlugins);

        Map<String, String> source = source();
        step("validate", () -> validate("FileStreamSourceConnector", source));
        step("validate what is wrong", () -> validate("FileStreamSourceConnector", with(source, "batch.size", "many")));
        step("validate what is of another class", () -> validate("FileStreamSinkConnector", source));

        step("create", () -> create("sl-source", source));
        step("create again", () -> create("sl-source", source), true);
        step("create what is wrong", () -> create("sl-wrong", with(source, "batch.size", "many")));
        step("create of an unknown class", () -> create("sl-wrong", Map.of("connector.class", "Nothing")));
        reaches("sl-source", "RUNNING", "RUNNING");
        step("create what fails", () -> create("sl-fails", failing()));
        reaches("sl-fails", "RUNNING", "FAILED");

        step("list", client::getConnectors);
        step("list with status", () -> client.getConnectorsWithExpandedStatus().getMappedStatuses());
        step("list with info", () -> client.getConnectorsWithExpandedInfo().getMappedDefinitions());
        step("list with everything", client::getConnectorsWithAllExpandedMetadata);
        step("get", () -> client.getConnector("sl-source"));
        step("config", () -> client.getConnectorConfig("sl-source"));
        step("status", () -> client.getConnectorStatus("sl-source"));
        step("tasks", () -> client.getConnectorTasks("sl-source"));
        step("task status", () -> client.getConnectorTaskStatus("sl-source", 0));
        step("task status of what failed", () -> client.getConnectorTaskStatus("sl-fails", 0));
        until("the topic is active", () -> !client.getConnectorTopics("sl-source").getTopics().isEmpty());
        step("topics", () -> client.getConnectorTopics("sl-source"));

        step("update", () -> client.updateConnectorConfig("sl-source", with(source, "batch.size", "7")));
        step("update what is wrong", () -> client.updateConnectorConfig("sl-source", with(source, "topic", "")));
        reaches("sl-source", "RUNNING", "RUNNING");
        step("pause", () -> client.pauseConnector("sl-source"));
        reaches("sl-source", "PAUSED", "PAUSED");
        step("resume", () -> client.resumeConnector("sl-source"));
        reaches("sl-source", "RUNNING", "RUNNING");
        step("stop", () -> client.stopConnector("sl-source"));
        reaches("sl-source", "STOPPED");
        step("stopped", () -> client.getConnectorStatus("sl-source"));
        step("reset topics", () -> client.resetConnectorTopics("sl-source"));
        until("the topics are reset", () -> client.getConnectorTopics("sl-source").getTopics().isEmpty());
        step("topics that were reset", () -> client.getConnectorTopics("sl-source"));
        step("resume what was stopped", () -> client.resumeConnector("sl-source"));
        reaches("sl-source", "RUNNING", "RUNNING");

        step("restart", () -> client.restartConnector("sl-source"));
        step("restart with tasks", () -> client.restartConnector(
            new PostConnectorRestart("sl-source").withIncludeTasks(true)));
        step("restart task", () -> client.restartConnectorTask("sl-source", 0));
        step("restart task that isn't there", () -> client.restartConnectorTask("sl-source", 7));
        reaches("sl-source", "RUNNING", "RUNNING");
        Files.createDirectory(folder());
        step("restart what failed", () -> client.restartConnector(
            new PostConnectorRestart("sl-fails").withIncludeTasks(true).withOnlyFailed(true)));
        reaches("sl-fails", "RUNNING", "RUNNING");

        unknown("sl-nobody");
        step("delete", () -> client.deleteConnector("sl-source"));
        step("delete the other", () -> client.deleteConnector("sl-fails"));
        until("all are gone", () -> client.getConnectors().isEmpty());
    }

    void unknown(String name) {
        step("get of an unknown connector", () -> client.getConnector(name));
        step("config of an unknown connector", () -> client.getConnectorConfig(name));
        step("status of an unknown connector", () -> client.getConnectorStatus(name));
        step("tasks of an unknown connector", () -> client.getConnectorTasks(name));
        step("task status of an unknown connector", () -> client.getConnectorTaskStatus(name, 0));
        step("topics of an unknown connector", () -> client.getConnectorTopics(name));
        step("reset topics of an unknown connector", () -> client.resetConnectorTopics(name));
        step("pause of an unknown connector", () -> client.pauseConnector(name));
        step("resume of an unknown connector", () -> client.resumeConnector(name));
        step("stop of an unknown connector", () -> client.stopConnector(name));
        step("restart of an unknown connector", () -> client.restartConnector(name));
        step("delete of an unknown connector", () -> client.deleteConnector(name));
    }

    Object validate(String plugin, Map<String, String> config) {
        return client.validateConnectorPluginConfig(ConnectorPluginConfigDefinition.newBuilder()
            .withName(plugin).withConfig(with(config, "name", "v")).build());
    }

    Object create(String name, Map<String, String> config) {
        return client.addConnector(NewConnectorDefinition.newBuilder().withName(name).withConfig(config).build());
    }

    static Map<String, String> source() throws IOException {
        Path lines = Path.of(WORK, "sl-source.in.txt");
        Files.writeString(lines, "one\ntwo\nthree\n");
        return Map.of("connector.class", SOURCE, "file", lines.toString(), "topic", TOPIC);
    }

    /** Its task fails until there is the folder. */
    static Map<String, String> failing() {
        return Map.of("connector.class", SINK, "file", folder().resolve("out.txt").toString(), "topics", TOPIC);
    }

    static Path folder() {
        return Path.of(WORK, "sl-fails-folder");
    }

    static Map<String, String> with(Map<String, String> config, String key, String value) {
        Map<String, String> changed = new HashMap<>(config);
        changed.put(key, value);
        return changed;
    }

    void reaches(String name, String... expected) throws Exception {
        until(name + " is " + List.of(expected), () -> {
            ConnectorStatus status = client.getConnectorStatus(name);
            List<String> states = new ArrayList<>(List.of(status.getConnector().get("state")));
            status.getTasks().forEach(task -> states.add(task.getState()));
            return states.equals(List.of(expected));
        });
    }

    /** Waits for what takes a worker some time, and to last, so that it isn't the state from before a restart. */
    static void until(String what, Callable<Boolean> reached) throws Exception {
        Instant end = Instant.now().plus(PATIENCE);
        Instant since = null;
        Exception last = null;
        while (Instant.now().isBefore(end)) {
            try {
                since = !reached.call() ? null : since == null ? Instant.now() : since;
                if (since != null && !Instant.now().isBefore(since.plus(HOLD))) {
                    return;
                }
            } catch (InvalidRequestException error) {
                since = null;
                last = error;
            }
            Thread.sleep(50);
        }
        throw new IllegalStateException(what + ": not within " + PATIENCE, last);
    }

    static void step(String name, Callable<Object> call) {
        step(name, call, false);
    }

    /** Notes what a call gave or threw; makes it again while a rebalance is in the way, unless it is about a conflict. */
    static void step(String name, Callable<Object> call, boolean conflict) {
        Instant end = Instant.now().plus(PATIENCE);
        Map<String, Object> seen = outcome(call);
        while (!conflict && Integer.valueOf(409).equals(seen.get("code")) && Instant.now().isBefore(end)) {
            seen = outcome(call);
        }
        Map<String, Object> note = new LinkedHashMap<>(Map.of("step", name));
        note.putAll(seen);
        try {
            String line = JacksonFactory.newInstance().writeValueAsString(note) + "\n";
            Files.writeString(NOTES, line, StandardOpenOption.CREATE, StandardOpenOption.APPEND);
        } catch (IOException error) {
            throw new UncheckedIOException(error);
        }
    }

    static Map<String, Object> outcome(Callable<Object> call) {
        Map<String, Object> seen = new LinkedHashMap<>();
        try {
            seen.put("gives", call.call());
        } catch (Exception error) {
            seen.put("raises", error.getClass().getSimpleName());
            seen.put("says", error.getMessage());
            if (error instanceof InvalidRequestException) {
                seen.put("code", ((InvalidRequestException) error).getErrorCode());
            }
        }
        return seen;
    }
}
