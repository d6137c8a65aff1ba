/* The frame of a lesson. When it has loaded, it becomes as tall as its page, so that only the tab scrolls. On a narrow
 * screen it keeps its height, because there the viewer's controls stay at the lower edge of the frame. */
const WIDE = "(min-width: 1100px)";

element.addEventListener(
  "load",
  ({target: frame}) => {
    if (!frame.matches?.(".learn-frame")) return;
    frame.previousElementSibling.hidden = true;
    const {body} = frame.contentDocument;
    const fit = () => {
      const wide = frame.contentWindow?.matchMedia(WIDE).matches;
      frame.style.height = wide ? `${Math.ceil(body.getBoundingClientRect().height) + 4}px` : "";
    };
    new frame.contentWindow.ResizeObserver(fit).observe(body);
    fit();
  },
  true,
);
