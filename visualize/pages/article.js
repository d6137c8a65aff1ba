/* An article: the viewer stands still, the cards scroll past it, and the card that is read says what it shows. */
(async () => {
  "use strict";

  const isNarrow = globalThis.matchMedia("(max-width: 900px)").matches; // as in article.css
  const line = isNarrow ? 80 : 60; // percent of the screen: a card is read from when its upper edge crosses it
  const root = document.querySelector(".article");
  const articles = [...root.querySelectorAll("main article")];

  document.documentElement.classList.add("live");
  await dsbdReady;
  const viewer = await DsbdHost.start();
  await DsbdCards.fill(root, viewer);

  function show(article) {
    const [it, step] = JSON.parse(article.dataset.stop).at;
    const lanes = article.querySelector(".lanes");
    root.classList.toggle("with-lanes", Boolean(lanes));
    root.classList.toggle("alone", Boolean(lanes?.classList.contains("alone")));
    viewer.handle.goto({it, step});
    DsbdCards.show(article, viewer);
    const {clientWidth: width, clientHeight: height} = root.querySelector(".forest");
    DsbdCards.enlarge(root, {width, height, text: 19});
  }

  show(articles[0]);
  const observer = new IntersectionObserver(
    (entries) => entries.filter((entry) => entry.isIntersecting).forEach((entry) => show(entry.target)),
    {rootMargin: `-${line}% 0px ${line - 100}% 0px`},
  );
  articles.forEach((article) => observer.observe(article));
})();
