"""Drives IREE's compiler as a library: sessions, schedules, and tiles set on its IR."""
