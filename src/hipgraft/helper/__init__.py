"""The process that compiles for hosts: applications of hipDNN, whose plugin asks it.

The compiler never runs in a host's process. `hipgraft-serve` is one process of a user; it listens
on a socket that only this user can reach, says whether a graph would compile, and has child
processes compile. `hipgraft/native/plugin/plans.cpp` is the other end.
"""
