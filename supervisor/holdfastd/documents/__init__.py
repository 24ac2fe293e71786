"""Documents about a queue, made of JSON values, as the command line and the HTTP API both give them."""
