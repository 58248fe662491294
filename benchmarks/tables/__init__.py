"""Tables as people have them: the command ``widemargin train`` against LightGBM."""
