"""[mcODM] Zhang and Zhou, "Multi-class optimal margin distribution machine", ICML 2017."""
