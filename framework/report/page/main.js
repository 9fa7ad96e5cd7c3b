// Joins the parts of the page: opens cases, and reacts to the mouse, the keyboard and the URL.
"use strict";

/**
 * The cases that were decompressed.
 * @type {Map<string, CaseData>}
 */
const loaded = new Map();

/**
 * The data of a case; null if the page has none.
 * @param {string} id
 * @returns {Promise<CaseData | null>}
 */
async function dataOf(id) {
  const place = summary.cases.findIndex((each) => each.id === id && each.hasData);
  if (place < 0) return null;
  const known = loaded.get(id) || (await load(place, id));
  loaded.set(id, known);
  return known;
}

/**
 * Opens a case, and shows all of it.
 * @param {string} id
 */
async function openCase(id) {
  const data = await dataOf(id);
  if (!data) return;
  Object.assign(view, { data, other: null, cursor: null, selected: null, problem: -1 });
  /** @type {HTMLSelectElement} */ (element("with")).value = "";
  show(0, fullSpan());
  refresh();
}

/** Shows the present state in every panel. */
function refresh() {
  const each = summary.cases.find((one) => one.id === view.data?.id);
  document.body.classList.toggle("has-case", Boolean(each));
  element("case-title").textContent = each ? each.id : "";
  element("case-title").className = each ? each.status : "";
  element("replay").textContent = each ? each.replay : "";
  element("replay-line").hidden = !each || !each.replay;
  layOut();
  fitCanvas();
  fillCases();
  fillProblems();
  fillEvents();
  fillObject();
  draw();
  writeUrl();
}

/** Shows the present cursor and part of the time. */
function refreshTime() {
  redraw();
  revealEvent();
  writeUrl();
}

/**
 * Moves the cursor to a time.
 * @param {number} at
 */
function jumpTo(at) {
  view.cursor = at;
  revealCursor();
  const { data } = view;
  if (data) {
    const event = lastNotAfter(data.events.at.length, (place) => data.events.at[place], at);
    if (event >= 0 && data.events.version[event] >= 0) view.selected = { data, version: data.events.version[event] };
  }
  fillObject();
  refreshTime();
}

/**
 * Moves the cursor to an event, and shows its object.
 * @param {CaseData} data
 * @param {number} event
 */
function selectEvent(data, event) {
  view.cursor = data.events.at[event] - (data === view.other ? otherShift() : 0);
  const version = data.events.version[event];
  view.selected = version >= 0 ? { data, version } : null;
  revealCursor();
  fillObject();
  refreshTime();
}

/**
 * Shows a version of an object, and moves the cursor there.
 * @param {CaseData} data
 * @param {number} version
 */
function selectVersion(data, version) {
  view.selected = { data, version };
  view.cursor = data.versions.at[version] - (data === view.other ? otherShift() : 0);
  revealCursor();
  fillObject();
  refreshTime();
}

/**
 * Selects a problem: its window and its event become visible.
 * @param {number} place
 */
function selectProblem(place) {
  const { data } = view;
  if (!data || data.problems.length === 0) return;
  view.problem = (place + data.problems.length) % data.problems.length;
  const problem = data.problems[view.problem];
  const { at } = problem;
  const times = [problem.since ?? at, problem.earliest ?? at, problem.latest ?? at, at];
  const [from, to] = [Math.min(...times), Math.max(...times)];
  const margin = Math.max((to - from) * 0.15, fullSpan() / 20);
  if (from < view.from || to > view.to || to - from < (view.to - view.from) / 20) show(from - margin, to + margin);
  const row = rows.find((each) => each.kind === "windows" && each.label === problem.guarantee);
  if (row) scroller.scrollTop = Math.max(0, row.y - 40);
  fillProblems();
  jumpTo(problem.at);
}

/**
 * Compares with another case, which is shown below, aligned at the first fault.
 * @param {string} id
 */
async function compareWith(id) {
  view.other = id && id !== view.data?.id ? await dataOf(id) : null;
  /** @type {HTMLSelectElement} */ (element("with")).value = view.other ? view.other.id : "";
  show(0, fullSpan());
  refresh();
}

/**
 * The row at a vertical place of the canvas.
 * @param {number} y
 * @returns {Row | undefined}
 */
function rowAt(y) {
  const place = y - AXIS + scroller.scrollTop;
  return y < AXIS ? undefined : rows.find((row) => place >= row.y && place < row.y + row.height);
}

/**
 * The event of a row that is nearest to a time: one that is close, or else the last before it; -1 if there is none.
 * @param {Row} row
 * @param {number} at
 * @returns {number}
 */
