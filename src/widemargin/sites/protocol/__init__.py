"""Messages between sites: frames, links, limits, transport, keys."""
