"""One stand-alone HTML file with the viewer and the scene; it asks the network for nothing."""

import html
import json
import shutil
from pathlib import Path
from typing import Any, Literal

from dsbd.errors import TraceError
from dsbd.tracing.trace import Trace
from visualize.assets import plotly_js_path, viewer_assets
from visualize.builder import build_scene
from visualize.scene import Scene

PLOTLY_FILE = "plotly.min.js"
_ESCAPES = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}

_PAGE = """<!doctype html>
<html lang="{language}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; script-src 'unsafe-inline'{beside}; \
style-src 'unsafe-inline'; img-src data: blob:; font-src data:; base-uri 'none'; form-action 'none'">
<title>{title}</title>
<link rel="icon" href="data:,">
<style>
{css}
html {{ color-scheme: light dark; }}
body {{ margin: 0; background: #fffffe; }}
main {{ max-width: 1360px; margin: 0 auto; padding: clamp(10px, 2.5vw, 32px); }}
@media (prefers-color-scheme: dark) {{ body {{ background: #14171b; }} }}
</style>
{plotly}
</head>
<body>
<main id="viewer"></main>
<noscript>{text}</noscript>
<script id="scene" type="application/json">{scene}</script>
<script>
{js}</script>
<script>
{start}</script>
</body>
</html>
"""

# The place is kept in the address, so that a link leads back to a step; a page around a frame may step it.
_START = """(() => {
  const scene = JSON.parse(document.getElementById("scene").textContent);
  const handle = DsbdViewer.mount(document.getElementById("viewer"), scene, {hash: true});
  addEventListener("message", ({data}) => { if (data && data.type === "dsbd:goto") handle.goto(data); });
})();
"""


def export_html(
    source: Trace | str | Path,
    path: str | Path,
    *,
    plotly: Literal["inline", "beside"] = "inline",
    language: str = "en",
) -> None:
    """Write the viewer with this trace as one HTML file.

    Args:
        source: a trace, or the path of a trace file.
        path: the HTML file to write.
        plotly: ``inline`` puts Plotly into the file (about 5 MB); ``beside`` writes ``plotly.min.js`` next to it.
        language: that the page opens in.

    Raises:
        TraceError: the source is no trace, or the file cannot be written.
        ValueError: ``plotly`` is neither of its two values, or there are no sentences in this language.
    """
    page = html_page(build_scene(source, language=language), plotly=plotly)
    try:
        Path(path).write_text(page, encoding="utf-8", errors="surrogatepass")
        if plotly == "beside":
            shutil.copyfile(plotly_js_path(), Path(path).parent / PLOTLY_FILE)
    except OSError as error:
        raise TraceError(f"cannot write {str(path)!r}: {error.strerror or error}") from None


def html_page(scene: Scene, *, plotly: Literal["inline", "beside"] = "inline") -> str:
    """The page as a string. Raises: ValueError for an unknown ``plotly``."""
    if plotly not in ("inline", "beside"):
        raise ValueError(f"plotly is {plotly!r}; choose 'inline' or 'beside'")
    assets = viewer_assets()
    if plotly == "inline":
        script = f"<script>{_inline(plotly_js_path().read_text(encoding='utf-8'))}</script>"
    else:
        script = f'<script src="{PLOTLY_FILE}"></script>'
    result = scene.result[0].text if scene.result else ""
    return _PAGE.format(
        language=scene.strings["language"],
        title=html.escape(f"DSBD · {scene.title}" if scene.title else "DSBD"),
        beside=" 'self' file:" if plotly == "beside" else "",
        css=assets["css"],
        plotly=script,
        text=html.escape("".join(scene.prompt) + result),
        scene=embedded_json(scene.to_dict()),
        js=_inline(assets["js_classic"]),
        start=_START,
    )


def embedded_json(data: Any) -> str:
    """JSON that cannot end the script element it stands in, whatever its strings hold."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return "".join(_ESCAPES.get(character, character) for character in text)


def _inline(script: str) -> str:
    """A script's source inside a script element: the one sequence that would end it, written another way."""
    return script.replace("</script", "<\\/script").replace("<!--", "<\\!--")
