"""Siteward: a host for site automation with cameras. AI informs and recommends; people and plain rules move things."""

__version__ = "0.1.0"
