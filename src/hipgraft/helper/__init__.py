"""The process that compiles for the plugins in host applications of hipDNN and ONNX Runtime.

The compiler never runs in a host's process. `hipgraft-serve` is one process per user; it listens
on a socket that only this user can access, answers whether a graph would compile, and starts child
processes that compile. `hipgraft/native/client` is the client.
"""

DOES_NOT_COMPILE = 2
"""The exit status of a child whose compiler rejects its input."""
