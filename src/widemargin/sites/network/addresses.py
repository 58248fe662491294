"""Addresses of sites: ``tcp://HOST:PORT`` and ``relay://HOST:PORT``."""

from __future__ import annotations

import re
from dataclasses import dataclass

__all__ = ["RELAY", "TCP", "Address", "is_listen_address", "is_neighbour_address", "parse_address"]

TCP, RELAY = "tcp", "relay"
_FORM = re.compile(
    r"(?P<scheme>tcp|relay)://(?P<host>\*|\[[0-9A-Fa-f:.]+(?:%\w+)?\]|[A-Za-z0-9_.-]+)"
    r":(?P<port>[0-9]{1,5})",
    re.ASCII,
)
_HIGHEST_PORT = 65535


@dataclass(frozen=True)
class Address:
    """Parts of an address.

    Attributes
    ----------
    scheme : {'tcp', 'relay'}
        Whether a site listens there, or a relay at which two sites meet.
    host : str
        A name, an IPv4 address, an IPv6 address without brackets, or ``*`` for all.
    port : int
        From 1 to 65535.
    """

    scheme: str
    host: str
    port: int

    @property
    def is_numeric_v6(self) -> bool:
        """Whether the host is an IPv6 address."""
        return ":" in self.host

    @property
    def is_name(self) -> bool:
        """Whether the host is a name, to be resolved."""
        return not self.is_numeric_v6 and not self.host.replace(".", "").isdigit()

    def __str__(self) -> str:
        host = f"[{self.host}]" if self.is_numeric_v6 else self.host
        return f"{self.scheme}://{host}:{self.port}"


def parse_address(text: object) -> Address:
    """Return the parts of an address; ValueError if it is none."""
    found = _FORM.fullmatch(text) if isinstance(text, str) else None
    if found is None or not 1 <= int(found["port"]) <= _HIGHEST_PORT:
        raise ValueError(
            "an address must be tcp://HOST:PORT or relay://HOST:PORT with a port from 1 to "
            f"{_HIGHEST_PORT}, and IPv6 in brackets; got {text!r}."
        )
    return Address(found["scheme"], found["host"].strip("[]"), int(found["port"]))


def is_listen_address(value: object) -> bool:
    """Return whether a site can listen there: TCP, any host or ``*``, or empty for nowhere."""
    if value == "":
        return True
    try:
        return parse_address(value).scheme == TCP
    except ValueError:
        return False


def is_neighbour_address(value: object) -> bool:
    """Return whether a neighbour can be dialled there; empty for one that dials itself."""
    if value == "":
        return True
    try:
        return parse_address(value).host != "*"
    except ValueError:
        return False
