/* An article: the viewer stands still, the cards scroll past it, and the card that is read says what it shows. */
(async () => {
  "use strict";

  const LINE = "-60% 0px -40% 0px"; // a card is read from when its upper edge crosses this line of the screen
  const cards = JSON.parse(document.getElementById("lesson").textContent);
  const root = document.querySelector(".article");
  const articles = [...root.querySelectorAll("main article")];

  document.documentElement.classList.add("live");
  await dsbdReady;
  const [viewer] = await DsbdHost.start();
  await DsbdCards.fill(root, viewer);

  function show(article) {
    const {it, step} = cards[articles.indexOf(article)];
    const lanes = article.querySelector(".lanes");
    root.classList.toggle("with-lanes", Boolean(lanes));
    root.classList.toggle("alone", Boolean(lanes?.classList.contains("alone")));
    viewer.handle.goto({it, step});
    DsbdCards.show(article, viewer);
  }

  show(articles[0]);
  const observer = new IntersectionObserver(
    (entries) => entries.filter((entry) => entry.isIntersecting).forEach((entry) => show(entry.target)),
    {rootMargin: LINE},
  );
  articles.forEach((article) => observer.observe(article));
})();
