//! A component's exports: from the contract's functions to the author's connectors, tasks, transformations and converters.
//!
//! Authors don't come here; the `export!` macro does.

mod connector;
mod converter;
mod manifest;
mod plugin;
mod predicate;
mod sink_task;
mod slot;
mod source_task;
mod transform;

use std::marker::PhantomData;

pub use plugin::{FileAccess, Needs, Plugin};
#[cfg(not(target_family = "wasm"))]
pub(crate) use plugin::{start_converter, start_predicate, start_sink, start_source, start_transform};

use crate::connector::AnyConnector;
use crate::{Error, Result};

/// The plugins of a component; implemented by the `export!` macro.
pub trait Component: 'static {
    /// All plugins, in the order of the manifest.
    fn plugins() -> Vec<Plugin>;
}

/// What implements the contract's exports for a component's plugins.
#[derive(Debug)]
pub struct Exports<C>(PhantomData<C>);

/// The connector of this name.
fn connector<C: Component>(name: &str) -> Result<Box<dyn AnyConnector>> {
    find::<C>(name)?.into_connector()
}

fn find<C: Component>(name: &str) -> Result<Plugin> {
    find_one::<C>(name, |_| true)
}

/// One name may stand for several plugins, if they are of different kinds.
fn find_one<C: Component>(name: &str, is_it: impl Fn(&Plugin) -> bool) -> Result<Plugin> {
    let known = |plugin: &Plugin| (plugin.name == name || plugin.aliases.contains(&name)) && is_it(plugin);
    C::plugins().into_iter().find(known).ok_or_else(|| Error::failed(format!("this component has no plugin `{name}`")))
}
