"""Values as the command line shows them: times, tasks, hosts, deaths, the ledger, and why tasks do not start."""
