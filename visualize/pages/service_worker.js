/* Keeps a site, and what its live page has loaded, so that it works with the network off afterwards. The network comes
 * first: a site that was written again is seen at once. It stands beside the index: it serves what lies below it. */
const KEPT = "dsbd-live";
const FILES = []; // of the site

addEventListener("install", (event) => {
  self.skipWaiting();
  event.waitUntil(caches.open(KEPT).then((kept) => Promise.allSettled(["./", ...FILES].map((file) => kept.add(file)))));
});
addEventListener("activate", (event) => event.waitUntil(self.clients.claim()));

/* A page names the files that it had loaded before this worker began. */
addEventListener("message", ({data}) => {
  const own = data.filter((address) => address.startsWith(registration.scope));
  return caches.open(KEPT).then((kept) => Promise.allSettled(own.map((address) => kept.add(address))));
});

async function answer(request) {
  const kept = await caches.open(KEPT);
  try {
    const response = await fetch(request);
    if (response.status === 200) kept.put(request, response.clone());
    return response;
  } catch (error) {
    const response = await kept.match(request, {ignoreSearch: true});
    if (response) return response;
    throw error;
  }
}

addEventListener("fetch", (event) => {
  if (event.request.method === "GET" && event.request.url.startsWith(registration.scope)) {
    event.respondWith(answer(event.request));
  }
});
