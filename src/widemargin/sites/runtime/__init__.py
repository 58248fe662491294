"""How a site runs: its state, its rounds, what it tells of itself."""
