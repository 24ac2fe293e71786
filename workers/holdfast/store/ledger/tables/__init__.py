"""The tables of the ledger, one file each."""
