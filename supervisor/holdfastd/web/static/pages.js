// Behaviour of the pages beyond plain HTML: local times, charts, keys, questions before a change that cannot be undone.
"use strict";

(() => {
  const zoned = new Intl.DateTimeFormat(undefined, { dateStyle: "short", timeStyle: "medium" });
  const parts = { year: "numeric", month: "2-digit", day: "2-digit", hour: "2-digit", minute: "2-digit", second: "2-digit" };
  const exact = new Intl.DateTimeFormat(undefined, { ...parts, fractionalSecondDigits: 3 }); // for what follows closely

  // What to write beside a moment in the reader's zone: its time in UTC, with the day where that is another one.
  function beside(moment) {
    if (moment.getTimezoneOffset() === 0) return "UTC";
    const [day, time] = moment.toISOString().split("T");
    return `${moment.getUTCDate() === moment.getDate() ? "" : `${day.slice(5)} `}${time.slice(0, 8)} UTC`;
  }

  function localTimes(root) {
    for (const each of root.querySelectorAll("time[datetime]:not([title])")) {
      const moment = new Date(each.dateTime);
      const [local, utc] = [document.createElement("span"), document.createElement("small")];
      local.textContent = (each.closest(".history, #events") ? exact : zoned).format(moment);
      utc.textContent = beside(moment);
      each.title = each.textContent;
      each.replaceChildren(local, " ", utc);
    }
  }

  const clock = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit" });
  const day = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short" });

  function moments(_, seconds) {
    const words = seconds.at(-1) - seconds[0] > 36 * 3600 ? day : clock;
    return seconds.map((at) => words.format(at * 1000));
  }

  const COLOURS = ["--line1", "--line2", "--line3", "--line4"];

  function colour(name) {
    return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  }

  // Places of values without a neighbour: a line does not show them.
  function lone(values) {
    return [...values.keys()].filter((at) => values[at] !== null && (values[at - 1] ?? values[at + 1] ?? null) === null);
  }

  function charts(root) {
    for (const figure of root.querySelectorAll("figure[data-chart]:not(:has(.uplot))")) {
      const chart = JSON.parse(figure.dataset.chart);
      figure.querySelector("svg")?.remove();
      const axis = { stroke: colour("--faint"), grid: { stroke: colour("--rule") }, ticks: { stroke: colour("--rule") } };
      const series = chart.names.map((name, index) => ({ label: name, stroke: colour(COLOURS[index % COLOURS.length]), width: 1.5, points: { show: true, filter: () => lone(chart.data[index + 1]) }, value: (_, value) => (value === null ? "-" : `${value.toPrecision(3)} ${chart.unit}`) }));
      new uPlot({ width: figure.clientWidth, height: 180, series: [{ label: "Time", value: (_, at) => (at === null ? "-" : zoned.format(at * 1000)) }, ...series], axes: [{ ...axis, values: moments }, { ...axis, size: 60 }] }, chart.data, figure);
    }
  }

  function enliven(root) {
    localTimes(root);
    charts(root);
  }

  // An element as the next answer has it again: a link, or the button of a form with the same fields.
  function likeness(element) {
    const fields = [...(element.form?.elements ?? [])].filter((each) => each.type === "hidden" && each.name !== "csrf");
    return [element.tagName, element.id, element.href, element.form?.action, element.textContent, ...fields.map((each) => `${each.name}=${each.value}`)].join("\n");
  }

  let focused = "";
  function rememberFocus(event) {
    const active = document.activeElement;
    focused = event.target.contains(active) && active !== event.target ? likeness(active) : "";
  }

  function giveFocusBack() {
    if (!focused || document.activeElement !== document.body) return;
    [...document.querySelectorAll("#live :is(a, button, summary)")].find((each) => likeness(each) === focused)?.focus({ preventScroll: true });
  }

  let before = "";
  function keys(event) {
    if (event.ctrlKey || event.altKey || event.metaKey || /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName)) return;
    if (event.key === "/") {
      document.querySelector("[data-key='/']")?.focus();
      event.preventDefault();
    } else if (before === "g") {
      document.querySelector(`nav a[data-key='${CSS.escape(event.key)}']`)?.click();
    }
    before = event.key;
  }

  document.addEventListener("DOMContentLoaded", () => {
    enliven(document);
    const nav = document.querySelector("header nav");
    const current = nav?.querySelector("[aria-current]");
    if (current) nav.scrollLeft = current.offsetLeft - nav.clientWidth / 2;
  });
  document.addEventListener("htmx:beforeSwap", rememberFocus);
  document.addEventListener("htmx:beforeRequest", (event) => {
    if (document.hidden) event.preventDefault();
  });
  document.addEventListener("htmx:afterSwap", () => {
    enliven(document);
    giveFocusBack();
  });
  document.addEventListener("keydown", keys);
  document.addEventListener("submit", (event) => {
    const question = event.target.dataset.confirm;
    if (question && !window.confirm(question)) event.preventDefault();
  });
})();
