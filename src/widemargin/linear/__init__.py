"""Linear problems and their solvers, one file each."""
