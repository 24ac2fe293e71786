"""The ledger in PostgreSQL: real servers of both kinds."""
