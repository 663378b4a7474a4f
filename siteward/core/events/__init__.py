"""What happens at a site, as data."""
