"""IREE's compiler as a library: sessions, the schedule that it makes, and tiles set on its IR."""
