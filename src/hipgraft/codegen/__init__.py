"""Compiles graphs to code objects and the schedule that runs them."""
