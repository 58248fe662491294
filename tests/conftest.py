"""Settings for the whole suite."""

from hypothesis import settings

# The same examples for the same set of tests (constants of the loaded modules take part in the
# choice), and no failure because a shared runner was slow.
settings.register_profile("widemargin", derandomize=True, deadline=None)
settings.load_profile("widemargin")
