// The panels beside the time line: the list of cases, the problems, the events, and the object at the cursor.
"use strict";

/** The height of a line of the list of events. */
const LINE = 20;

/**
 * The places of the events in the list, by the filter.
 * @type {number[]}
 */
let listed = [];

/**
 * The events that are only in one of two compared runs.
 * @type {Set<number> | null}
 */
let onlyHere = null;

/** Fills the head of the page, and the table of guarantees. */
function fillHead() {
  element("verdict").textContent = summary.verdict;
  element("verdict").className = summary.conforms ? "passed" : "failed";
  element("about").textContent = summary.about.join(" · ");
  const table = element("guarantees");
  for (const each of summary.guarantees) {
    const row = make("tr", each.verdict === "violated" ? "violated" : "");
    row.append(make("td", "id", each.id), make("td", "", each.counts), make("td", "", each.margin), make("td", "", each.sentence));
    table.append(row);
  }
  const groups = element("group");
  for (const group of new Set(summary.cases.map((each) => each.group))) {
    if (group) groups.append(new Option(group, group));
  }
  const others = element("with");
  for (const each of summary.cases.filter((one) => one.hasData)) others.append(new Option(each.id, each.id));
  document.body.classList.toggle("single", summary.cases.length === 1);
}

/**
 * The text in an input, or the choice of a list.
 * @param {string} id
 * @returns {string}
 */
function input(id) {
  return /** @type {HTMLInputElement} */ (element(id)).value;
}

/** Fills the list of cases, by the filters. Failed cases come first. */
function fillCases() {
  const words = input("search").toLowerCase().split(/\s+/).filter(Boolean);
  const [status, group] = [input("status"), input("group")];
  const isListed = (/** @type {CaseSummary} */ each) => {
    const text = [each.id, each.reason, ...each.problems].join(" ").toLowerCase();
    return (!status || each.status === status) && (!group || each.group === group) && words.every((word) => text.includes(word));
  };
  const order = ["failed", "not exercised", "passed", "skipped"];
  const cases = summary.cases.filter(isListed);
  cases.sort((one, other) => order.indexOf(one.status) - order.indexOf(other.status));
  const list = element("cases");
  list.replaceChildren();
  for (const each of cases) {
    const item = /** @type {HTMLButtonElement} */ (make("button", `case ${each.status}`));
    const sign = { passed: "✓", failed: "✗", "not exercised": "○", skipped: "–" }[each.status];
    item.append(make("span", "sign", sign), make("span", "name", each.id));
    if (each.problems.length > 0) item.append(make("span", "problems", each.problems.join(" ")));
    if (each.reason) item.append(make("span", "problems", each.reason));
    item.dataset.id = each.id;
    item.disabled = !each.hasData;
    item.setAttribute("aria-current", String(view.data?.id === each.id));
    item.addEventListener("click", () => openCase(each.id));
    list.append(item);
  }
  element("count").textContent = `${cases.length} of ${summary.cases.length}`;
}

/** Fills the panel of problems: each with its evidence, and a moment for each line that has one. */
function fillProblems() {
  const panel = element("problems");
  panel.replaceChildren();
  const problems = view.data ? view.data.problems : [];
  panel.hidden = problems.length === 0;
  problems.forEach((problem, place) => {
    const block = make("section", place === view.problem ? "problem selected" : "problem");
    const head = make("button", "title");
    head.append(make("strong", "", problem.title), make("span", "", ` ${problem.sentence}`));
    head.addEventListener("click", () => selectProblem(place));
    block.append(head);
    const lines = make("dl");
    for (const line of problem.lines) {
      lines.append(make("dt", "", line.label));
      const text = make("dd");
      const { at } = line;
      if (at === null) text.textContent = line.text;
      else {
        const jump = make("button", "jump", line.text);
        jump.addEventListener("click", () => jumpTo(at));
        text.append(jump);
      }
      lines.append(text);
    }
    block.append(lines);
    panel.append(block);
  });
  const chosen = /** @type {HTMLElement | null} */ (panel.querySelector(".selected"));
  if (chosen) panel.scrollTop = chosen.offsetTop - panel.offsetTop;
}

/** Chooses the events of the list by the filter, and draws the list. */
function fillEvents() {
  const { data } = view;
  listed = [];
  if (!data) return;
  const words = input("event-filter").toLowerCase().split(/\s+/).filter(Boolean);
  for (let event = 0; event < data.events.at.length; event += 1) {
    const text = words.length > 0 ? eventTexts(data, event).join(" ").toLowerCase() : "";
    if (words.every((word) => text.includes(word))) listed.push(event);
  }
  element("event-count").textContent = `${listed.length} of ${data.events.at.length}`;
  element("event-space").style.height = `${listed.length * LINE}px`;
  onlyHere = view.other ? eventsOnlyIn(data, view.other) : null;
  revealEvent();
}

/**
 * Finds the events of a run that the other run does not have equally often.
 * @param {CaseData} data
 * @param {CaseData} other
 * @returns {Set<number>}
 */
