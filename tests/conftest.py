"""Settings for the whole suite."""

from hypothesis import settings

# The same examples on every machine, and no failure because a shared runner was slow.
settings.register_profile("widemargin", derandomize=True, deadline=None)
settings.load_profile("widemargin")
