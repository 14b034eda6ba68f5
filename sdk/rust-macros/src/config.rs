//! `#[derive(Config)]`.

use proc_macro2::TokenStream;
use quote::quote;
use syn::meta::ParseNestedMeta;
use syn::punctuated::Punctuated;
use syn::{Attribute, Data, DeriveInput, Error, Expr, ExprLit, Field, Fields, Lit, LitStr, RangeLimits, Result, Token};

pub(crate) fn derive(input: &DeriveInput) -> Result<TokenStream> {
    let Data::Struct(data) = &input.data else {
        return Err(Error::new_spanned(input, "settings are a struct with a field for each key"));
    };
    let Fields::Named(fields) = &data.fields else {
        return Err(Error::new_spanned(input, "settings have named fields"));
    };
    let name = &input.ident;
    let documentation = doc_comment(&input.attrs);
    let keys = fields.named.iter().map(key).collect::<Result<Vec<_>>>()?;
    let idents = fields.named.iter().map(|field| &field.ident);
    let places = 0..fields.named.len();
    Ok(quote! {
        impl ::bulkhead_sdk::Config for #name {
            const DOCUMENTATION: &'static str = #documentation;

            fn keys() -> ::std::vec::Vec<::bulkhead_sdk::__private::Key> {
                ::std::vec![#(#keys),*]
            }

            fn parse(config: &::bulkhead_sdk::RawConfig) -> ::bulkhead_sdk::Result<Self> {
                let keys = <Self as ::bulkhead_sdk::Config>::keys();
                ::std::result::Result::Ok(Self { #(#idents: keys[#places].read(config)?),* })
            }
        }
    })
}

/// The expression that makes a field's key.
fn key(field: &Field) -> Result<TokenStream> {
    let ident = field.ident.as_ref().map(ToString::to_string).unwrap_or_default();
    let mut name = LitStr::new(&ident.trim_start_matches("r#").replace('_', "."), proc_macro2::Span::call_site());
    let mut calls = Vec::new();
    for attribute in field.attrs.iter().filter(|attribute| attribute.path().is_ident("config")) {
        attribute.parse_nested_meta(|meta| {
            if meta.path.is_ident("name") {
                name = meta.value()?.parse()?;
            } else {
                calls.push(call(&meta, field)?);
            }
            Ok(())
        })?;
    }
    let kind = &field.ty;
    let documentation = doc_comment(&field.attrs);
    Ok(quote!(::bulkhead_sdk::__private::Key::of::<#kind>(#name).doc(#documentation) #(#calls)*))
}

/// The method call that one attribute stands for.
fn call(meta: &ParseNestedMeta<'_>, field: &Field) -> Result<TokenStream> {
    let attribute = meta.path.require_ident()?.to_string();
    match attribute.as_str() {
        "default" => {
            let value: Expr = meta.value()?.parse()?;
            Ok(quote!(.default(#value)))
        }
        "importance" => importance(&meta.value()?.parse()?),
        "range" => range(meta),
        "one_of" => {
            let content;
            syn::parenthesized!(content in meta.input);
            let values: Punctuated<LitStr, Token![,]> = Punctuated::parse_terminated(&content)?;
            let values = values.iter();
            Ok(quote!(.one_of([#(#values),*])))
        }
        "group" => text(meta, &quote!(group)),
        "display" => text(meta, &quote!(display)),
        "non_empty" => Ok(quote!(.non_empty())),
        "internal" => Ok(quote!(.internal())),
        "optional" if is_option(field) => Ok(TokenStream::new()),
        "optional" => Err(meta.error("an optional key is read into an `Option`")),
        _ => Err(meta.error(
            "unknown attribute; there are name, default, optional, range, one_of, non_empty, importance, group, display, \
             internal",
        )),
    }
}

fn text(meta: &ParseNestedMeta<'_>, method: &TokenStream) -> Result<TokenStream> {
    let value: LitStr = meta.value()?.parse()?;
    Ok(quote!(.#method(#value)))
}

fn importance(level: &LitStr) -> Result<TokenStream> {
    let variant = match level.value().as_str() {
        "high" => quote!(High),
        "medium" => quote!(Medium),
        "low" => quote!(Low),
        _ => return Err(Error::new_spanned(level, "importance is high, medium or low")),
    };
    Ok(quote!(.importance(::bulkhead_sdk::__private::Importance::#variant)))
}

fn range(meta: &ParseNestedMeta<'_>) -> Result<TokenStream> {
    let content;
    syn::parenthesized!(content in meta.input);
    let range: syn::ExprRange = content.parse()?;
    if range.end.is_some() && matches!(range.limits, RangeLimits::HalfOpen(_)) {
        return Err(Error::new_spanned(range, "bounds are inclusive: write `..=`"));
    }
    let bound = |bound: &Option<Box<Expr>>| match bound {
        Some(bound) => quote!(::std::option::Option::Some(::std::string::ToString::to_string(&(#bound)))),
        None => quote!(::std::option::Option::None),
    };
    let (least, most) = (bound(&range.start), bound(&range.end));
    Ok(quote!(.range(#least, #most)))
}

fn is_option(field: &Field) -> bool {
    let syn::Type::Path(path) = &field.ty else { return false };
    path.path.segments.last().is_some_and(|last| last.ident == "Option")
}

/// The text of doc comments: lines of a paragraph joined, paragraphs kept apart.
fn doc_comment(attributes: &[Attribute]) -> String {
    let lines =
        attributes.iter().filter(|attribute| attribute.path().is_ident("doc")).filter_map(|attribute| match &attribute
            .meta
            .require_name_value()
            .ok()?
            .value
        {
            Expr::Lit(ExprLit { lit: Lit::Str(line), .. }) => Some(line.value()),
            _ => None,
        });
    let lines: Vec<String> = lines.map(|line| line.trim().to_owned()).collect();
    let paragraphs = lines.split(String::is_empty).map(|paragraph| paragraph.join(" "));
    paragraphs.filter(|paragraph| !paragraph.is_empty()).collect::<Vec<_>>().join("\n\n")
}