function eventAt(row, at) {
  const { events, members, workloads } = row.data;
  const member = members.findIndex((each) => each.name === (row.member?.name ?? row.place?.member));
  const workload = row.workload ? workloads.indexOf(row.workload) : -1;
  const isOf = (/** @type {number} */ event) =>
    (row.kind === "events" || row.kind === "faults" || workload < 0 || events.workload[event] === workload)
    && (!row.member || (events.member[event] === member && events.workload[event] < 0))
    && (!row.place || member < 0 || events.member[event] === member || events.member[event] < 0);
  const close = at + ((view.to - view.from) / (size.width - NAMES)) * 6;
  let event = lastNotAfter(events.at.length, (place) => events.at[place], close);
  while (event >= 0 && !(isOf(event) && events.version[event] >= 0)) event -= 1;
  return event;
}

/**
 * Reacts to a click on the time line.
 * @param {number} x
 * @param {number} y
 */
function clickAt(x, y) {
  const [row, at] = [rowAt(y), timeAt(Math.max(x, NAMES))];
  view.cursor = Math.max(0, at);
  if (row?.windows) {
    const near = nearestWindow(row, at + row.shift);
    const problem = row.data.problems.findIndex((each) => each.guarantee === near.guarantee && each.at === near.at);
    if (problem >= 0 && row.data === view.data) return selectProblem(problem);
    view.cursor = near.at - row.shift;
  } else if (row && row.kind !== "section") {
    const event = eventAt(row, at + row.shift);
    if (event >= 0) return selectEvent(row.data, event);
  }
  return refreshTime();
}

/**
 * The window of a row that is nearest to a time.
 * @param {Row} row
 * @param {number} at
 * @returns {JudgedWindow}
 */
function nearestWindow(row, at) {
  const distance = (/** @type {JudgedWindow} */ each) => {
    const start = each.earliest ?? each.since ?? each.at;
    const isInside = at >= start && at <= Math.max(each.latest ?? each.at, each.at);
    return Math.abs(each.at - at) * (isInside ? 0.01 : 1);
  };
  return (row.windows || []).reduce((best, each) => (distance(each) < distance(best) ? each : best));
}

/**
 * The text for a place of the time line.
 * @param {Row} row
 * @param {number} at
 * @returns {string}
 */
function hint(row, at) {
  const lines = [clock(at - row.shift)];
  if (row.data.wallStart !== null) lines[0] += ` · ${new Date(row.data.wallStart + at / 1000).toISOString().slice(11, 19)} UTC`;
  if (row.member) {
    lines.push(`${row.label}: ${stateAt(row, at) || "not observed"}`);
    lines.push(...faultsAt(row.data, row.member.name, at).map((fault) => `${fault.kind}: ${fault.effect}`));
  } else if (row.place && row.workload) {
    const { assigned, task, manifest, ready } = row.place;
    const count = valueAt(assigned, at);
    lines.push(`${row.workload.name} on ${row.label}`, count === null || count === undefined ? "not assigned" : `assigned, ${count} replicas`);
    if (valueAt(task, at)) lines.push(`evicting: ${valueAt(task, at)}`);
    lines.push(`manifest: ${valueAt(manifest, at) || "none"}`, `ready: ${valueAt(ready, at) ?? 0}`);
  } else if (row.workload) {
    const [asked, ready, reachable] = valueAt(row.workload.replicas, at) || [0, 0, 0];
    lines.push(row.label, `${asked} requested, ${ready} ready, ${reachable} of them reachable`);
  } else if (row.windows) {
    const each = nearestWindow(row, at);
    const spec = summary.guarantees.find((one) => one.id === each.guarantee);
    const bounds = [each.earliest === null ? "" : `not before ${clock(each.earliest)}`, each.latest === null ? "" : `not after ${clock(each.latest)}`];
    lines.push(`${row.label} ${each.subject}: ${each.result} at ${clock(each.at)}`, bounds.filter(Boolean).join(", "), spec ? spec.sentence : "");
  } else if (row.kind === "faults") lines.push(faultsAt(row.data, null, at).map((fault) => `${fault.kind}: ${fault.effect}`).join(", ") || "no fault of the control plane");
  return lines.filter(Boolean).join("\n");
}

/** Reads the state from the URL. */
async function readUrl() {
  const parameters = new URLSearchParams(location.hash.slice(1));
  const first = summary.cases.find((each) => each.status === "failed" && each.hasData) || summary.cases.find((each) => each.hasData);
  const id = parameters.get("case") || (summary.cases.length === 1 && first ? first.id : "");
  if (!id) return refresh();
  if (view.data?.id !== id) await openCase(id);
  const micros = (/** @type {string} */ name) => (parameters.has(name) ? Number(parameters.get(name)) * 1e6 : null);
  const other = parameters.get("with");
  if (other) await compareWith(other);
  const [from, to] = [micros("from"), micros("to")];
  if (from !== null && to !== null) show(from, to);
  if (parameters.has("problem")) selectProblem(Number(parameters.get("problem")) - 1);
  const at = micros("at");
  if (at !== null && Math.abs(at - (view.cursor ?? -1e9)) > 1000) jumpTo(at);
  return refreshTime();
}

/**
 * Opens the next case that has problems, or the one before, and selects a problem.
 * @param {number} step
 */
