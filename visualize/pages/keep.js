/* A page of a site is kept, with all others, for a time without network: not one in a frame, and not from a disk. */
{
  const {src} = document.currentScript;
  if (src.startsWith("http") && parent === globalThis.window) {
    navigator.serviceWorker?.register(new URL("../service-worker.js", src)).catch(() => {});
  }
}
