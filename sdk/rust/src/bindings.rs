//! What `wit-bindgen` generates from the contract: private, and the only place with `unsafe` code.
//!
//! A world for each interface instead of those of the contract, so that a component exports exactly what its plugins need:
//! every component has [`base`], those with a connector add [`connector`] and [`source`] or [`sink`], those with a
//! transformation [`transform`], and so on. The `export!` macro picks; the component linker joins the worlds that it finds.

#![allow(unsafe_code, unreachable_pub, missing_debug_implementations, rust_2018_idioms, clippy::unwrap_used)]

/// The manifest, and what every plugin may call.
pub mod base {
    wit_bindgen::generate!({
        inline: "
            package bulkhead:sdk;
            world base {
                include bulkhead:connect/imports@0.1.0;
                include bulkhead:connect/async-extras@0.1.0;
                export bulkhead:connect/manifest@0.1.0;
            }
        ",
        path: "../../wit/connect/0.1",
        generate_all,
        generate_unused_types: true,
        additional_derives: [Clone, PartialEq],
        pub_export_macro: true,
        export_macro_name: "export_base",
    });
}

/// Connectors.
pub mod connector {
    wit_bindgen::generate!({
        inline: "
            package bulkhead:sdk;
            world connector {
                import bulkhead:connect/connector-context@0.1.0;
                export bulkhead:connect/connector@0.1.0;
            }
        ",
        path: "../../wit/connect/0.1",
        with: {
            "bulkhead:connect/types@0.1.0": crate::bindings::base::bulkhead::connect::types,
            "bulkhead:connect/config-def@0.1.0": crate::bindings::base::bulkhead::connect::config_def,
            "bulkhead:connect/connector-context@0.1.0": generate,
            "bulkhead:connect/connector@0.1.0": generate,
        },
        additional_derives: [Clone, PartialEq],
        pub_export_macro: true,
        export_macro_name: "export_connector",
    });
}

/// The tasks of source connectors.
pub mod source {
    wit_bindgen::generate!({
        inline: "
            package bulkhead:sdk;
            world source {
                import bulkhead:connect/offset-reader@0.1.0;
                import bulkhead:connect/transaction-context@0.1.0;
                export bulkhead:connect/source-task@0.1.0;
            }
        ",
        path: "../../wit/connect/0.1",
        with: {
            "bulkhead:connect/types@0.1.0": crate::bindings::base::bulkhead::connect::types,
            "bulkhead:connect/offset-reader@0.1.0": generate,
            "bulkhead:connect/transaction-context@0.1.0": generate,
            "bulkhead:connect/source-task@0.1.0": generate,
        },
        additional_derives: [Clone, PartialEq],
        pub_export_macro: true,
        export_macro_name: "export_source",
    });
}

/// The tasks of sink connectors.
pub mod sink {
    wit_bindgen::generate!({
        inline: "
            package bulkhead:sdk;
            world sink {
                import bulkhead:connect/sink-context@0.1.0;
                export bulkhead:connect/sink-task@0.1.0;
            }
        ",
        path: "../../wit/connect/0.1",
        with: {
            "bulkhead:connect/types@0.1.0": crate::bindings::base::bulkhead::connect::types,
            "bulkhead:connect/sink-context@0.1.0": generate,
            "bulkhead:connect/sink-task@0.1.0": generate,
        },
        additional_derives: [Clone, PartialEq],
        pub_export_macro: true,
        export_macro_name: "export_sink",
    });
}

/// Transformations.
pub mod transform {
    wit_bindgen::generate!({
        inline: "
            package bulkhead:sdk;
            world transform {
                export bulkhead:connect/transform@0.1.0;
            }
        ",
        path: "../../wit/connect/0.1",
        with: {
            "bulkhead:connect/types@0.1.0": crate::bindings::base::bulkhead::connect::types,
            "bulkhead:connect/transform@0.1.0": generate,
        },
        additional_derives: [Clone, PartialEq],
        pub_export_macro: true,
        export_macro_name: "export_transform",
    });
}

/// Predicates.
pub mod predicate {
    wit_bindgen::generate!({
        inline: "
            package bulkhead:sdk;
            world predicate {
                export bulkhead:connect/predicate@0.1.0;
            }
        ",
        path: "../../wit/connect/0.1",
        with: {
            "bulkhead:connect/types@0.1.0": crate::bindings::base::bulkhead::connect::types,
            "bulkhead:connect/predicate@0.1.0": generate,
        },
        additional_derives: [Clone, PartialEq],
        pub_export_macro: true,
        export_macro_name: "export_predicate",
    });
}

/// Converters.
pub mod converter {
    wit_bindgen::generate!({
        inline: "
            package bulkhead:sdk;
            world converter {
                export bulkhead:connect/converter@0.1.0;
            }
        ",
        path: "../../wit/connect/0.1",
        with: {
            "bulkhead:connect/types@0.1.0": crate::bindings::base::bulkhead::connect::types,
            "bulkhead:connect/converter@0.1.0": generate,
        },
        additional_derives: [Clone, PartialEq],
        pub_export_macro: true,
        export_macro_name: "export_converter",
    });
}
