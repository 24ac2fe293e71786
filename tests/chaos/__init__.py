"""Chaos: a workload, a nemesis and a checker as one program with a seed. See __main__.py."""
