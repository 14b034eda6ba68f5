//! A broker of one node with a listener for each security protocol.

use std::fs::{self, File};
use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// A JVM on a busy machine takes its time.
const START: Duration = Duration::from_secs(180);

pub struct Broker {
    process: Child,
    ports: [u16; 4],
}

const LISTENERS: [&str; 4] = ["PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"];

impl Broker {
    /// Starts the broker of `home`, which keeps everything in `folder`, where the certificates are too.
    pub fn start(home: &Path, folder: &Path) -> Self {
        let [controller, ports @ ..] = free_ports::<5>();
        let properties = folder.join("server.properties");
        fs::write(&properties, server_properties(folder, controller, &ports)).unwrap();
        let properties = properties.to_str().unwrap();
        let mut arguments = vec!["format", "-t", "MkU3OEVBNTcwNTJENDM2Qg", "-c", properties];
        for mechanism in
            ["SCRAM-SHA-256=[name=alice,password=wonderland]", "SCRAM-SHA-512=[name=alice,password=wonderland]"]
        {
            arguments.extend(["--add-scram", mechanism]);
        }
        let formatted = java(home, &folder.join("format.log"), "kafka.tools.StorageTool", &arguments).wait().unwrap();
        assert!(formatted.success(), "{}", fs::read_to_string(folder.join("format.log")).unwrap());
        let log = folder.join("broker.log");
        let mut process = java(home, &log, "kafka.Kafka", &[properties]);
        let deadline = Instant::now() + START;
        while !fs::read_to_string(&log).unwrap().contains("Kafka Server started") {
            let ended = process.try_wait().unwrap().is_some() || Instant::now() > deadline;
            assert!(!ended, "Kafka doesn't start:\n{}", fs::read_to_string(&log).unwrap());
            thread::sleep(Duration::from_millis(100));
        }
        Self { process, ports }
    }

    pub fn address(&self, listener: &str) -> String {
        let index = LISTENERS.iter().position(|name| *name == listener).expect("a listener of this name");
        format!("127.0.0.1:{}", self.ports[index])
    }
}

impl Drop for Broker {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn java(home: &Path, log: &Path, class: &str, arguments: &[&str]) -> Child {
    let out = File::create(log).unwrap();
    Command::new("java")
        .arg("-Xmx512m")
        .arg(format!("-Dlog4j2.configurationFile={}", home.join("log4j2.properties").display()))
        .arg("-cp")
        .arg(home.join("lib").join("*"))
        .arg(class)
        .args(arguments)
        .stdin(Stdio::null())
        .stderr(out.try_clone().unwrap())
        .stdout(out)
        .spawn()
        .unwrap()
}

fn server_properties(folder: &Path, controller: u16, ports: &[u16; 4]) -> String {
    let listeners: Vec<_> =
        LISTENERS.iter().zip(ports).map(|(name, port)| format!("{name}://127.0.0.1:{port}")).collect();
    let listeners = listeners.join(",");
    let mut text = format!(
        "\
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{controller}
controller.listener.names=CONTROLLER
listeners={listeners},CONTROLLER://127.0.0.1:{controller}
advertised.listeners={listeners}
listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,SSL:SSL,\
SASL_PLAINTEXT:SASL_PLAINTEXT,SASL_SSL:SASL_SSL
inter.broker.listener.name=PLAINTEXT
log.dirs={dir}/data
group.initial.rebalance.delay.ms=0
offsets.topic.num.partitions=1
offsets.topic.replication.factor=1
ssl.keystore.type=PEM
ssl.keystore.location={dir}/broker.pem
ssl.truststore.type=PEM
ssl.truststore.location={dir}/ca.pem
listener.name.ssl.ssl.client.auth=required
sasl.enabled.mechanisms=PLAIN,SCRAM-SHA-256,SCRAM-SHA-512,OAUTHBEARER
listener.name.sasl_plaintext.plain.connections.max.reauth.ms=3000
",
        dir = folder.display()
    );
    for listener in ["sasl_plaintext", "sasl_ssl"] {
        for (mechanism, module) in [
            ("plain", "plain.PlainLoginModule required user_alice=\"wonderland\""),
            ("scram-sha-256", "scram.ScramLoginModule required"),
            ("scram-sha-512", "scram.ScramLoginModule required"),
            ("oauthbearer", "oauthbearer.OAuthBearerLoginModule required unsecuredLoginStringClaim_sub=\"broker\""),
        ] {
            text += &format!(
                "listener.name.{listener}.{mechanism}.sasl.jaas.config=org.apache.kafka.common.security.{module};\n"
            );
        }
    }
    text
}

/// Ports that were free a moment ago, all different.
fn free_ports<const N: usize>() -> [u16; N] {
    let listeners: [TcpListener; N] = std::array::from_fn(|_| TcpListener::bind("127.0.0.1:0").unwrap());
    listeners.map(|listener| listener.local_addr().unwrap().port())
}
