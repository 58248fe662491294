"""[SODM]: scalable optimal margin distribution machine."""
