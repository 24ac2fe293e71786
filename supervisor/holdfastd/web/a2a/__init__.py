"""The A2A agent: HTTP clients use the queue as an agent that speaks A2A 1.0 and 0.3 (docs/a2a.md)."""
