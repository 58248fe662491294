"""The rows of a DataFrame: columns, checks, blocks on the cluster."""
