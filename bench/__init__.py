"""Benches: what Holdfast does on this machine, beside its targets; `python -m bench.<name>` runs one."""
