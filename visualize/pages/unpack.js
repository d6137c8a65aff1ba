/* Unpacks what visualize/pages/document.py packed: gzip in base 64.
 * The promise dsbdReady is fulfilled when the viewer's code, if the page carries it, has run. */
globalThis.dsbdUnpack = async (packed) => {
  const bytes = Uint8Array.from(atob(packed.trim()), (character) => character.charCodeAt(0));
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).text();
};

globalThis.dsbdRun = (source) => {
  const script = document.createElement("script");
  script.textContent = source;
  document.head.append(script);
  script.remove();
};

globalThis.dsbdReady = (async () => {
  const carried = document.getElementById("dsbd-viewer");
  if (carried) dsbdRun(await dsbdUnpack(carried.textContent));
})();
