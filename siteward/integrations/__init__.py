"""The integrations that ship, one folder each with its `manifest.yaml`. They import `siteward.sdk` and nothing else of the project."""
