//! What a scraper reads.

use std::collections::BTreeMap;

use bulkhead_herder::{ClusterView, RestartView};
use bulkhead_model::{ConnectorName, Instance, State};

use crate::router::Resources;
use crate::settings::{AdminListeners, Settings};
use crate::testing::{Client, state, usage};

/// Names with labels as `name{label=value,…}`, the values unescaped.
type Series = BTreeMap<String, f64>;

async fn scrape(client: &Client) -> Series {
    let answer = client.send("GET /metrics", "").await;
    assert_eq!(answer.status, 200, "{}", answer.body);
    assert_eq!(answer.header("content-type"), "application/openmetrics-text; version=1.0.0; charset=utf-8");
    parse(&answer.body)
}

/// Strict, so that it fails on whatever a scraper would stumble over.
fn parse(text: &str) -> Series {
    let text = text.strip_suffix("# EOF\n").expect("the end is marked");
    let mut series = Series::new();
    let mut described = Vec::new();
    for line in text.lines() {
        if let Some(comment) = line.strip_prefix("# ") {
            if let Some(kind) = comment.strip_prefix("TYPE ") {
                let (name, kind) = kind.split_once(' ').unwrap();
                assert!(["counter", "gauge", "histogram"].contains(&kind), "{line}");
                assert!(!described.contains(&name), "{name} is described twice");
                described.push(name);
            }
            continue;
        }
        let (name, value) = sample(line);
        let described = described.last().unwrap();
        assert!(name.starts_with(described), "`{line}` stands below {described}");
        assert!(series.insert(name, value).is_none(), "twice: {line}");
    }
    series
}

fn sample(line: &str) -> (String, f64) {
    let end = line.find(['{', ' ']).unwrap();
    let mut name = line[..end].to_owned();
    let rest = match line[end..].strip_prefix('{') {
        Some(labels) => {
            let (labels, rest) = read_labels(labels);
            name += &format!("{{{}}}", labels.join(","));
            rest
        }
        None => &line[end..],
    };
    (name, rest.strip_prefix(' ').unwrap().parse().unwrap())
}

/// What stands in the braces, and what comes after them.
fn read_labels(mut text: &str) -> (Vec<String>, &str) {
    let mut labels = Vec::new();
    loop {
        let (name, value) = text.split_once("=\"").unwrap();
        assert!(name.chars().all(|c| c.is_ascii_lowercase()), "{name}");
        let mut unescaped = String::new();
        let mut rest = value.chars();
        loop {
            match rest.next().unwrap() {
                '"' => break,
                '\\' => unescaped.push(match rest.next().unwrap() {
                    'n' => '\n',
                    literal @ ('\\' | '"') => literal,
                    other => panic!("\\{other} is no escape"),
                }),
                other => unescaped.push(other),
            }
        }
        labels.push(format!("{name}={unescaped}"));
        text = rest.as_str();
        match text.strip_prefix(',') {
            Some(more) => text = more,
            None => return (labels, text.strip_prefix('}').unwrap()),
        }
    }
}

fn edit(client: &Client, edit: impl FnOnce(&mut ClusterView)) {
    client.herder.edit_view(edit);
}

#[tokio::test]
async fn the_place_in_the_group_is_shown() {
    let client = Client::new();
    let before = scrape(&client).await;
    assert_eq!((before["bulkhead_rebalances_total"], before["bulkhead_leader"]), (0.0, 0.0));
    assert!(!before.contains_key("bulkhead_generation"));
    edit(&client, |view| {
        view.group.rebalances = 3;
        view.group.generation = Some(17);
        view.group.leads = true;
        view.group.settled = true;
    });
    let after = scrape(&client).await;
    let shown = ["rebalances_total", "generation", "leader", "settled"].map(|name| after[&format!("bulkhead_{name}")]);
    assert_eq!(shown, [3.0, 17.0, 1.0, 1.0]);
}

