// Events as they come: the list of Events grows, and other pages ask again when something has happened.
// Without EventSource each page asks every two seconds. A tab that is hidden holds no connection.
"use strict";

(() => {
  if (!window.EventSource) return;

  const QUIET = 5000; // ms after which a page asks again although no event has come
  const AGAIN = 5000; // ms after which a connection that was refused is tried again
  const MOST = 200; // rows

  let source = null;
  let last = ""; // position up to which the page has all events
  let partly = new Set(); // events behind `last`: of an entry of the stream that has not come as a whole
  let paused = false;
  let changed = true;
  let asked = 0;
  let waiting = [];

  const live = () => document.getElementById("live");

  function say(text) {
    const place = document.getElementById("listening");
    if (!place) return;
    place.textContent = text;
    place.className = `state ${text === "live" ? "live" : text ? "paused" : ""}`;
  }

  function address() {
    const page = live();
    if (page.dataset.stream) return `${page.dataset.stream}after=${encodeURIComponent(last)}`;
    const task = location.pathname === "/task" ? new URLSearchParams(location.search).get("id") : "";
    return `/events/changes?task=${encodeURIComponent(task || "")}`;
  }

  function listen() {
    if (source || paused || document.hidden || !live()) return;
    source = new EventSource(address());
    source.onopen = () => say("live");
    source.onerror = () => {
      say("connecting again");
      if (source?.readyState === EventSource.CLOSED) {
        stop();
        setTimeout(listen, AGAIN);
      }
    };
    source.onmessage = (message) => {
      const event = JSON.parse(message.data);
      if (!isNew(event)) return;
      take(event);
      if (message.lastEventId === event.position) {
        last = event.position;
        partly.clear();
      }
    };
    source.addEventListener("changed", () => { changed = true; });
    source.addEventListener("progress", (message) => showProgress(JSON.parse(message.data)));
    source.addEventListener("store", (message) => {
      const told = JSON.parse(message.data);
      say(told.away ? told.problem : "live");
    });
    source.addEventListener("left-out", (message) => {
      const told = JSON.parse(message.data);
      const many = told.count === null ? "events" : `${told.count} events`;
      take({ at_ms: Number(told.before.split("-")[0]), event: "left-out", id: "", page: "", tone: "rest", sentence: `${many} were left out here` });
    });
  }

  // The bar on the page of a task moves without a request of the page.
  function showProgress(told) {
    const place = document.getElementById("progress");
    if (!place) return;
    const bar = place.querySelector("progress");
    bar.hidden = told.total === null;
    if (!bar.hidden) {
      bar.max = told.total;
      bar.value = told.done;
    }
    place.querySelector("span").textContent = told.line;
    place.hidden = false;
  }

  function stop() {
    source?.close();
    source = null;
  }

  // A connection begins again behind the last whole entry, and the server may tell an event twice: no row stands twice.
  function isNew(event) {
    const [ms, part] = event.position.split("-").map(Number);
    const [lastMs, lastPart] = last.split("-").map(Number);
    const key = [event.position, event.event, event.id, event.detail].join(" ");
    if (ms < lastMs || (ms === lastMs && part <= lastPart) || partly.has(key)) return false;
    partly.add(key);
    return true;
  }

  function take(event) {
    if (waiting.push(event) === 1) requestAnimationFrame(draw);
    if (waiting.length > MOST) waiting.splice(0, waiting.length - MOST);
  }

  // As a row of the server has it: of a UUID or digest its first eight characters, of another long id both ends.
  function briefId(id) {
    if (/^([0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9a-f]{16,64})$/.test(id)) return id.slice(0, 8);
    const fire = id.match(/^(.+)@\d{8}T(\d\d)(\d\d)(\d\d)(?:\.\d+)?Z$/);
    if (fire) return `${fire[1].length > 12 ? `${fire[1].slice(0, 11)}…` : fire[1]}@${fire.slice(2).join(":")}`;
    return id.length > 20 ? `${id.slice(0, 11)}…${id.slice(-8)}` : id;
  }

  function link(cell, page, name, shown) {
    const made = cell.appendChild(document.createElement(page ? "a" : "span"));
    if (page) made.href = page;
    made.textContent = shown || briefId(name);
    made.title = name;
    return made;
  }

  // A worker, or the task of a schedule, as a link to its page.
  function named(text) {
    const made = document.createElement("a");
    made.href = text.startsWith("worker ") ? "/workers" : `/task?id=${encodeURIComponent(text.slice(5))}`;
    made.textContent = text;
    return made;
  }

  // As the server says it: `250ms`, `1.3s`, `12s`, `4min`.
  function span(ms) {
    if (ms < 1000) return `${Math.max(ms, 0)}ms`;
    return ms < 59500 ? `${Number((ms / 1000).toFixed(ms < 9950 ? 1 : 0))}s` : `${Math.round(ms / 60000)}min`;
  }

  // Events of one run of a task are one row. From the newer event to those that join its row if they come just before it.
  const JOINS = { claimed: ["accepted", "promoted", "ready"], step: ["step", "claimed"], settled: ["step", "claimed"], retry: ["step", "claimed"], delayed: ["retry"] };

  // What a row says, and what the next event of its task must know: `since` the claim, `by` which worker. `before`: of the
  // row whose place the event takes.
  function told(event, before) {
    const { at, since = "", by = "", words: earlier } = before ?? {};
    const known = { task: event.id, event: event.event, at: event.at_ms, since, by };
    const join = (...parts) => parts.filter(Boolean).join("; ");
    if (event.event === "claimed") {
      const words = join(event.sentence, before && `waited ${span(event.at_ms - at)}`);
      return { ...known, since: event.at_ms, by: words, words };
    }
    if (event.event === "delayed" && before) return { ...known, words: join(earlier, `again in ${event.sentence.replace("for ", "")}`) };
    return { ...known, words: join(event.sentence, since && event.event !== "step" ? `in ${span(event.at_ms - since)} ${by}` : by || event.by) };
  }

  function draw() {
    const rows = document.getElementById("events");
    const template = document.getElementById("event-row");
    for (const event of waiting) {
      const row = template.content.cloneNode(true);
      const newest = "folds" in rows.dataset && JOINS[event.event] ? [...rows.rows].find((each) => each.dataset.task === event.id) : undefined;
      const before = newest && JOINS[event.event].includes(newest.dataset.event) ? newest : undefined;
      const known = told(event, before?.dataset);
      Object.assign(row.firstElementChild.dataset, known);
      const [when, what, whose, handler, words] = row.querySelectorAll("td");
      const time = when.querySelector("time");
      const moment = new Date(event.at_ms).toISOString();
      time.dateTime = moment;
      time.textContent = `${moment.slice(0, 19).replace("T", " ")} UTC`;
      const badge = what.firstElementChild;
      badge.textContent = event.label ?? event.event;
      badge.title = event.event;
      badge.className = `state tone-${event.tone}`;
      if (event.event === "delayed" && before) badge.replaceWith(before.querySelector(".state"));
      before?.remove();
      link(whose, event.page, event.id, event.worker).className = "id";
      if (event.handler) link(handler, `/handler?name=${encodeURIComponent(event.handler)}`, event.handler);
      const sentence = known.words.length > 160 ? `${known.words.slice(0, 159)}…` : known.words;
      for (const [place, part] of sentence.split(/(\bworker (?:[0-9a-f]{8}|\d+(?: on [^ ,;]+)?)|\btask [\w.-]*@[\w.-]+)/).entries()) words.firstElementChild.append(place % 2 ? named(part) : part);
      rows.prepend(row);
    }
    waiting = [];
    while (rows.rows.length > MOST) rows.deleteRow(-1);
    document.dispatchEvent(new Event("htmx:afterSwap")); // times are shown in the reader's zone
  }

  function pause() {
    const button = document.getElementById("pause");
    paused = !paused;
    button.setAttribute("aria-pressed", String(paused));
    say(paused ? "paused" : "");
    if (paused) stop();
    else listen();
  }

  document.addEventListener("DOMContentLoaded", () => {
    last = live()?.dataset.newest || "";
    const button = document.getElementById("pause");
    if (button && live().dataset.stream) {
      button.hidden = false;
      button.addEventListener("click", pause);
    }
    listen();
  });
  document.addEventListener("visibilitychange", () => {
    changed = true;
    if (document.hidden) stop();
    else listen();
  });
  document.addEventListener("htmx:beforeRequest", (event) => {
    if (event.target.id !== "live") return;
    const isTold = source?.readyState === EventSource.OPEN && !changed && Date.now() - asked < QUIET;
    if (event.target.dataset.stream || isTold) {
      event.preventDefault();
    } else {
      changed = false;
      asked = Date.now();
    }
  });
})();
