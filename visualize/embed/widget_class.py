"""The class behind ``visualize.widget``. Only this module imports anywidget."""

from importlib import resources
from typing import Any

import anywidget
import traitlets

from visualize.pages import page_file
from visualize.pages.plotly_script import packed_plotly
from visualize.viewer.assets import viewer_assets

_ASSETS = viewer_assets()
_OWN = (resources.files("visualize") / "embed" / "widget.js").read_text(encoding="utf-8")


class ViewerWidget(anywidget.AnyWidget):
    """A viewer of one scene."""

    _esm = "\n".join([page_file("unpack.js"), _ASSETS["js"], _OWN])
    _css = _ASSETS["css"]
    scene = traitlets.Dict().tag(sync=True)
    it = traitlets.Int(0, min=0).tag(sync=True)
    step = traitlets.Int(0, min=0).tag(sync=True)

    def __init__(self, **values: Any) -> None:
        super().__init__(**values)
        self.on_msg(self._answer)

    def _answer(self, _: Any, content: Any, buffers: Any) -> None:
        if isinstance(content, dict) and content.get("dsbd") == "plotly":
            self.send({"dsbd": "plotly", "packed": packed_plotly()})