#[tokio::test]
async fn every_connector_and_task_has_its_state_as_a_number() {
    let client = Client::with_connector("a").await;
    client.herder.show_connector_with_tasks("a", 2);
    client.herder.show_connector("new");
    edit(&client, |view| {
        std::sync::Arc::make_mut(view.statuses.get_mut("a").unwrap()).tasks[0].1 = state("FAILED", None);
    });
    let series = scrape(&client).await;
    let states: Vec<_> = series.into_iter().filter(|(name, _)| name.contains("_state")).collect();
    let expected = [
        ("bulkhead_connector_state{connector=a}", 1.0),
        ("bulkhead_connector_state{connector=new}", 0.0),
        ("bulkhead_task_state{connector=a,task=0}", 3.0),
        ("bulkhead_task_state{connector=a,task=1}", 0.0),
    ];
    assert_eq!(states, expected.map(|(name, value)| (name.to_owned(), value)));
}

#[tokio::test]
async fn every_state_has_a_number_of_its_own() {
    let client = Client::with_connector("a").await;
    client.herder.show_connector("a");
    let failed = State::Failed { trace: String::new() };
    let states = [State::Unassigned, State::Running, State::Paused, failed, State::Restarting, State::Stopped];
    for (number, name) in states.iter().map(State::name).enumerate() {
        edit(&client, |view| {
            std::sync::Arc::make_mut(view.statuses.get_mut("a").unwrap()).connector = state(name, None);
        });
        assert_eq!(scrape(&client).await["bulkhead_connector_state{connector=a}"], number as f64, "{name}");
    }
}

#[tokio::test]
async fn series_end_with_what_they_describe() {
    let client = Client::with_connector("a").await;
    client.herder.show_connector_with_tasks("a", 1);
    let connector = Instance::Connector(ConnectorName::new("a"));
    client.sandbox.run(connector.clone(), usage());
    let restart = RestartView { restarts: 2, next: None, last_error: String::new() };
    edit(&client, |view| drop(view.restarts.insert(connector, restart)));
    assert!(scrape(&client).await.keys().any(|name| name.contains("connector=a")));
    edit(&client, |view| drop(view.connectors.remove("a")));
    let left: Vec<_> = scrape(&client).await.into_keys().filter(|name| name.contains("connector=a")).collect();
    assert_eq!(left, [""; 0]);
}

#[tokio::test]
async fn instances_of_this_worker_show_restarts_memory_and_time() {
    let client = Client::with_connector("a").await;
    client.herder.show_connector_with_tasks("a", 2);
    let task = Instance::Task(ConnectorName::new("a").task(1));
    client.sandbox.run(task.clone(), usage());
    client.sandbox.run(Instance::Connector(ConnectorName::new("a")), usage());
    let restart = RestartView { restarts: 2, next: None, last_error: String::new() };
    edit(&client, |view| drop(view.restarts.insert(task, restart)));
    let series = scrape(&client).await;
    assert_eq!(series["bulkhead_task_restarts{connector=a,task=1}"], 2.0);
    assert_eq!(series["bulkhead_task_memory_bytes{connector=a,task=1}"], 20.0);
    assert_eq!(series["bulkhead_task_cpu_seconds_total{connector=a,task=1}"], 1.5);
    assert_eq!(series["bulkhead_connector_restarts{connector=a}"], 0.0);
    let elsewhere = series.keys().filter(|name| name.contains("task=0")).collect::<Vec<_>>();
    assert_eq!(elsewhere, ["bulkhead_task_state{connector=a,task=0}"]);
}

#[tokio::test]
async fn hostile_names_stay_inside_their_labels() {
    for name in ["a\"} 1\nbulkhead_leader 1\n# EOF\n", "\\", "\\n", "😀,{}=\"\"", "\r\n", ""] {
        let client = Client::new();
        client.herder.show_connector_with_tasks(name, 1);
        client.metrics.refused(name);
        let series = scrape(&client).await;
        assert_eq!(series[&format!("bulkhead_connector_state{{connector={name}}}")], 0.0);
        assert_eq!(series[&format!("bulkhead_task_state{{connector={name},task=0}}")], 0.0);
        assert_eq!(series[&format!("bulkhead_refused_records_total{{topic={name}}}")], 1.0);
    }
}

