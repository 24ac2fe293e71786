// Behaviour of the pages beyond plain HTML: local times, charts, keys, questions before a change that cannot be undone.
"use strict";

(() => {
  const shortly = { day: "numeric", month: "short", hour: "2-digit", minute: "2-digit", second: "2-digit" };
  const zoned = new Intl.DateTimeFormat(undefined, shortly);
  const exact = new Intl.DateTimeFormat(undefined, { ...shortly, fractionalSecondDigits: 3 }); // for what follows closely

  const timeOfDay = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit", second: "2-digit" });
  const wholeDay = new Intl.DateTimeFormat(undefined, { weekday: "long", day: "numeric", month: "long" });

  const DISTANCES = [[86400, "d"], [3600, "h"], [60, "min"], [1, "s"]];

  // As the server says it: `4 min ago`, `in 2 h`.
  function distance(seconds) {
    const found = DISTANCES.find(([length]) => Math.abs(seconds) >= length);
    if (!found) return "now";
    const words = `${(Math.abs(seconds) / found[0]).toFixed(0)} ${found[1]}`;
    return seconds > 0 ? `in ${words}` : `${words} ago`;
  }

  function utc(moment) {
    return `${moment.toISOString().slice(0, 19).replace("T", " ")} UTC`;
  }

  function localTimes(root) {
    for (const each of root.querySelectorAll("time[datetime]:not([data-known])")) {
      const moment = new Date(each.dateTime);
      const local = (each.closest("#events") ? timeOfDay : each.closest(".history") ? exact : zoned).format(moment);
      each.dataset.known = "";
      each.title = each.closest("#events") ? `${exact.format(moment)} · ${utc(moment)}` : each.className === "exact" ? utc(moment) : `${local} · ${utc(moment)}`;
      if (each.className === "exact") each.textContent = local;
    }
  }

  // Events show the time of day; each day has a row above its events.
  function days(root) {
    for (const old of root.querySelectorAll("#events tr.day")) old.remove();
    let last = wholeDay.format(Date.now());
    for (const row of root.querySelectorAll("#events tr:has(time)")) {
      const day = wholeDay.format(new Date(row.querySelector("time").dateTime));
      if (day !== last) {
        const divider = document.createElement("tr");
        divider.className = "day";
        divider.insertCell().colSpan = 5;
        divider.cells[0].textContent = day;
        row.before(divider);
      }
      last = day;
    }
  }

  function tick() {
    for (const each of document.querySelectorAll("time[datetime]:not(.exact, .offset)")) each.textContent = distance((new Date(each.dateTime) - Date.now()) / 1000);
  }

  const clock = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit" });
  const day = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short" });

  function moments(_, seconds) {
    const words = seconds.at(-1) - seconds[0] > 36 * 3600 ? day : clock;
    return seconds.map((at) => words.format(at * 1000));
  }

  // A number of a chart in its unit: `50ms`, `2.5s`, `3 %`.
  function words(value, unit) {
    if (unit === "s") return value === 0 ? "0" : value < 1 ? `${Number((value * 1000).toPrecision(3))}ms` : value < 120 ? `${Number(value.toPrecision(3))}s` : `${Number((value / 60).toPrecision(2))}m`;
    return `${Number(value.toPrecision(3))}${unit === "%" ? " %" : unit}`;
  }

  const FONT = "11px Inter, system-ui, sans-serif";

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
      const series = chart.names.map((name, index) => ({ label: name, stroke: colour(`--line${chart.colours[index]}`), width: 1.5, points: { show: true, filter: () => lone(chart.data[index + 1]) } }));
      const keys = [...figure.querySelectorAll(".key")];
      const names = keys.map((key) => key.textContent);
      const told = (plot) => keys.forEach((key, index) => {
        const value = plot.cursor.idx === null ? null : chart.data[index + 1][plot.cursor.idx];
        key.textContent = value === null || value === undefined ? names[index] : `${names[index]} ${words(value, chart.unit)}`;
        figure.querySelector("figcaption .at").textContent = plot.cursor.idx === null ? "" : zoned.format(chart.data[0][plot.cursor.idx] * 1000);
      });
      const plot = new uPlot({ width: figure.clientWidth || 300, height: figure.closest(".in-one-row") ? 96 : 130, legend: { show: false }, cursor: { y: false, points: { size: 6 } }, scales: { x: { range: (_, from, to) => chart.window ?? [from, to] }, y: { range: (_, __, most) => [0, most > 0 ? most * 1.1 : 1] } }, series: [{}, ...series], axes: [{ ...axis, values: moments, font: FONT, space: 70, size: 28 }, { ...axis, size: (_, texts) => 24 + 6.5 * Math.max(4, ...(texts ?? []).map((each) => each.length)), font: FONT, space: 24, values: (_, at) => at.map((each) => words(each, chart.unit === "/s" ? "" : chart.unit)) }], hooks: { setCursor: [told] } }, chart.data, figure);
      if (chart.tasks) plot.over.addEventListener("click", () => {
        const at = plot.cursor.idx;
        if (at === null) return;
        const [from, to] = [chart.data[0][at], chart.data[0][at + 1] ?? Date.now() / 1000];
        location.href = `${chart.tasks}newer=${Math.ceil(Date.now() / 1000 - from)}s&older=${Math.max(0, Math.floor(Date.now() / 1000 - to))}s`;
      });
    }
  }

  // The time by another zone's clock is said only where it differs from the reader's.
  function otherZones(root) {
    const own = Intl.DateTimeFormat().resolvedOptions().timeZone;
    for (const each of root.querySelectorAll("[data-zone]")) each.hidden = each.dataset.zone === own;
  }

  // On a phone a table has no head: each number and time says the name of its column. A name that is cut is whole on hover.
  function nameCells(root) {
    for (const table of root.querySelectorAll(".scroll table:has(thead)")) {
      const names = [...table.tHead.rows[0].cells].map((cell) => cell.textContent.trim().toLowerCase());
      for (const cell of table.querySelectorAll("tbody td:is(.number, :has(> time:first-child:not(.exact)))")) cell.dataset.name ??= names[cell.cellIndex];
    }
    for (const cut of root.querySelectorAll(".scroll tbody th > a")) if (cut.scrollWidth > cut.clientWidth) cut.title ||= cut.textContent;
  }

  // A box in the head of a list ticks all its rows; the bar above the list says how many are ticked.
  function chooseAll(root) {
    for (const head of root.querySelectorAll("thead th.choose:not(:has(input))")) {
      const table = head.closest("table");
      const all = Object.assign(document.createElement("input"), { type: "checkbox", ariaLabel: "Choose all that are shown" });
      const boxes = () => [...table.querySelectorAll("tbody input[name=task_id]")];
      const tell = () => {
        const ticked = boxes().filter((each) => each.checked).length;
        all.checked = ticked > 0 && ticked === boxes().length;
        all.indeterminate = ticked > 0 && !all.checked;
        for (const each of document.querySelectorAll("[data-selected]")) each.textContent = `${ticked} selected`;
      };
      all.addEventListener("change", () => {
        for (const each of boxes()) each.checked = all.checked;
      });
      table.addEventListener("change", tell);
      head.append(all);
      tell();
    }
  }

  function enliven(root) {
    chooseAll(root);
    nameCells(root);
    localTimes(root);
    otherZones(root);
    days(root);
    tick();
    charts(root);
  }

  // An element as the next answer has it again: a link, or the button of a form with the same fields.
  function likeness(element) {
    const fields = [...(element.form?.elements ?? [])].filter((each) => each.type === "hidden" && each.name !== "csrf");
    return [element.tagName, element.id, element.href, element.form?.action, element.textContent, ...fields.map((each) => `${each.name}=${each.value}`)].join("\n");
  }

  let unfolded = [];
  let focused = "";
  function rememberFocus(event) {
    const active = document.activeElement;
    unfolded = [...event.target.querySelectorAll("details[id][open]")].map((each) => each.id);
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
    setInterval(tick, 1000);
  });
  document.addEventListener("htmx:beforeSwap", rememberFocus);
  document.addEventListener("htmx:beforeRequest", (event) => {
    const isWritten = event.detail.elt.id === "live" && document.querySelector("#live .drop[open]"); // a refresh would close it
    if (document.hidden || isWritten) event.preventDefault();
  });
  document.addEventListener("htmx:afterSwap", () => {
    for (const id of unfolded) document.getElementById(id)?.setAttribute("open", "");
    enliven(document);
    giveFocusBack();
  });
  // Nothing of the page is swapped then, so its line would go on to say that nothing is wrong.
  function away() {
    const strip = document.getElementById("strip");
    if (!strip) return;
    strip.className = "strip problem";
    strip.hidden = false;
    strip.textContent = "The store or this dashboard does not answer. What the page shows is old; it goes on by itself.";
  }

  document.addEventListener("htmx:sendError", away);
  document.addEventListener("htmx:responseError", (event) => {
    if (event.detail.xhr.status === 503) away();
  });
  document.addEventListener("keydown", keys);
  document.addEventListener("submit", (event) => {
    const question = event.submitter?.dataset.confirm ?? event.target.dataset.confirm;
    if (question && !window.confirm(question)) event.preventDefault();
  });
})();
