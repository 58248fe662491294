"""Signatures of a study's owner: Ed25519 over the canonical JSON of a document.

A signature is valid for documents that are equal as JSON values, whatever their layout on the disk.
"""

from __future__ import annotations

import json
from typing import Any

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

__all__ = [
    "SignatureError",
    "check_signature",
    "document_bytes",
    "make_signer",
    "public_of",
    "sign",
]

# No signature of another kind of document, or of another program, is valid for a study.
_PURPOSE = b"widemargin study v1\0"


class SignatureError(ValueError):
    """A document that its owner has not signed."""


def make_signer() -> str:
    """Return a new secret key for signatures, 64 hexadecimal digits."""
    return Ed25519PrivateKey.generate().private_bytes_raw().hex()


def public_of(secret: str) -> str:
    """Return the public key of a secret one, 64 hexadecimal digits."""
    return _private(secret).public_key().public_bytes_raw().hex()


def document_bytes(document: Any) -> bytes:
    """Return the bytes that are signed: JSON with sorted keys, in ASCII, without spaces."""
    text = json.dumps(document, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return _PURPOSE + text.encode("ascii")


def sign(secret: str, document: Any) -> str:
    """Return the signature of a document, 128 hexadecimal digits."""
    return _private(secret).sign(document_bytes(document)).hex()


def check_signature(public: Any, document: Any, signature: Any) -> None:
    """Raise SignatureError unless the owner of a public key has signed the document."""
    try:
        key = Ed25519PublicKey.from_public_bytes(bytes.fromhex(public))
        key.verify(bytes.fromhex(signature), document_bytes(document))
    except (InvalidSignature, TypeError, ValueError, RecursionError):
        raise SignatureError(
            "the signature of its owner does not hold: it was changed, or is not of this owner. "
            "Get it from the owner again."
        ) from None


def _private(secret: str) -> Ed25519PrivateKey:
    try:
        return Ed25519PrivateKey.from_private_bytes(bytes.fromhex(secret))
    except (TypeError, ValueError):
        raise ValueError(
            "an owner's secret key must have 64 hexadecimal digits; restore it from a backup."
        ) from None
