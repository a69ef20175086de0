"""The rewrites of `torch-legalize-operators` that need more than a few lines."""
