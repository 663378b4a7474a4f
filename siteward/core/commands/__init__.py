"""The commands of `siteward`, one file for each group of them."""
