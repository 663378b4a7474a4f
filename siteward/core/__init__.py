"""The host: how its rooms stand to each other is in docs/how-it-works.md."""
