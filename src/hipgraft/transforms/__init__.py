"""The transformations that passes consist of."""
