"""Fitted kernel expansions: of one level, routed to clusters, compressed."""
