"""How sites talk: frames, links, limits, keys at the gate."""
