"""Settings for the whole suite."""

import signal

import pytest
from hypothesis import settings

# The same examples for the same set of tests (constants of the loaded modules take part in the
# choice), and no failure because a shared runner was slow.
settings.register_profile("widemargin", derandomize=True, deadline=None)
settings.load_profile("widemargin")


def pytest_configure(config: pytest.Config) -> None:
    """Hear Ctrl-C also where a shell started the tests in the background, which ignores it."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(tryfirst=True)  # before pytest-xdist reads the groups
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Keep the tests on Spark together: they share one session, which one process has."""
    for item in items:
        if item.get_closest_marker("spark") is not None:
            item.add_marker(pytest.mark.xdist_group("spark"))
