"""What may be asked of the compiler and what it answers, each declared once, as a value.

An `Operation` has a request (a dataclass), an answer (a `TypedDict`, so that an answer is plain
data and costs nothing) and what the server has to know of it. The worker, the server, the page's
types, the JSON Schema, the OpenAPI document and the tables of `docs/protocol.md` are read off it.
Nothing here imports what answers: an operation names that module, and the server needs none.
"""
