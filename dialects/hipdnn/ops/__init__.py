"""The op classes, a file per family."""
