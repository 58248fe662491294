"""The process of a site: state, rounds, status."""