async function nextProblem(step) {
  const { data } = view;
  const place = view.problem + (view.problem < 0 && step < 0 ? 0 : step);
  if (data && data.problems.length > 0 && (place >= 0 || step > 0) && place < data.problems.length) return selectProblem(place);
  const failing = summary.cases.filter((each) => each.hasData && each.problems.length > 0);
  if (failing.length === 0) return undefined;
  const here = failing.findIndex((each) => each.id === data?.id);
  const next = failing[(here + (here < 0 && step < 0 ? 0 : step) + failing.length) % failing.length];
  await openCase(next.id);
  return selectProblem(step > 0 ? 0 : -1);
}

/** @type {Record<string, () => unknown>} */
const KEYS = {
  n: () => nextProblem(1),
  p: () => nextProblem(-1),
  "/": () => element(document.body.classList.contains("single") ? "event-filter" : "search").focus(),
  f: () => element("event-filter").focus(),
  "+": () => { zoom(0.5, view.cursor ?? (view.from + view.to) / 2); refreshTime(); },
  "=": () => KEYS["+"](),
  "-": () => { zoom(2, view.cursor ?? (view.from + view.to) / 2); refreshTime(); },
  0: () => { show(0, fullSpan()); refreshTime(); },
  ArrowLeft: () => { const by = (view.to - view.from) / 8; show(view.from - by, view.to - by); refreshTime(); },
  ArrowRight: () => { const by = (view.to - view.from) / 8; show(view.from + by, view.to + by); refreshTime(); },
  "?": () => /** @type {HTMLDialogElement} */ (element("help")).showModal(),
};

/** Connects the mouse. */
function listenToMouse() {
  /** @type {{ x: number, from: number, to: number, moved: boolean } | null} */
  let drag = null;
  const tip = element("tip");
  canvas.addEventListener("pointerdown", (event) => {
    drag = { x: event.offsetX, from: view.from, to: view.to, moved: false };
    canvas.setPointerCapture(event.pointerId);
  });
  canvas.addEventListener("pointermove", (event) => {
    if (drag && Math.abs(event.offsetX - drag.x) > 3) {
      drag.moved = true;
      const by = ((drag.x - event.offsetX) / (size.width - NAMES - 8)) * (drag.to - drag.from);
      show(drag.from + by, drag.to + by);
      redraw();
    }
    const row = rowAt(event.offsetY);
    tip.hidden = !row || row.kind === "section" || event.offsetX < NAMES || Boolean(drag?.moved);
    if (row && !tip.hidden) {
      tip.textContent = hint(row, timeAt(event.offsetX) + row.shift);
      tip.style.left = `${Math.min(event.clientX + 14, window.innerWidth - 340)}px`;
      tip.style.top = `${event.clientY + 16}px`;
    }
  });
  canvas.addEventListener("pointerup", (event) => {
    if (drag && !drag.moved) clickAt(event.offsetX, event.offsetY);
    else writeUrl();
    drag = null;
  });
  canvas.addEventListener("pointerleave", () => { tip.hidden = true; });
  canvas.addEventListener("dblclick", () => KEYS[0]());
  canvas.addEventListener("wheel", (event) => {
    if (!event.ctrlKey && !event.altKey && !event.shiftKey) return;
    event.preventDefault();
    const by = event.deltaY || event.deltaX;
    if (event.shiftKey) show(view.from + (by / 500) * (view.to - view.from), view.to + (by / 500) * (view.to - view.from));
    else zoom(Math.exp(by / 400), timeAt(event.offsetX));
    refreshTime();
  }, { passive: false });
}

/** Connects the keyboard, the filters and the window. */
function listen() {
  document.addEventListener("keydown", (event) => {
    const isTyping = event.target instanceof HTMLInputElement || event.target instanceof HTMLSelectElement;
    if (event.key === "Escape" && event.target instanceof HTMLElement) event.target.blur();
    if (isTyping || event.ctrlKey || event.metaKey || event.altKey || !KEYS[event.key]) return;
    event.preventDefault();
    KEYS[event.key]();
  });
  for (const id of ["search", "status", "group"]) element(id).addEventListener("input", fillCases);
  element("event-filter").addEventListener("input", fillEvents);
  element("with").addEventListener("input", () => compareWith(input("with")));
  element("copy").addEventListener("click", () => navigator.clipboard?.writeText(element("replay").textContent || ""));
  element("help-button").addEventListener("click", () => KEYS["?"]());
  element("close-help").addEventListener("click", () => /** @type {HTMLDialogElement} */ (element("help")).close());
  element("events").addEventListener("scroll", drawEventLines);
  scroller.addEventListener("scroll", redraw);
  window.addEventListener("resize", () => { fitCanvas(); draw(); });
  window.addEventListener("hashchange", readUrl);
  const again = () => { forgetColours(); fitCanvas(); draw(); };
  window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", again);
  window.matchMedia("print").addEventListener("change", again);
  listenToMouse();
}

fillHead();
listen();
readUrl().then(() => { document.body.dataset.ready = "true"; });
