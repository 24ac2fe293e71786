"""The migrations of the tables: `NNNN_<name>.sql`, each run once, in order, in one transaction.

A released file is never changed: later changes of the tables go into a new file.
"""
