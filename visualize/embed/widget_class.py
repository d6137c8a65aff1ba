"""The class behind ``visualize.widget``. Only this module imports anywidget."""

import base64
from importlib import resources
from typing import Any

import anywidget
import traitlets

from visualize.pages import page_file
from visualize.pages.plotly_script import packed_plotly
from visualize.viewer.bundle import viewer_assets

_ASSETS = viewer_assets()
_OWN = (resources.files("visualize") / "embed" / "widget.js").read_text(encoding="utf-8")


class ViewerWidget(anywidget.AnyWidget):
    """A viewer of one scene."""

    _esm = "\n".join([page_file("unpack.js"), _ASSETS["js"], _OWN])
    _css = _ASSETS["css"]
    scene = traitlets.Dict().tag(sync=True)
    it = traitlets.Int(0, min=0).tag(sync=True)
    step = traitlets.Int(0, min=0).tag(sync=True)

    def __init__(self, picture: str, **values: Any) -> None:
        super().__init__(**values)
        self._picture = picture
        self.on_msg(self._answer)

    def __repr__(self) -> str:
        return f"ViewerWidget(it={self.it}, step={self.step})"

    def _repr_mimebundle_(self, **options: Any) -> Any:
        """Add a picture of the forest for saved notebooks, where no widget runs."""
        packed = base64.b64encode(self._picture.encode("utf-8")).decode("ascii")
        still = f'<img alt="DSBD: the forest of one iteration" src="data:image/svg+xml;base64,{packed}">'
        data, metadata = super()._repr_mimebundle_(**options) or ({}, {})
        return {**data, "text/html": still, "image/svg+xml": self._picture}, metadata

    def _answer(self, _: Any, content: Any, buffers: Any) -> None:
        if isinstance(content, dict) and content.get("dsbd") == "plotly":
            self.send({"dsbd": "plotly", "packed": packed_plotly()})
