/* What leaves the page: a link, a page that stands alone, a trace, text for the clipboard. */

export const addressOf = (name, {own}) => new URL(`${own}/${name}`, document.baseURI).href;

/* The address that runs what the form holds; position: of the step that it shows, or nothing. */
export function linkTo([pair, prompt, method, ...values], facts, position) {
  const query = new URLSearchParams({prompt, method, pair});
  facts.fields.forEach((field, at) => {
    const isOwn = facts.reads[method].includes(field) && values[at] !== facts.defaults[field];
    if (isOwn) query.set(field, values[at]);
  });
  return `${location.origin}${location.pathname}?${query}${position ? `#${position}` : ""}`;
}

/* Shows a saved page in a page beside it. */
export const EMBED = '<iframe src="dsbd.html" title="A decode" style="width: 100%; height: 800px; border: 0"></iframe>';

export async function pageOf(trace, position, facts) {
  const template = await (await fetch(addressOf("page.html", facts))).text();
  const bytes = await globalThis.DsbdPage.gzipped(JSON.stringify(trace));
  let packed = "";
  for (const byte of bytes) packed += String.fromCharCode(byte);
  const here = {TRACE: btoa(packed), PLACE: position, HOME: location.origin + location.pathname};
  return template.replace(/(TRACE|PLACE|HOME)-OF-THE-READER/g, (_, name) => here[name]);
}

/* A file that was there goes as it is: JavaScript writes 4.0 as 4, and its digest would be another one. */
export async function saveTrace({file, name, trace}, facts) {
  const {save, gzipped} = globalThis.DsbdPage;
  if (file) return save(file.name, file, file.type);
  const isRecorded = facts.recorded.some((one) => one.name === name);
  const packed = isRecorded
    ? await (await fetch(addressOf(`traces/${name}.json.gz`, facts))).blob()
    : await gzipped(JSON.stringify(trace));
  save("trace.json.gz", packed, "application/gzip");
}

/* Says something below the choices of Share. */
export function sayShared(words) {
  document.querySelector(".play .share-note").textContent = words;
  document.querySelector(".play #share").open = true;
}

export async function copyLine(text, what) {
  const field = document.querySelector(".play .share-link");
  field.hidden = false;
  field.value = text;
  sayShared(`${await copyText(field)}. ${what}`);
}

/* Copy the text of an element. Without a clipboard (plain http, or not allowed) it is selected instead.
 * Returns what was done, as a word. */
export async function copyText(element) {
  try {
    await navigator.clipboard.writeText(element.value ?? element.textContent);
    return "Copied";
  } catch {
    if (element.select) element.select();
    else getSelection().selectAllChildren(element);
    return "Selected: press Ctrl+C";
  }
}
