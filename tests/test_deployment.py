"""What a push to a Hugging Face Space needs: front matter and versions; and what the wheel requires."""

import re
import sys
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.version import Version

from dsbd.models.smollm2 import FILES, REPOSITORY, REVISION

ROOT = Path(__file__).resolve().parents[1]
FIELDS = {"title", "emoji", "colorFrom", "colorTo", "sdk", "sdk_version", "python_version", "app_file",
          "short_description", "license", "suggested_hardware", "tags", "preload_from_hub"}  # fmt: skip
"""Fields of https://huggingface.co/docs/hub/spaces-config-reference; add one before it is used."""
ZEROGPU_TORCH = ("2.8.0", "2.11.0", "2.12.1", "2.13.0")
"""Versions of torch that https://huggingface.co/docs/hub/spaces-zerogpu lists; not all that it lists."""
ZEROGPU_PYTHON = ("3.10", "3.12")


GIVEN = yaml.safe_load((ROOT / "README.md").read_text(encoding="utf-8").split("---\n")[1])


def requirements(name: str) -> dict[str, Requirement]:
    lines = (ROOT / name).read_text(encoding="utf-8").splitlines()
    found = [Requirement(line) for line in lines if line.strip() and not line.startswith("#")]
    return {one.name: one for one in found}


def test_the_front_matter_has_documented_fields_and_installs_what_the_project_accepts():
    """Catches a field that Hugging Face ignores, or refuses the push for, and a model that no page looks for; a version
    of Gradio or Python that requirements.txt or pyproject.toml refuses; a pin of torch that requirements.txt would
    replace, or that ZeroGPU does not have, and a bound that was raised before anybody looked at the list."""
    assert GIVEN.keys() <= FIELDS
    assert (GIVEN["sdk"], GIVEN["app_file"]) == ("gradio", "app.py")
    assert len(GIVEN["short_description"]) <= 60
    assert GIVEN["preload_from_hub"] == [f"{REPOSITORY} {','.join(FILES)} {REVISION}"]
    first, wanted = requirements("pre-requirements.txt"), requirements("requirements.txt")
    assert wanted["gradio"].specifier.contains(GIVEN["sdk_version"])
    supported = re.search(r'requires-python = "(.+?)"', (ROOT / "pyproject.toml").read_text(encoding="utf-8"))[1]
    assert Requirement(f"python{supported}").specifier.contains(GIVEN["python_version"])
    assert GIVEN["python_version"] in ZEROGPU_PYTHON
    assert set(first) == {"torch"}
    (pin,) = first["torch"].specifier
    assert (pin.operator, pin.version in ZEROGPU_TORCH) == ("==", True)
    assert wanted["torch"].specifier.contains(pin.version)
    assert str(max(Version(one.version) for one in wanted["torch"].specifier)) in ZEROGPU_TORCH


@pytest.mark.skipif(sys.version_info < (3, 11), reason="runs on Python 3.11 and later, which read TOML")
def test_the_clone_installs_what_the_wheel_and_its_extras_require():
    """Catches a requirement that the wheel lacks, one that the app lacks, and a bound in one place only."""
    import tomllib

    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    wheel = {one.name: one for one in map(Requirement, [*project["dependencies"], *extras["page"], *extras["onnx"]])}
    clone = requirements("requirements.txt")
    assert str(wheel.pop("torch")) == "torch>=2.8"
    assert clone.pop("torch").specifier.contains("2.8")
    assert wheel == clone
