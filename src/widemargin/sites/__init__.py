"""Gossip training on a real network: one process per site, whose rows never leave it."""

try:
    import zmq as _zmq  # noqa: F401
except ImportError as error:
    raise ImportError(
        "Sites of a network need pyzmq: install it with `pip install 'widemargin[gossip]'`."
    ) from error
