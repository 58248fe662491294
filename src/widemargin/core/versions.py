"""Versions of this installation, for bug reports."""

import platform
import re
from importlib import metadata
from typing import TypedDict

# Extras for the development of widemargin, left out of reports.
_DEVELOPMENT_EXTRAS = frozenset({"test", "lint", "docs"})

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_EXTRA = re.compile(r"extra\s*==\s*['\"]([^'\"]+)['\"]")


class Versions(TypedDict):
    """Result of `versions`; a version of ``None`` means that the package is not installed."""

    widemargin: str
    python: str
    platform: str
    instruction_set: str
    usable_cores: int
    dependencies: dict[str, str | None]
    extras: dict[str, dict[str, str | None]]


def versions() -> Versions:
    """Describe this installation.

    Returns
    -------
    dict
        ``widemargin``, ``python`` and ``platform`` as strings; ``instruction_set``, the CPU
        instructions that the native code uses here; ``usable_cores``, the number of cores this
        process may use; ``dependencies``, from name to version; ``extras``, from the extra's name
        to such a dictionary. A version of ``None`` means that the package is not installed.

    See Also
    --------
    show_versions : Print the same as a report.

    Examples
    --------
    >>> from widemargin.core.versions import versions
    >>> versions()["dependencies"]["numpy"] is not None
    True
    """
    # Imported here so that `import widemargin` stays fast.
    from widemargin import _native
    from widemargin.core.resources import usable_cores

    dependencies: dict[str, str | None] = {}
    extras: dict[str, dict[str, str | None]] = {}
    for requirement in metadata.requires("widemargin") or []:
        name, extra = _name_and_extra(requirement)
        if name == "widemargin" or extra in _DEVELOPMENT_EXTRAS:
            continue
        group = dependencies if extra is None else extras.setdefault(extra, {})
        group[name] = _installed_version(name)
    return {
        "widemargin": metadata.version("widemargin"),
        "python": f"{platform.python_version()} ({platform.python_implementation()})",
        "platform": platform.platform(),
        "instruction_set": _native.instruction_set(),
        "usable_cores": usable_cores(),
        "dependencies": dependencies,
        "extras": extras,
    }


def show_versions() -> None:
    """Print the versions of widemargin and its dependencies, and the machine's capabilities.

    See Also
    --------
    widemargin.core.versions.versions : The same as a dictionary.
    """
    found = versions()
    rows: list[tuple[str, str]] = [
        ("widemargin", found["widemargin"]),
        ("Python", found["python"]),
        ("platform", found["platform"]),
        ("instruction set", found["instruction_set"]),
        ("usable cores", str(found["usable_cores"])),
    ]
    rows += [(name, version or "missing") for name, version in found["dependencies"].items()]
    for extra, packages in found["extras"].items():
        rows += [
            (name, f"{version or 'not installed'}  [{extra}]") for name, version in packages.items()
        ]
    width = max(len(label) for label, _ in rows)
    for label, value in rows:
        print(f"{label:<{width}}  {value}")


def _name_and_extra(requirement: str) -> tuple[str, str | None]:
    """Split a requirement of the package's metadata into its project name and its extra, if any."""
    name = _NAME.match(requirement)
    if name is None:
        raise ValueError(f"A requirement must begin with a project name; got {requirement!r}.")
    extra = _EXTRA.search(requirement)
    return name.group(), extra.group(1) if extra else None


def _installed_version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None
