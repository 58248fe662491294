"""[SODM], linear kernel: Table 3, Figures 2 and 4."""
