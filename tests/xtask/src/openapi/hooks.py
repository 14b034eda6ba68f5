import schemathesis

# A component is bytes like any others.
schemathesis.serializer.alias("application/wasm", "application/octet-stream")
