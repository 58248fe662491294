"""Gossip on a real network: one process per site, whose rows never leave it."""
