/* Plays a race on its own clock: the marks are there, finished; this only hides what has not happened yet. */
const {counted} = globalThis.DsbdPage;
const still = matchMedia("(prefers-reduced-motion: reduce)");

function mount(race) {
  const whole = Number(race.dataset.seconds);
  const find = (name) => race.querySelector(`.race-${name}`);
  const [play, scrub, clock, transport] = ["play", "scrub", "clock", "transport"].map(find);
  const shownSeconds = whole * Number(transport.dataset.slower);
  const lanes = [...race.querySelectorAll(".race-lane")].map((lane) => ({
    ends: Number(lane.dataset.ends),
    isPhased: !("unphased" in lane.dataset),
    count: lane.querySelector(".race-count"),
    finished: lane.querySelector(".race-count").textContent,
    commits: [...lane.querySelectorAll("[data-at]")].map((span) => ({
      span,
      at: Number(span.dataset.at),
      tokens: Number(span.dataset.tokens),
    })),
  }));
  let now = 1;
  let frame = 0;

  function show(at) {
    now = Math.min(1, Math.max(0, at));
    race.style.setProperty("--race-at", now);
    race.classList.toggle("race-finished", now >= 1);
    scrub.value = Math.round(1000 * now);
    const seconds = whole < 1 ? `${Math.round(1000 * whole * now)} ms` : `${(whole * now).toFixed(1)} s`;
    clock.textContent = seconds;
    scrub.setAttribute("aria-valuetext", seconds);
    for (const lane of lanes) {
      let tokens = 0;
      let passes = 0;
      for (const one of lane.commits) {
        const isThere = one.at <= now + 1e-6;
        one.span.classList.toggle("to-come", !isThere);
        if (isThere) {
          tokens += one.tokens;
          passes += 1;
        }
      }
      const written = counted(tokens, "token");
      const running = lane.isPhased ? `${written} in ${counted(passes, "pass")}` : written;
      lane.count.textContent = now >= lane.ends - 1e-4 ? lane.finished : running;
    }
  }

  function pause() {
    cancelAnimationFrame(frame);
    frame = 0;
    play.textContent = "Play back";
  }

  function start() {
    if (still.matches) return;
    if (now >= 1) show(0);
    play.textContent = "Pause";
    let before = performance.now();
    const step = (time) => {
      if (!race.isConnected) return;
      show(now + Math.max(0, time - before) / 1000 / shownSeconds);
      before = time;
      if (now < 1) frame = requestAnimationFrame(step);
      else pause();
    };
    frame = requestAnimationFrame(step);
  }

  play.hidden = still.matches;
  play.addEventListener("click", () => (frame ? pause() : start()));
  scrub.addEventListener("input", () => {
    pause();
    show(Number(scrub.value) / 1000);
  });
  show(1);
  if ("plays" in race.dataset) start();
  race.dataset.mounted = "";
}

/* Each race has new elements: the page would patch those of the last one, and keep what it hid. */
const holder = element.querySelector(".race-mount");
let shown = "";

function take() {
  if (props.value === shown) return;
  shown = props.value;
  holder.innerHTML = shown;
  const race = holder.querySelector(".race");
  if (race) mount(race);
}
watch("value", take);
take();
