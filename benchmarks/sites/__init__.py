"""Measurements of real networks of sites: exchanges a second, and an hour of killed sites."""
