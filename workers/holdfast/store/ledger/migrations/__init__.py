"""The numbered steps of the tables: `NNNN_<what>.sql`, each run once, in order, in one transaction."""
