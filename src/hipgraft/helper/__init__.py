"""The process that compiles for hosts: applications of hipDNN and ONNX Runtime, whose plugins ask.

The compiler never runs in a host's process. `hipgraft-serve` is one process of a user; it listens
on a socket that only this user can reach, says whether a graph would compile, and has child
processes compile. `hipgraft/native/client` is the other end.
"""

DOES_NOT_COMPILE = 2
"""Exit status of a child whose compiler refuses what it was given."""