function eventsOnlyIn(data, other) {
  /** @type {Map<string, number>} */
  const counts = new Map();
  for (let event = 0; event < other.events.at.length; event += 1) {
    const key = eventTexts(other, event).join(" ");
    counts.set(key, (counts.get(key) || 0) + 1);
  }
  const only = new Set();
  for (let event = 0; event < data.events.at.length; event += 1) {
    const key = eventTexts(data, event).join(" ");
    const left = counts.get(key) || 0;
    if (left > 0) counts.set(key, left - 1);
    else only.add(event);
  }
  return only;
}

/**
 * The workload or the member of an event, and its text.
 * @param {CaseData} data
 * @param {number} event
 * @returns {[string, string]}
 */
function eventTexts(data, event) {
  const [workload, member] = [data.workloads[data.events.workload[event]], data.members[data.events.member[event]]];
  return [workload ? workload.name : member ? member.name : "", data.texts[data.events.text[event]]];
}

/** Scrolls the list of events to the cursor. */
function revealEvent() {
  const { data } = view;
  const list = element("events");
  if (data && view.cursor !== null) {
    const { cursor } = view;
    const place = lastNotAfter(listed.length, (each) => data.events.at[listed[each]], cursor);
    list.scrollTop = Math.max(0, place * LINE - list.clientHeight / 2);
  }
  drawEventLines();
}

/** Makes the elements of the visible lines of the list of events. */
function drawEventLines() {
  const { data } = view;
  const [list, lines] = [element("events"), element("event-lines")];
  lines.replaceChildren();
  if (!data) return;
  const first = Math.max(0, Math.floor(list.scrollTop / LINE) - 5);
  const last = Math.min(listed.length, first + Math.ceil(list.clientHeight / LINE) + 10);
  lines.style.top = `${first * LINE}px`;
  for (const event of listed.slice(first, last)) {
    const [about, text] = eventTexts(data, event);
    const at = data.events.at[event];
    const line = make("button", "event");
    line.append(make("span", "time", clock(at)), make("span", "about", about), make("span", "text", text));
    if (onlyHere) line.classList.add(onlyHere.has(event) ? "only" : "both");
    if (view.cursor === at) line.classList.add("current");
    line.addEventListener("click", () => selectEvent(data, event));
    lines.append(line);
  }
}

/** Fills the panel of the object at the cursor, with its difference to the version before. */
function fillObject() {
  const panel = element("object");
  panel.replaceChildren();
  const { selected } = view;
  if (!selected) {
    panel.append(make("p", "hint", "Click an event or a row of the time line to see the object behind it, and its difference to the version before."));
    return;
  }
  const { data, version } = selected;
  const [on, kind, name] = data.objects[data.versions.object[version]];
  const before = versionBefore(data, version);
  const all = data.versionsOf[data.versions.object[version]];
  const place = all.indexOf(version);
  const title = make("h3", "", `${kind} ${name}`);
  const event = { A: "added", M: "modified", D: "deleted" }[data.versions.event[version]] || "";
  panel.append(title, make("p", "hint", `on ${on}, ${event} at ${clock(data.versions.at[version])}, version ${place + 1} of ${all.length}`));
  const buttons = make("p", "buttons");
  const button = (/** @type {string} */ text, /** @type {boolean} */ can, /** @type {() => void} */ act) => {
    const made = /** @type {HTMLButtonElement} */ (make("button", "", text));
    made.disabled = !can;
    made.addEventListener("click", act);
    buttons.append(made);
  };
  button("‹ earlier", place > 0, () => selectVersion(data, all[place - 1]));
  button("later ›", place + 1 < all.length, () => selectVersion(data, all[place + 1]));
  button(view.isWhole ? "only changes" : "whole object", true, () => {
    view.isWhole = !view.isWhole;
    fillObject();
  });
  panel.append(buttons, objectText(data, version, before));
}

/**
 * The lines of an object, and of its version before.
 * @param {CaseData} data
 * @param {number} version
 * @param {number} before
 * @returns {HTMLElement}
 */
function objectText(data, version, before) {
  const CONTEXT = 3;
  const was = before < 0 ? [] : yaml(objectAt(data, before));
  const is = data.versions.event[version] === "D" && before >= 0 ? [] : yaml(objectAt(data, version));
  const lines = before < 0 ? is.map((line) => /** @type {[string, string]} */ ([" ", line])) : difference(was, is);
  const isNear = (/** @type {number} */ place) =>
    lines.slice(Math.max(0, place - CONTEXT), place + CONTEXT + 1).some(([sign]) => sign !== " ");
  const text = make("pre");
  let isGap = false;
  lines.forEach(([sign, line], place) => {
    if (view.isWhole || before < 0 || isNear(place)) {
      const kind = { "+": "added", "-": "removed" }[sign] || "";
      text.append(make("span", kind, `${sign} ${line}\n`));
      isGap = false;
    } else if (!isGap) {
      text.append(make("span", "gap", "…\n"));
      isGap = true;
    }
  });
  return text;
}
