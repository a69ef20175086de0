"""Runs passes: their base, options, registry, pipelines, and the runner."""
