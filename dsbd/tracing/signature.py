"""A signature for those who publish a trace as evidence: who vouches for it, and that it is the one they saw.

The signature is a file of its own beside the trace (``trace.json.gz.sig``, the Ed25519 signature in base 64), so that
the trace stays as recorded. It signs the canonical digest, which is computed again: packing a trace again changes
no signature, and a changed field breaks it. Needs the ``cryptography`` package.
"""

import base64
import binascii
from pathlib import Path
from typing import Any

from dsbd.errors import TraceError
from dsbd.tracing.trace import Trace, canonical_digest

SUFFIX = ".sig"
LARGEST = 64 * 1024
"""Bytes of a key or signature file that are read."""
PREFIX = b"dsbd-trace-signature/1\n"
"""Stands before the digest in what is signed, so that no other use of the key can be taken for it."""


def sign(trace: Trace, private_key: str | Path, output: str | Path) -> None:
    """Write the signature of a trace.

    Args:
        trace: the record.
        private_key: an Ed25519 key as a PEM file without a password.
        output: where the signature goes.

    Raises:
        TraceError: the key cannot be read or is of another kind, or the file cannot be written.
    """
    ed25519, serialization = _cryptography()
    try:
        key = serialization.load_pem_private_key(_read(private_key, "private key"), password=None)
    except (ValueError, TypeError) as error:
        raise _wrong_key(private_key, "private", error) from None
    if not isinstance(key, ed25519.Ed25519PrivateKey):
        raise _wrong_key(private_key, "private", type(key).__name__)
    try:
        Path(output).write_bytes(base64.b64encode(key.sign(_message(trace))) + b"\n")
    except OSError as error:
        raise TraceError(f"cannot write signature {str(output)!r}: {error.strerror or error}") from None


def is_signed(trace: Trace, public_key: str | Path, signature: str | Path) -> bool:
    """True where the signature was made with the private half of this key for this very trace.

    Args:
        trace: the record.
        public_key: an Ed25519 key as a PEM file.
        signature: the file that :func:`sign` wrote.

    Raises:
        TraceError: a file cannot be read, or is not what it should be.
    """
    ed25519, serialization = _cryptography()
    from cryptography.exceptions import InvalidSignature

    try:
        key = serialization.load_pem_public_key(_read(public_key, "public key"))
    except (ValueError, TypeError) as error:
        raise _wrong_key(public_key, "public", error) from None
    if not isinstance(key, ed25519.Ed25519PublicKey):
        raise _wrong_key(public_key, "public", type(key).__name__)
    try:
        signed = base64.b64decode(_read(signature, "signature").strip(), validate=True)
    except (binascii.Error, ValueError):
        raise TraceError(f"{str(signature)!r} is no signature; make one with sign-trace") from None
    try:
        key.verify(signed, _message(trace))
    except InvalidSignature:
        return False
    return True


def _message(trace: Trace) -> bytes:
    return PREFIX + canonical_digest(trace).encode("ascii")


def _read(path: str | Path, what: str) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read(LARGEST)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise TraceError(f"cannot read {what} {str(path)[:200]!r}: {reason}") from None


def _wrong_key(path: str | Path, half: str, found: object) -> TraceError:
    return TraceError(
        f"{str(path)!r} is no {half} Ed25519 key in PEM without a password ({str(found).splitlines()[0][:80]}); make a "
        "pair with: openssl genpkey -algorithm ed25519 -out key.pem; openssl pkey -in key.pem -pubout -out public.pem"
    )


def _cryptography() -> tuple[Any, Any]:
    try:
        from cryptography.hazmat.primitives import serialization
        from cryptography.hazmat.primitives.asymmetric import ed25519
    except ImportError:
        raise TraceError("signatures need the package cryptography; pip install cryptography") from None
    return ed25519, serialization
