"""The dashboard, the HTTP API and the A2A agent of a queue. One process serves all three."""
