"""[DC]: a divide-and-conquer solver for kernel support vector machines."""
