//! Which version of the WIT package a component was built for.

use std::collections::BTreeSet;

use crate::v0_1::{PACKAGE, VERSION};

/// The versions this worker speaks.
const SPOKEN: &[&str] = &[VERSION];

/// Whether a component with imports and exports of these names can be run; if not, why.
pub(super) fn check<'a>(names: impl Iterator<Item = &'a str>) -> Result<(), String> {
    let versions: BTreeSet<&str> = names.filter_map(version).collect();
    if versions.is_empty() {
        return Err(format!("is no connector plugin: it exports nothing of the package `{PACKAGE}`"));
    }
    let foreign: Vec<_> = versions.into_iter().filter(|version| !SPOKEN.contains(version)).collect();
    if foreign.is_empty() {
        return Ok(());
    }
    let (found, spoken) = (foreign.join(", "), SPOKEN.join(", "));
    Err(format!("was built for version {found} of the package `{PACKAGE}`; this worker speaks {spoken}"))
}

/// The version in `bulkhead:connect/manifest@0.1.0`.
fn version(name: &str) -> Option<&str> {
    let interface = name.strip_prefix(PACKAGE)?.strip_prefix('/')?;
    Some(interface.split_once('@').map_or("none", |(_, version)| version))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_found_and_the_versions_spoken_are_named() {
        for (names, expected) in [
            (&["bulkhead:connect/manifest@0.1.0", "wasi:cli/stdout@0.2.3"][..], Ok(())),
            (
                &["wasi:cli/run@0.2.3"],
                Err("is no connector plugin: it exports nothing of the package `bulkhead:connect`"),
            ),
            (
                &["bulkhead:connect/manifest@0.2.0"],
                Err("was built for version 0.2.0 of the package `bulkhead:connect`; this worker speaks 0.1.0"),
            ),
        ] {
            let found = check(names.iter().copied());
            assert_eq!(found, expected.map_err(str::to_owned), "{names:?}");
        }
    }
}
