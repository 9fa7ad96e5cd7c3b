// Keeps the page up to date while a fleet runs, and sends faults to the fleet. Only the live page contains this file.
"use strict";

/**
 * The faults that the fleet knows: name, whether it hits a member, and the parameters that it needs.
 * @type {Array<[string, boolean, string]>}
 */
const forms = JSON.parse(element("forms").textContent || "[]");

/** The number of changes that the page shows, the time of the fleet in microseconds, and whether the page reads data. */
const live = { changes: -1, now: 0, isReading: false };

/**
 * The choice of a list.
 * @param {string} id
 * @returns {HTMLSelectElement}
 */
function choice(id) {
  return /** @type {HTMLSelectElement} */ (element(id));
}

/** Reads the time line anew, and shows it at the same place. */
async function readAnew() {
  const answer = await fetch("/data");
  if (!answer.ok) return;
  const data = await unpack(await answer.text(), "up");
  data.span = Math.max(data.span, live.now);
  loaded.set("up", data);
  if (view.selected) view.selected.data = data;
  keepPlace(() => (view.data = data));
  refresh();
}

/**
 * Lets the time line end now. Without that, a state that began with the last event would have no length.
 * @param {number} seconds the time since the fleet was started
 */
function endNow(seconds) {
  live.now = seconds * 1e6;
  const { data } = view;
  if (!data || live.isReading || live.now <= data.span) return;
  keepPlace(() => (data.span = live.now));
  redraw();
  writeUrl();
}

/**
 * Makes the time line longer by `change`: a view of everything stays one, and a view of the end follows the end.
 * @param {() => void} change
 */
function keepPlace(change) {
  const { from, to } = view;
  const isFirst = !view.data;
  const isAtEnd = isFirst || to >= fullSpan() * 0.999;
  const isWhole = isFirst || (from <= 0 && isAtEnd);
  change();
  if (isWhole) show(0, fullSpan());
  else if (isAtEnd) show(fullSpan() - (to - from), fullSpan());
}

/**
 * Shows the members that the fleet has in the list of members.
 * @param {LiveState} state
 */
function fillMembers(state) {
  const names = state.members.map((member) => member.name);
  const list = choice("live-member");
  if (Array.from(list.options, (option) => option.value).join() === names.join()) return;
  list.replaceChildren(...names.map((name) => new Option(name)));
}

/**
 * Sends a command to the fleet, and shows the answer.
 * @param {string} line
 */
async function order(line) {
  const answer = await fetch("/order", { method: "POST", headers: { "X-Capsize": "order" }, body: line });
  element("live-answer").textContent = await answer.text();
}

/** Shows the parameters that the chosen fault needs. */
function fillParameters() {
  const [, hitsMember, needed] = forms[Number(choice("live-fault").value)];
  choice("live-member").disabled = !hitsMember;
  /** @type {HTMLInputElement} */ (element("live-parameters")).value = needed;
}

/** Begins the chosen fault. */
function breakFleet() {
  const [name, hitsMember] = forms[Number(choice("live-fault").value)];
  const member = hitsMember ? ` ${choice("live-member").value}` : "";
  return order(`fault ${name}${member} ${input("live-parameters")}`);
}

/** Prepares the buttons, and listens to the fleet. */
function startLive() {
  element("live").hidden = false;
  const names = forms.map(([name, hitsMember], place) => new Option(hitsMember ? name : `${name} (control plane)`, String(place)));
  choice("live-fault").replaceChildren(...names);
  choice("live-fault").addEventListener("change", fillParameters);
  fillParameters();
  element("live-break").addEventListener("click", breakFleet);
  element("live-heal").addEventListener("click", () => order(`heal ${choice("live-member").value}`));
  element("live-heal-all").addEventListener("click", () => order("heal"));
  const events = new EventSource("/events");
  events.addEventListener("message", async (message) => {
    /** @type {{changes: number, state: LiveState}} */
    const { changes, state } = JSON.parse(message.data);
    fillMembers(state);
    element("live-state").textContent = `${state.time} UTC, speed ${state.speed}`;
    endNow(state.atSeconds);
    if (live.isReading || changes === live.changes) return;
    live.isReading = true;
    await readAnew().finally(() => (live.isReading = false));
    live.changes = changes;
  });
  events.addEventListener("error", () => (element("live-state").textContent = "the fleet does not answer"));
}

startLive();
