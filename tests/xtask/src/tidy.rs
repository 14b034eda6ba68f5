//! Checks which crate depends on which: the picture in ARCHITECTURE.md, as code.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

use anyhow::{Context, bail, ensure};
use bulkhead_e2e::root;
use serde_json::Value;

/// Crates of the host and what each may use of the workspace. Tests and benches may use anything.
const ALLOWED: &[(&str, &[&str])] = &[
    ("bulkhead-model", &[]),
    ("bulkhead-herder", &["bulkhead-model"]),
    ("bulkhead-control", &["bulkhead-model"]),
    ("bulkhead-pipeline", &["bulkhead-model"]),
    ("bulkhead-worker", &["bulkhead-model", "bulkhead-pipeline"]),
    ("bulkhead-sandbox", &["bulkhead-model", "bulkhead-pipeline"]),
    ("bulkhead-kafka", &["bulkhead-model", "bulkhead-pipeline"]),
    ("bulkhead-registry", &["bulkhead-model", "bulkhead-pipeline"]),
    ("bulkhead-rest", &["bulkhead-model", "bulkhead-herder"]),
    ("bulkhead-ctl", &[]),
    (
        "bulkhead",
        &[
            "bulkhead-model",
            "bulkhead-herder",
            "bulkhead-control",
            "bulkhead-pipeline",
            "bulkhead-worker",
            "bulkhead-sandbox",
            "bulkhead-kafka",
            "bulkhead-registry",
            "bulkhead-rest",
            "bulkhead-ctl",
        ],
    ),
    ("bulkhead-sdk-macros", &[]),
    ("bulkhead-sdk", &["bulkhead-sdk-macros"]),
    ("bulkhead-testkit", &["bulkhead-doubles", "bulkhead-model", "bulkhead-pipeline", "bulkhead-sandbox"]),
    ("file-source", &["bulkhead-sdk"]),
    ("file-sink", &["bulkhead-sdk"]),
    ("generator-source", &["bulkhead-sdk"]),
    ("redact-transform", &["bulkhead-sdk"]),
    ("cbor-converter", &["bulkhead-sdk"]),
];

/// Libraries that only one crate may link, and crates that must stay without a runtime.
const ONLY_IN: &[(&str, &[&str])] = &[
    ("wasmtime", &["bulkhead-sandbox"]),
    ("wasmtime-wasi", &["bulkhead-sandbox"]),
    ("rdkafka", &["bulkhead-kafka"]),
    ("kafka-protocol", &["bulkhead-control"]),
    ("axum", &["bulkhead-rest"]),
    ("apache-avro", &["bulkhead-pipeline"]),
    ("hyper-openssl", &["bulkhead-registry"]),
];
const PURE: &[&str] = &["bulkhead-model", "bulkhead-herder"];

pub fn run() -> anyhow::Result<()> {
    let output = Command::new("cargo")
        .args(["metadata", "--no-deps", "--format-version=1", "--locked"])
        .current_dir(root())
        .output()?;
    ensure!(output.status.success(), "cargo metadata failed: {}", String::from_utf8_lossy(&output.stderr));
    let edges = normal_dependencies(&serde_json::from_slice(&output.stdout)?)?;
    let problems = problems(&edges);
    if !problems.is_empty() {
        bail!("dependencies that ARCHITECTURE.md doesn't allow:\n  {}", problems.join("\n  "));
    }
    println!("tidy: {} crates depend on each other as ARCHITECTURE.md says", edges.len());
    Ok(())
}

/// Names of what each package of the workspace depends on, tests and build scripts left out.
fn normal_dependencies(metadata: &Value) -> anyhow::Result<BTreeMap<String, BTreeSet<String>>> {
    let packages = metadata["packages"].as_array().context("cargo metadata has no packages")?;
    let name = |value: &Value| value["name"].as_str().unwrap_or_default().to_owned();
    let normal = |package: &Value| {
        let dependencies = package["dependencies"].as_array().into_iter().flatten();
        dependencies.filter(|dependency| dependency["kind"].is_null()).map(name).collect()
    };
    Ok(packages.iter().map(|package| (name(package), normal(package))).collect())
}

fn problems(edges: &BTreeMap<String, BTreeSet<String>>) -> Vec<String> {
    let mut problems = Vec::new();
    for (krate, allowed) in ALLOWED {
        let Some(uses) = edges.get(*krate) else {
            problems.push(format!("{krate} is in the picture, but not in the workspace"));
            continue;
        };
        let ours = uses.iter().filter(|name| edges.contains_key(*name));
        let more = ours.filter(|name| !allowed.contains(&name.as_str()));
        problems.extend(more.map(|name| format!("{krate} uses {name}")));
        for (library, owners) in ONLY_IN {
            if uses.contains(*library) && !owners.contains(krate) {
                problems.push(format!("{krate} links {library}, which only {} may", owners.join(", ")));
            }
        }
        if PURE.contains(krate) && uses.contains("tokio") {
            problems.push(format!("{krate} never waits, but uses tokio"));
        }
    }
    problems
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_workspace_is_tidy() {
        run().unwrap();
    }

    #[test]
    fn an_edge_that_is_not_in_the_picture_is_found() {
        let mut edges: BTreeMap<String, BTreeSet<String>> =
            ALLOWED.iter().map(|(krate, _)| ((*krate).to_owned(), BTreeSet::new())).collect();
        assert_eq!(problems(&edges), [""; 0]);
        let mut uses = |krate: &str, name: &str| edges.get_mut(krate).unwrap().insert(name.to_owned());
        uses("bulkhead-herder", "bulkhead-worker");
        uses("bulkhead-herder", "tokio");
        uses("bulkhead-rest", "wasmtime");
        assert_eq!(
            problems(&edges),
            [
                "bulkhead-herder uses bulkhead-worker",
                "bulkhead-herder never waits, but uses tokio",
                "bulkhead-rest links wasmtime, which only bulkhead-sandbox may",
            ]
        );
    }
}
