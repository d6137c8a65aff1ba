/* The running text. Tokens are untrusted: they enter the page through textContent only. */
const {follow, isAsked, make} = globalThis.DsbdPage;
const line = element.querySelector(".running-line");
const WORDS = {
  accepted: "a guess of the small model that was kept",
  carried: "a guess of the small model, kept with those before it",
  recovered: "picked by the large model, where the guesses ran out",
  fresh: "picked by the large model, to keep as many versions as planned",
  bonus: "picked by the large model, after every guess had passed",
};

function show(message, text) {
  const parts = [make("span", "text-prompt", text.prompt)];
  let settled = true;
  for (const token of text.tokens) {
    if (settled && !token.settled) parts.push(edge());
    settled = token.settled;
    const span = make("span", `mark mark-${token.origin}${settled ? "" : " mark-open"}`, token.text);
    span.title = `${WORDS[token.origin]}${settled ? "" : ", may still change"}`;
    parts.push(span);
  }
  if (text.ended) {
    const end = make("span", "text-end", " ∎");
    end.title = "the text ended by itself";
    parts.push(end);
  }
  if (message.live) parts.push(make("span", "text-caret"));
  line.replaceChildren(...parts);
}
follow(props, watch, show, {news: isAsked});

/* A decode that ran in this browser (live.js): its best version, or the likeliest so far. */
document.addEventListener("dsbd-live-shown", ({detail: {text, isRunning}}) => {
  const tokens = text.tokens.map((token) => ({...token, settled: !isRunning}));
  show({live: isRunning}, {...text, tokens});
});

function edge() {
  const mark = make("span", "text-edge");
  mark.title = "settled up to here";
  return mark;
}
