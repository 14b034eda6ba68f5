//! `export!`.

use proc_macro2::TokenStream;
use quote::{ToTokens, format_ident, quote};
use syn::parse::{Parse, ParseStream};
use syn::punctuated::Punctuated;
use syn::{Ident, LitStr, Result, Token, Type, braced, bracketed, parenthesized};

mod word {
    syn::custom_keyword!(source);
    syn::custom_keyword!(sink);
    syn::custom_keyword!(transform);
    syn::custom_keyword!(predicate);
    syn::custom_keyword!(converter);
    syn::custom_keyword!(header_converter);
    syn::custom_keyword!(aliases);
    syn::custom_keyword!(needs);
    syn::custom_keyword!(version);
}

/// What stands between the braces of `export!`.
pub(crate) struct Plugins(Vec<Plugin>);

struct Plugin {
    kind: Kind,
    name: LitStr,
    /// Of a task that has one of its own.
    connector: Option<Type>,
    task: Type,
    aliases: Vec<LitStr>,
    needs: Needs,
    version: Option<LitStr>,
}

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Source,
    Sink,
    Transform,
    Predicate,
    Converter,
    HeaderConverter,
}

#[derive(Default)]
struct Needs {
    network: Vec<LitStr>,
    files: Option<TokenStream>,
    env: Vec<LitStr>,
}

impl Parse for Plugins {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let plugins = Punctuated::<Plugin, Token![,]>::parse_terminated(input)?;
        if plugins.is_empty() {
            return Err(input.error("a component has at least one plugin: source \"org.example.Name\" => Type"));
        }
        Ok(Self(plugins.into_iter().collect()))
    }
}

impl Parse for Plugin {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let look = input.lookahead1();
        let kind = if look.peek(word::source) {
            input.parse::<word::source>()?;
            Kind::Source
        } else if look.peek(word::sink) {
            input.parse::<word::sink>()?;
            Kind::Sink
        } else if look.peek(word::transform) {
            input.parse::<word::transform>()?;
            Kind::Transform
        } else if look.peek(word::predicate) {
            input.parse::<word::predicate>()?;
            Kind::Predicate
        } else if look.peek(word::converter) {
            input.parse::<word::converter>()?;
            Kind::Converter
        } else if look.peek(word::header_converter) {
            input.parse::<word::header_converter>()?;
            Kind::HeaderConverter
        } else {
            return Err(look.error());
        };
        let name = input.parse()?;
        input.parse::<Token![=>]>()?;
        let (connector, task) = match kind {
            Kind::Source | Kind::Sink => types(input)?,
            Kind::Transform | Kind::Predicate | Kind::Converter | Kind::HeaderConverter => (None, input.parse()?),
        };
        let mut plugin =
            Self { kind, name, connector, task, aliases: Vec::new(), needs: Needs::default(), version: None };
        while !input.is_empty() && !input.peek(Token![,]) {
            plugin.option(input)?;
        }
        Ok(plugin)
    }
}

impl Plugin {
    /// `aliases […]`, `needs {…}` or `version "…"`.
    fn option(&mut self, input: ParseStream<'_>) -> Result<()> {
        let look = input.lookahead1();
        if look.peek(word::aliases) {
            input.parse::<word::aliases>()?;
            self.aliases = texts(input)?;
        } else if look.peek(word::needs) {
            input.parse::<word::needs>()?;
            self.needs = input.parse()?;
        } else if look.peek(word::version) {
            input.parse::<word::version>()?;
            self.version = Some(input.parse()?);
        } else {
            return Err(look.error());
        }
        Ok(())
    }
}

/// `Task` or `(Connector, Task)`.
fn types(input: ParseStream<'_>) -> Result<(Option<Type>, Type)> {
    if !input.peek(syn::token::Paren) {
        return Ok((None, input.parse()?));
    }
    let content;
    parenthesized!(content in input);
    let connector = content.parse()?;
    content.parse::<Token![,]>()?;
    let task = content.parse()?;
    if !content.is_empty() {
        return Err(content.error("a connector and its task, nothing else"));
    }
    Ok((Some(connector), task))
}

fn texts(input: ParseStream<'_>) -> Result<Vec<LitStr>> {
    let content;
    bracketed!(content in input);
    Ok(Punctuated::<LitStr, Token![,]>::parse_terminated(&content)?.into_iter().collect())
}

