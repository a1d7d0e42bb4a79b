"""The protocol: every operation's request and answer, declared once as values.

An `Operation` has a request (a dataclass), an answer (a `TypedDict`, so that an answer is plain
data and costs nothing) and facts that the server needs. The worker, the server, the page's types,
the JSON Schema, the OpenAPI document and the tables of `docs/protocol.md` are read off it. Nothing
here imports the code that answers: an operation names its module, and the server needs none.
"""