#[tokio::test]
async fn refused_records_are_counted_by_topic() {
    let client = Client::new();
    client.metrics.refused("configs");
    client.metrics.clone().refused("configs");
    client.metrics.refused("status");
    let series = scrape(&client).await;
    assert_eq!(series["bulkhead_refused_records_total{topic=configs}"], 2.0);
    assert_eq!(series["bulkhead_refused_records_total{topic=status}"], 1.0);
}

#[tokio::test]
async fn requests_are_counted_by_route_whatever_the_client_invents() {
    let client = Client::with_connector("a").await;
    for line in [
        "GET /connectors/a",
        "GET /connectors/b",
        "GET /connectors/b/",
        "DELETE /connectors",
        "BREW /connectors",
        "OPTIONS /connectors",
        "GET /no/such/path",
        "GET //",
        "GET /connectors/broken",
        "PUT /connectors/a/config",
    ] {
        client.send(line, "").await;
    }
    client.herder.refer(None);
    client.send("DELETE /connectors/a", "").await;
    let series = scrape(&client).await;
    let counted: Vec<_> = series.iter().filter(|(name, _)| name.starts_with("bulkhead_rest_requests")).collect();
    let expected = [
        ("method=DELETE,route=/connectors,status=405", 1.0),
        ("method=DELETE,route=/connectors/{connector},status=409", 1.0),
        ("method=GET,route=/connectors/{connector},status=200", 1.0),
        ("method=GET,route=/connectors/{connector},status=404", 2.0),
        ("method=GET,route=/connectors/{connector},status=500", 1.0),
        ("method=GET,route=other,status=400", 1.0),
        ("method=GET,route=other,status=404", 1.0),
        ("method=OPTIONS,route=/connectors,status=200", 1.0),
        ("method=PUT,route=/connectors/{connector}/config,status=400", 1.0),
        ("method=other,route=/connectors,status=405", 1.0),
    ];
    let expected = expected.map(|(labels, value)| (format!("bulkhead_rest_requests_total{{{labels}}}"), value));
    assert_eq!(counted, expected.iter().map(|(name, value)| (name, value)).collect::<Vec<_>>());
}

#[tokio::test(start_paused = true)]
async fn the_time_of_requests_is_counted() {
    let client = Client::new();
    client.herder.hang();
    client.send("GET /connectors/a", "").await;
    let series = scrape(&client).await;
    let labels = "method=GET,route=/connectors/{connector}";
    assert_eq!(series[&format!("bulkhead_rest_request_duration_seconds_count{{{labels}}}")], 1.0);
    let seconds = series[&format!("bulkhead_rest_request_duration_seconds_sum{{{labels}}}")];
    assert!((90.0..91.0).contains(&seconds), "{seconds}");
    let bucket = |le: &str| series[&format!("bulkhead_rest_request_duration_seconds_bucket{{le={le},{labels}}}")];
    assert_eq!((bucket("45.0"), bucket("+Inf")), (0.0, 1.0));
}

#[tokio::test]
async fn metrics_are_on_every_listener_whatever_the_scraper_accepts() {
    let own = Settings { admin_listeners: AdminListeners::Own(Vec::new()), ..Settings::default() };
    for (settings, resources) in
        [(&Settings::default(), Resources::Regular), (&own, Resources::Regular), (&own, Resources::Admin)]
    {
        let client = Client::with(settings, resources);
        let answer = client.send_with("GET /metrics", &[("accept", "text/plain;version=0.0.4")], "").await;
        assert_eq!(answer.status, 200);
        assert!(parse(&answer.body).contains_key("bulkhead_leader"));
    }
}
