"""The migrations of the tables: `NNNN_<name>.sql`, each run once, in order, in one transaction."""
