"""The migrations of the tables: `NNNN_<name>.sql`, each run once, in order, in one transaction.

A file that was released stays as it is: what changes the tables after that is another file.
"""
