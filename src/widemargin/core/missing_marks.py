"""Texts that stand for a missing value in tables that people write."""

#: Compared without regard to capitals and surrounding spaces.
MISSING_MARKS = ("", "?", "NA", "N/A", "#N/A", "NaN", "null", "None", "-", ".")


def lowered(marks: tuple[str, ...] = MISSING_MARKS) -> frozenset[str]:
    """Return marks as cells, stripped and in small letters, are compared with them."""
    return frozenset(mark.strip().lower() for mark in marks)
