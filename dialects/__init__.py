"""The dialects that are defined in Python."""
