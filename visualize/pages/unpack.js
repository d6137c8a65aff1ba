/* Unpacks the text that visualize/pages/compressed.py packed: gzip in base 85.
 * The promise dsbdReady is fulfilled when the viewer that the page carries, if it carries one, has run.
 */
globalThis.dsbdUnpack = async (packed) => {
  const signs = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%,()*+-;.=:?@^_`{|}~";
  const value = new Uint8Array(128);
  [...signs].forEach((sign, at) => {
    value[sign.charCodeAt(0)] = at;
  });
  const text = packed.trim();
  const count = ((text.length - 1) / 5) * 4;
  const bytes = new DataView(new ArrayBuffer(count));
  for (let from = 1, to = 0; from < text.length; from += 5, to += 4) {
    let number = 0;
    for (let at = from; at < from + 5; at++) number = number * 85 + value[text.charCodeAt(at)];
    bytes.setUint32(to, number);
  }
  const content = bytes.buffer.slice(0, count - Number(text[0]));
  return new Response(new Blob([content]).stream().pipeThrough(new DecompressionStream("gzip"))).text();
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
