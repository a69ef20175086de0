"""Declarations of ops: fields, op classes and the checks that follow from them."""
