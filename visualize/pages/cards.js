/* What cards show beside their text: cut and fill at a layer, the lab, and the two lanes of the viewer. */
globalThis.DsbdCards = {
  async fill(root, viewer) {
    "use strict";
    for (const place of root.querySelectorAll(".cut")) {
      place.append(viewer.handle.cutFill({it: Number(place.dataset.it), layer: Number(place.dataset.layer)}));
    }
    const lab = document.getElementById("lab-script");
    if (lab) dsbdRun(await dsbdUnpack(lab.textContent));
  },
  show(card, viewer) {
    viewer.handle.lanes(Boolean(card.querySelector(".lanes")));
  },
};
