"""Studies: signed descriptions, the desk where sites enrol, the schema of their tables."""
