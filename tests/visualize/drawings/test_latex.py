"""TikZ: every node is there, and no token text is ever a command."""

import re
import shutil
import subprocess

import pytest

import visualize
from tests.visualize.nasty import NASTY, nasty_trace
from tests.visualize.toy import toy_trace
from visualize.drawings.tikz import tex

TRACE = toy_trace()
COMMANDS = {
    "textbackslash", "textasciitilde", "textasciicircum", "textless", "textgreater", "textbar", "textvisiblespace",
    "ensuremath", "hookleftarrow", "mapsto", "ldots", "times", "geq", "leq", "cdot", "langle", "rangle", "emptyset",
}  # fmt: skip


@pytest.mark.parametrize(
    "text", [*NASTY, r"\input{/etc/passwd}", "100% $x_1^2$ {#&~}", "你好 שלום", "a\\", "^^41", "naïve Ð"]
)
def test_tex_text_is_plain(text):
    """Catches a token that LaTeX reads as a command, a comment, or a character its fonts do not have."""
    shown = tex(text)
    assert set(re.findall(r"\\([a-z]+)", shown)) <= COMMANDS
    bare = re.sub(r"\\[a-z]+|\\[{}$&#_%`]|\{\}", "", shown)
    assert not set(bare) & set("\\$&#_%~^\x00")
    assert all(sign.isascii() or sign in "naïve" for sign in bare)
    braces = re.sub(r"\\[{}]", "", shown)
    assert braces.count("{") == braces.count("}")


@pytest.fixture(params=[TRACE, nasty_trace()], ids=["toy", "nasty"])
def trace(request):
    return request.param


def test_tikz_draws_every_node_and_edge(trace):
    source = visualize.forest_tikz(trace, 1)
    nodes = visualize.scene(trace).iterations[1].nodes
    assert source.count(r"\ttfamily") == len(nodes)
    assert source.count(".. controls") == sum(node.parent >= 0 for node in nodes)
    assert source.count(r"\begin{tikzpicture}") == source.count(r"\end{tikzpicture}") == 1
    assert "no passes" in visualize.forest_tikz(visualize.SceneBuilder(None).scene())


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="runs wherever pdflatex with TikZ is installed")
def test_tikz_compiles(trace, tmp_path):
    """Catches a document that LaTeX stops at."""
    for iteration in range(len(trace.iterations)):
        (tmp_path / "forest.tex").write_text(visualize.forest_tikz(trace, iteration), encoding="utf-8")
        command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "-no-shell-escape", "forest.tex"]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, errors="replace")
        assert done.returncode == 0, done.stdout[-1500:]
        assert "(1 page" in done.stdout
