//! The macros of `bulkhead-sdk`: `#[derive(Config)]` and `export!`.
//!
//! They are documented where authors find them, at `bulkhead_sdk::Config` and `bulkhead_sdk::export`. This crate knows
//! nothing but names of the SDK; what they do is written there.

mod config;
mod export;

use proc_macro::TokenStream;
use syn::{DeriveInput, parse_macro_input};

/// Makes the keys of a configuration, and how to read it, from a struct with a field for each key.
#[proc_macro_derive(Config, attributes(config))]
pub fn derive_config(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    config::derive(&input).unwrap_or_else(syn::Error::into_compile_error).into()
}

/// Makes a component of the crate, with these plugins.
///
/// ```ignore
/// bulkhead_sdk::export! {
///     source "org.example.Counter" => Counter,                    // a task alone
///     source "org.example.Orders" => (Orders, OrdersTask)         // a connector and its task
///         aliases ["com.other.OrdersConnector"]
///         needs { network: ["*:443"], env: ["ORDERS_TOKEN"] }
///         version "2.1.0",                                        // otherwise the crate's
///     sink "org.example.Lines" => Lines needs { files: read_write },
///     transform "org.example.Upper" => Upper,
///     predicate "org.example.IsUpper" => IsUpper,
///     converter "org.example.Digits" => Digits,                   // of keys and values
///     header_converter "org.example.Digits" => Digits,
/// }
/// ```
///
/// The documentation of a plugin is the doc comment of its settings.
#[proc_macro]
pub fn export(input: TokenStream) -> TokenStream {
    let plugins = parse_macro_input!(input as export::Plugins);
    plugins.expand().into()
}
