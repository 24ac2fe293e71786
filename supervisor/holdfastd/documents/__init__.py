"""Documents about a queue, made of JSON values. The command line and the HTTP API return the same documents."""
