// What is shown at the moment: the case, the part of its time, the cursor. The URL contains all of it.
"use strict";

/** @type {Summary} */
const summary = JSON.parse(element("summary").textContent || "{}");

/** @type {View} */
const view = {
  data: null,
  other: null,
  from: 0,
  to: 1,
  cursor: null,
  selected: null,
  problem: -1,
  isWhole: false,
};

/** The time that is added to a time of the view to get a time of the other run. */
function otherShift() {
  return view.data && view.other ? firstFault(view.other) - firstFault(view.data) : 0;
}

/** Writes the state into the URL, without a new entry in the history of the browser. */
function writeUrl() {
  if (!view.data) return;
  const parameters = new URLSearchParams({ case: view.data.id });
  const seconds = (/** @type {number} */ micros) => String(Math.round(micros / 1000) / 1000);
  if (view.cursor !== null) parameters.set("at", seconds(view.cursor));
  if (view.from > 0 || view.to < fullSpan()) {
    parameters.set("from", seconds(view.from));
    parameters.set("to", seconds(view.to));
  }
  if (view.problem >= 0) parameters.set("problem", String(view.problem + 1));
  if (view.other) parameters.set("with", view.other.id);
  const text = `#${parameters.toString().replaceAll("%2F", "/")}`;
  if (text !== location.hash) history.replaceState(null, "", text);
}

/** The time that the whole view shows, in microseconds. */
function fullSpan() {
  const first = view.data ? view.data.span : 1;
  const second = view.other ? view.other.span - otherShift() : 0;
  return Math.max(first, second, 1);
}

/**
 * Shows a part of the time, of at least a millisecond.
 * @param {number} from
 * @param {number} to
 */
function show(from, to) {
  const all = fullSpan();
  const length = Math.min(Math.max(to - from, 1000), all);
  view.from = Math.min(Math.max(from, 0), all - length);
  view.to = view.from + length;
}

/**
 * Makes the shown part of the time longer or shorter around a time.
 * @param {number} factor
 * @param {number} around
 */
function zoom(factor, around) {
  show(around - (around - view.from) * factor, around + (view.to - around) * factor);
}

/** Moves the shown part so that the cursor is in it. */
function revealCursor() {
  if (view.cursor === null || (view.cursor >= view.from && view.cursor <= view.to)) return;
  const half = (view.to - view.from) / 2;
  show(view.cursor - half, view.cursor + half);
}
