"""The queue that the web process serves: reports, lists of tasks, bulk changes, and the redaction of secrets."""
