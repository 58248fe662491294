"""What a site trains and exchanges: its rows, its problems, its links, and limits on neighbours."""
