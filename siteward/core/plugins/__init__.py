"""How integrations are found, read, loaded, set up and let go of."""
