"""[MC]: distributed optimization of multi-class SVMs."""
