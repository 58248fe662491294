"""What carries messages between sites: addresses, keys, connections, the relay, frames."""
