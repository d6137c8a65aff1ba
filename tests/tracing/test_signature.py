"""Signatures: good for the trace and key they were made with, and for nothing else."""

import json
import sys
from dataclasses import replace

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519

from dsbd.assets import asset_path
from dsbd.tracing.trace import Trace, canonical_digest
from tests.command_line import refused, run

RECORDED = asset_path("traces") / "6-beam-sampling.json.gz"


def write_keys(folder, name: str, private=None) -> tuple[str, str]:
    """Paths of a new private and public key."""
    private = private or ed25519.Ed25519PrivateKey.generate()
    pem, plain = serialization.Encoding.PEM, serialization.NoEncryption()
    (folder / f"{name}.pem").write_bytes(private.private_bytes(pem, serialization.PrivateFormat.PKCS8, plain))
    public = private.public_key().public_bytes(pem, serialization.PublicFormat.SubjectPublicKeyInfo)
    (folder / f"{name}.pub").write_bytes(public)
    return str(folder / f"{name}.pem"), str(folder / f"{name}.pub")


@pytest.fixture
def keys(tmp_path) -> tuple[str, str]:
    return write_keys(tmp_path, "own")


@pytest.fixture
def file(tmp_path) -> str:
    """A copy of a recorded trace."""
    Trace.load(RECORDED).save(tmp_path / "t.json.gz")
    return str(tmp_path / "t.json.gz")


def test_a_signed_trace_is_good_for_its_key(capsys, file, keys):
    """Catches a signature that the command line cannot check again."""
    assert run(capsys, "sign-trace", file, "--key", keys[0])[0] == 0
    code, out, _ = run(capsys, "verify-trace", file, "--public-key", keys[1])
    assert (code, "the signature is good" in out) == (0, True)
    code, out, _ = run(capsys, "verify-trace", file, "--public-key", keys[1], "--json")
    assert (code, json.loads(out)["signed"]) == (0, True)


def test_packing_a_trace_again_keeps_its_signature(capsys, file, keys, tmp_path):
    """Catches a signature of the file instead of the record."""
    run(capsys, "sign-trace", file, "--key", keys[0])
    plain = str(tmp_path / "t.json")
    Trace.load(file).save(plain)
    code, _, _ = run(capsys, "verify-trace", plain, "--public-key", keys[1], "--signature", file + ".sig")
    assert code == 0


def test_an_altered_trace_is_not_the_signed_one(capsys, file, keys):
    """Catches a check of the digest as written instead of the digest that follows."""
    run(capsys, "sign-trace", file, "--key", keys[0])
    trace = Trace.load(file)
    altered = replace(trace, software={"python": "4"}, digest="")
    replace(altered, digest=canonical_digest(altered)).save(file)
    assert run(capsys, "verify-trace", file)[0] == 0
    code, out, _ = run(capsys, "verify-trace", file, "--public-key", keys[1])
    assert (code, "not of this trace and key" in out) == (1, True)
    replace(altered, digest=trace.digest).save(file)
    assert run(capsys, "verify-trace", file, "--public-key", keys[1])[0] == 1


def test_another_key_does_not_vouch(capsys, file, keys, tmp_path):
    """Catches a check that takes any signature."""
    run(capsys, "sign-trace", file, "--key", keys[0])
    other = write_keys(tmp_path, "other")
    assert run(capsys, "verify-trace", file, "--public-key", other[1])[0] == 1


def test_a_trace_that_does_not_follow_is_not_signed(capsys, file, keys, tmp_path):
    """Catches a signature under what the audit refuses."""
    replace(Trace.load(file), digest="sha256:0").save(file)
    code, out, _ = run(capsys, "sign-trace", file, "--key", keys[0])
    assert (code, "not signed" in out) == (1, True)
    assert not (tmp_path / "t.json.gz.sig").exists()


def test_what_is_no_key_or_signature_is_refused_in_one_line(capsys, file, keys, tmp_path):
    """Catches a traceback for a wrong file."""
    elliptic = write_keys(tmp_path, "elliptic", ec.generate_private_key(ec.SECP256R1()))
    (tmp_path / "empty.pem").write_text("")
    for private in (elliptic[0], keys[1], str(tmp_path / "empty.pem"), file):
        assert "no private Ed25519 key" in refused(capsys, "sign-trace", file, "--key", private)
    assert "cannot read private key" in refused(capsys, "sign-trace", file, "--key", str(tmp_path / "none"))
    assert "cannot read signature" in refused(capsys, "verify-trace", file, "--public-key", keys[1])
    run(capsys, "sign-trace", file, "--key", keys[0])
    for public in (elliptic[1], keys[0], str(tmp_path / "empty.pem")):
        assert "no public Ed25519 key" in refused(capsys, "verify-trace", file, "--public-key", public)
    (tmp_path / "t.json.gz.sig").write_text("!!")
    assert "no signature" in refused(capsys, "verify-trace", file, "--public-key", keys[1])
    assert "--public-key" in refused(capsys, "verify-trace", file, "--signature", file)


def test_a_missing_package_is_named(capsys, file, keys, monkeypatch):
    """Catches an ImportError where the extra is not installed."""
    for name in [name for name in sys.modules if name.split(".")[0] == "cryptography"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "cryptography", None)
    assert "pip install cryptography" in refused(capsys, "sign-trace", file, "--key", keys[0])
    assert "pip install cryptography" in refused(capsys, "verify-trace", file, "--public-key", keys[1])
