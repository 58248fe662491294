"""All-in-one multi-class machines: the problem on blocks of rows and its solvers."""
