"""Reads torch dialect modules from text, with their symbolic dimensions."""
