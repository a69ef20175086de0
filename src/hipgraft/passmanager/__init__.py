"""Passes: their base, options, registry, pipelines, and the runner."""
