"""The engines that ours is measured against, one script each. Each runs in an environment of its own, made by `benchmarks.peers.install`, and knows nothing of
the project: it is started as a process, told to do its unit of work so many times with so many at once, and tells how long that took."""
