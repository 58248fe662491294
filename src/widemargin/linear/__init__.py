"""Linear machines: the problem on blocks of rows, its solvers, learning from a stream."""
