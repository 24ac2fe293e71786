"""Finds the user's code, inspects it, calls it, and turns its answer into an outcome."""
