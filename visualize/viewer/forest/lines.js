/* Text in lines of an SVG drawing, token by token. */

/* What a token adds to a line of text. */
export const typed = ({text, pending}, isLast) => `${text}${isLast ? pending : ""}`.replace(/\s/g, " ");

/* The places of the tokens in lines no longer than the room: a line begins with a word, where one word fits a line. */
export function broken(spans, wide, room) {
  const rows = [[]];
  let used = 0;
  let word = [];
  const length = (places) => places.reduce((sum, place) => sum + wide[place], 0);
  const add = (places) => {
    if (used && used + length(places) > room) {
      rows.push([]);
      used = 0;
    }
    rows[rows.length - 1].push(...places);
    used += length(places);
  };
  const end = () => {
    if (length(word) <= room) add(word);
    else word.forEach((place) => add([place]));
    word = [];
  };
  spans.forEach((span, place) => {
    if (/^\s/.test(span.textContent)) end();
    word.push(place);
  });
  end();
  return rows;
}

/* A line below a token, without the space before it. */
export function extent(span) {
  const text = span.textContent;
  const from = text.length - text.trimStart().length;
  const boxes = [];
  for (let at = from; at < text.length; at++) boxes.push(span.getExtentOfChar(at));
  if (!boxes.length) return "";
  const left = Math.min(...boxes.map(({x}) => x));
  const right = Math.max(...boxes.map(({x, width}) => x + width));
  return `M${left},3.5H${right}`;
}