impl Parse for Needs {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let content;
        braced!(content in input);
        let mut needs = Self::default();
        while !content.is_empty() {
            let what: Ident = content.parse()?;
            content.parse::<Token![:]>()?;
            match what.to_string().as_str() {
                "network" => needs.network = texts(&content)?,
                "env" => needs.env = texts(&content)?,
                "files" => needs.files = Some(file_access(&content.parse()?)?),
                _ => return Err(syn::Error::new_spanned(what, "a plugin may need network, files or env")),
            }
            if !content.is_empty() {
                content.parse::<Token![,]>()?;
            }
        }
        Ok(needs)
    }
}

fn file_access(word: &Ident) -> Result<TokenStream> {
    match word.to_string().as_str() {
        "none" => Ok(quote!(None)),
        "read_only" => Ok(quote!(ReadOnly)),
        "read_write" => Ok(quote!(ReadWrite)),
        _ => Err(syn::Error::new_spanned(word, "files are none, read_only or read_write")),
    }
}

impl Plugins {
    pub(crate) fn expand(&self) -> TokenStream {
        let Self(plugins) = self;
        let has = |kind| plugins.iter().any(|plugin| plugin.kind == kind);
        let exports = [
            (has(Kind::Source) || has(Kind::Sink), "connector"),
            (has(Kind::Source), "source"),
            (has(Kind::Sink), "sink"),
            (has(Kind::Transform), "transform"),
            (has(Kind::Predicate), "predicate"),
            (has(Kind::Converter) || has(Kind::HeaderConverter), "converter"),
        ];
        let exports = exports.into_iter().filter(|(is_needed, _)| *is_needed).map(|(_, world)| {
            let (module, export) = (format_ident!("{world}"), format_ident!("export_{world}"));
            quote!(::bulkhead_sdk::bindings::#module::#export!(Exports with_types_in ::bulkhead_sdk::bindings::#module);)
        });
        quote! {
            const _: () = {
                pub struct Component;

                impl ::bulkhead_sdk::__private::Component for Component {
                    fn plugins() -> ::std::vec::Vec<::bulkhead_sdk::__private::Plugin> {
                        ::std::vec![#(#plugins),*]
                    }
                }

                // Natively nobody asks for the plugins; but they aren't unused.
                #[cfg(not(target_family = "wasm"))]
                const _: fn() -> ::std::vec::Vec<::bulkhead_sdk::__private::Plugin> =
                    <Component as ::bulkhead_sdk::__private::Component>::plugins;

                // Only a component has exports: natively their names would clash with those of other crates.
                #[cfg(target_family = "wasm")]
                #[allow(unsafe_code)]
                const _: () = {
                    type Exports = ::bulkhead_sdk::__private::Exports<Component>;
                    ::bulkhead_sdk::bindings::base::export_base!(Exports with_types_in ::bulkhead_sdk::bindings::base);
                    #(#exports)*
                };
            };
        }
    }
}

impl ToTokens for Plugin {
    fn to_tokens(&self, tokens: &mut TokenStream) {
        let Self { kind, name, connector, task, aliases, needs, version } = self;
        let (constructor, alone) = match kind {
            Kind::Source => (quote!(source), Some(quote!(OneTask))),
            Kind::Sink => (quote!(sink), Some(quote!(EqualTasks))),
            Kind::Transform => (quote!(transform), None),
            Kind::Predicate => (quote!(predicate), None),
            Kind::Converter => (quote!(converter), None),
            Kind::HeaderConverter => (quote!(header_converter), None),
        };
        let types = match (connector, alone) {
            (Some(connector), _) => quote!(#connector, #task),
            (None, Some(alone)) => quote!(::bulkhead_sdk::__private::#alone<#task>, #task),
            (None, None) => quote!(#task),
        };
        let version = match version {
            Some(version) => quote!(#version),
            None => quote!(::std::env!("CARGO_PKG_VERSION")),
        };
        tokens.extend(quote! {
            ::bulkhead_sdk::__private::Plugin::#constructor::<#types>(#name, #version)
                .aliases(&[#(#aliases),*])
                .needs(#needs)
        });
    }
}

impl ToTokens for Needs {
    fn to_tokens(&self, tokens: &mut TokenStream) {
        let Self { network, files, env } = self;
        let files = files.clone().unwrap_or_else(|| quote!(None));
        tokens.extend(quote! {
            ::bulkhead_sdk::__private::Needs {
                network: &[#(#network),*],
                files: ::bulkhead_sdk::__private::FileAccess::#files,
                env: &[#(#env),*],
            }
        });
    }
}
