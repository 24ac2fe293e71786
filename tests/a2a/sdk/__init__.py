"""Programs that talk to the agent with the protocol's own SDK, each in the environment of its version."""
