//! Everything around the code. `cargo xtask` without arguments says what there is.

mod bench;
mod build;
mod clients;
mod demo;
mod fuzz;
mod openapi;
mod prerequisites;
mod python;
mod test;
mod tidy;

use std::process::ExitCode;

const USAGE: &str = "\
cargo xtask demo [--bootstrap-servers HOST:PORT]
    build everything, run a worker, see records flow, a task restarted and a hostile plugin contained
cargo xtask demo --cluster
    build everything, run three workers on a real Kafka, see work shared out, restarted, and taken over from one
    that is killed
cargo xtask test [--fast]
    all tests; with --fast only those that need neither wasmtime, nor librdkafka, nor Kafka
cargo xtask bench assignor | transforms | instantiate | boundary | startup | worker [--peer] | restart [--peer] | all
    figures, on this machine; --peer measures Apache Kafka Connect beside it
cargo xtask sim [--seeds N | --seed N]
    a simulated cluster, with so many seeds or with one of them and all that happens in it
cargo xtask fuzz [TARGET] [--seconds N]
    the fuzz targets, or one of them, for ten minutes or so many seconds each; needs cargo-fuzz
cargo xtask openapi
    requests made from GET /openapi.json, by Schemathesis; the worker and the plugins must have been built
cargo xtask clients [--record]
    third-party clients of Kafka Connect walk through their calls; the worker and the plugins must have been built;
    --record has them do so at a worker of Apache's, with which ours is compared
cargo xtask guests
    compile the example and test plugins to target/plugins
cargo xtask tidy
    check which crate depends on which";

const FUZZ_SECONDS: &str = "600";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let outcome = match words.as_slice() {
        ["demo"] => demo::run(None),
        ["demo", "--bootstrap-servers", servers] => demo::run(Some(servers)),
        ["demo", "--cluster"] => demo::cluster(),
        ["test"] => test::run(test::Extent::Everything),
        ["test", "--fast"] => test::run(test::Extent::Light),
        ["bench", "worker", "--peer"] => bench::worker(bench::Peer::Apache),
        ["bench", "restart", "--peer"] => bench::restart(bench::Peer::Apache),
        ["bench", name] => bench::run(name),
        ["sim"] => test::simulate(None),
        ["sim", "--seeds", count] => test::simulate(Some(("SIM_SEEDS", *count))),
        ["sim", "--seed", seed] => test::simulate(Some(("SIM_SEED", *seed))),
        ["fuzz"] => fuzz::run(None, FUZZ_SECONDS),
        ["fuzz", "--seconds", seconds] => fuzz::run(None, seconds),
        ["fuzz", target] => fuzz::run(Some(*target), FUZZ_SECONDS),
        ["fuzz", target, "--seconds", seconds] => fuzz::run(Some(*target), seconds),
        ["openapi"] => openapi::run(),
        ["clients"] => clients::run(clients::Goal::Compare),
        ["clients", "--record"] => clients::run(clients::Goal::Record),
        ["guests"] => prerequisites::check(&[]).and_then(|()| build::plugins()),
        ["tidy"] => tidy::run(),
        _ => {
            eprintln!("{USAGE}");
            return ExitCode::from(2);
        }
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("xtask: {error:#}");
            ExitCode::FAILURE
        }
    }
}
