//! Generated from `wit/connect/0.1`: one world with everything a component of that version may import
//! or export. A component is bound interface by interface, so it need not have all of it.

#![allow(unreachable_pub, unsafe_code, reason = "generated code")]

wasmtime::component::bindgen!({
    inline: "
        package bulkhead:worker;
        world everything {
            include bulkhead:connect/source-plugin@0.1.0;
            include bulkhead:connect/sink-plugin@0.1.0;
            include bulkhead:connect/transform-plugin@0.1.0;
            include bulkhead:connect/converter-plugin@0.1.0;
            include bulkhead:connect/async-extras@0.1.0;
        }
    ",
    path: "../../wit/connect/0.1",
    world: "bulkhead:worker/everything",
    // Reading offsets may take the worker a while; the guest's call blocks the instance meanwhile.
    imports: { "bulkhead:connect/offset-reader.offsets": async },
    // One way to call, for functions that may wait and those that may not.
    exports: { default: async | store },
    // The manifest is kept beside the compiled code.
    additional_derives: [serde::Serialize, serde::Deserialize],
});
