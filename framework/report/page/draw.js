// Draws the rows of the time line on a canvas. Only the visible rows and the visible time are drawn.
"use strict";

/** The width of the names of the rows. */
const NAMES = 190;

/** The height of the time axis. */
const AXIS = 22;

const canvas = /** @type {HTMLCanvasElement} */ (element("timeline"));
const scroller = element("scroller");
const pen = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));

/** The size of the canvas in CSS pixels. */
const size = { width: 800, height: 400 };

/**
 * The colour with this name of the style sheet.
 * @param {string} name
 * @returns {string}
 */
const colour = (name) => colours[name] || (colours[name] = getComputedStyle(document.body).getPropertyValue(`--${name}`).trim());

/** @type {Record<string, string>} */
let colours = {};

/** Forgets the colours, because the style may have changed. */
function forgetColours() {
  colours = {};
}

/**
 * The horizontal place of a time of a row.
 * @param {Row} row
 * @param {number} at
 * @returns {number}
 */
function xOf(row, at) {
  return NAMES + ((at - row.shift - view.from) / (view.to - view.from)) * (size.width - NAMES - 8);
}

/**
 * The time of the view at a horizontal place.
 * @param {number} x
 * @returns {number}
 */
function timeAt(x) {
  return view.from + ((x - NAMES) / (size.width - NAMES - 8)) * (view.to - view.from);
}

/** Adapts the canvas to its place and to the resolution of the screen. */
function fitCanvas() {
  const ratio = window.devicePixelRatio || 1;
  element("rows").style.height = `${rowsHeight() + AXIS}px`;
  size.width = scroller.clientWidth;
  size.height = Math.max(Math.min(rowsHeight() + AXIS, scroller.clientHeight), 60);
  canvas.width = Math.round(size.width * ratio);
  canvas.height = Math.round(size.height * ratio);
  canvas.style.width = `${size.width}px`;
  canvas.style.height = `${size.height}px`;
  pen.setTransform(ratio, 0, 0, ratio, 0, 0);
}

/**
 * Fills a rectangle.
 * @param {string} fill
 * @param {number} from
 * @param {number} to
 * @param {number} y
 * @param {number} height
 */
function bar(fill, from, to, y, height) {
  const [left, right] = [Math.max(from, NAMES), Math.min(to, size.width - 8)];
  if (right <= left) return;
  pen.fillStyle = fill;
  pen.fillRect(left, y, Math.max(right - left, 1), height);
}

/**
 * Hatches a rectangle, so that it is recognized without its colour.
 * @param {string} stroke
 * @param {number} from
 * @param {number} to
 * @param {number} y
 * @param {number} height
 * @param {number} [gap]
 */
function hatch(stroke, from, to, y, height, gap = 6) {
  const [left, right] = [Math.max(from, NAMES), Math.min(to, size.width - 8)];
  if (right <= left) return;
  pen.save();
  pen.beginPath();
  pen.rect(left, y, Math.max(right - left, 1), height);
  pen.clip();
  pen.strokeStyle = stroke;
  pen.lineWidth = 1.2;
  pen.beginPath();
  for (let x = left - (left % gap) - height; x < right; x += gap) {
    pen.moveTo(x, y + height);
    pen.lineTo(x + height, y);
  }
  pen.stroke();
  pen.restore();
}

/**
 * Calls `paint` for each value of `steps` in the view, with the places where it begins and ends. Values that are too
 * short for a pixel are left out.
 * @template Value
 * @param {Row} row
 * @param {Steps<Value>} steps
 * @param {(value: Value, from: number, to: number) => void} paint
 */
function eachStep(row, steps, paint) {
  const end = row.data.span;
  let place = Math.max(lastNotAfter(steps.length, (each) => steps[each][0], view.from + row.shift), 0);
  let painted = -Infinity;
  for (; place < steps.length && steps[place][0] - row.shift <= view.to; place += 1) {
    const next = place + 1 < steps.length ? steps[place + 1][0] : end;
    const to = xOf(row, next);
    if (to - painted < 0.5 && place + 1 < steps.length) continue;
    paint(steps[place][1], xOf(row, steps[place][0]), to);
    painted = to;
  }
}

/**
 * Draws the faults that hit a member, or the control plane, over the height of its row.
 * @param {Row} row
 * @param {string | null} member
 * @param {number} y
 */
function drawFaults(row, member, y) {
  for (const fault of row.data.faults.filter((each) => each.member === member)) {
    const [from, to] = [xOf(row, fault.from), xOf(row, fault.to === null ? row.data.span : fault.to)];
    bar(colour("fault-soft"), from, to, y, row.height - 2);
    hatch(colour("fault"), from, to, y, row.height - 2);
    label(fault.kind, Math.max(from, NAMES) + 4, y + 9, to - Math.max(from, NAMES), colour("fault-text"));
  }
}

/**
 * Writes a text where there is room for it, on a plate that keeps it legible.
 * @param {string} text
 * @param {number} x
 * @param {number} y
 * @param {number} room
 * @param {string} fill
 */
function label(text, x, y, room, fill) {
  pen.font = "10px system-ui, sans-serif";
  const width = pen.measureText(text).width;
  if (width + 6 > room || x > size.width) return;
  pen.fillStyle = colour("plate");
  pen.fillRect(x - 2, y - 8, width + 4, 11);
  pen.fillStyle = fill;
  pen.fillText(text, x, y);
}

/** @type {Record<string, string>} */
const HEALTH = { Ready: "ready", NotReady: "not-ready", Unknown: "unknown" };

/**
 * @param {Row} row
 * @param {MemberLane} member
 * @param {number} y
 */
function drawMember(row, member, y) {
  eachStep(row, member.health, (health, from, to) => {
    if (!HEALTH[health]) return;
    bar(colour(HEALTH[health]), from, to, y + 2, 9);
    if (health === "NotReady") hatch(colour("ground"), from, to, y + 2, 9, 4);
  });
  member.taints.forEach((taint, place) => {
    eachStep(row, taint.present, (present, from, to) => {
      if (!present) return;
      const top = y + 14 + 13 * place;
      bar(colour(taint.effect === "NoExecute" ? "no-execute" : "no-schedule"), from, to, top, 2);
      label(taint.name, Math.max(from, NAMES) + 4, top + 10, to - Math.max(from, NAMES), colour("text"));
    });
  });
  drawFaults(row, member.name, y);
}

/**
 * @param {Row} row
 * @param {WorkloadLane} workload
 * @param {number} y
 */
function drawWorkload(row, workload, y) {
  if (!hasReplicas(workload)) return;
  const most = Math.max(1, ...workload.replicas.map(([, [asked, ready]]) => Math.max(asked, ready)));
  const bottom = y + row.height - 3;
  const high = (/** @type {number} */ replicas) => (replicas / most) * (row.height - 8);
  // Nothing is lost before all replicas were ready for the first time.
  const whole = workload.replicas.find(([, [asked, , reachable]]) => asked > 0 && reachable >= asked);
  const started = whole ? xOf(row, whole[0]) : Infinity;
  eachStep(row, workload.replicas, ([asked, ready, reachable], from, to) => {
    bar(colour("reachable"), from, to, bottom - high(reachable), high(reachable));
    if (ready > reachable) {
      hatch(colour("unreachable"), from, to, bottom - high(ready), high(ready - reachable), 5);
    }
    if (asked > reachable && from >= started) {
      bar(colour("lost"), from, to, bottom - high(asked), high(asked) - high(Math.max(ready, reachable)));
    }
    if (asked > 0) bar(colour("asked"), from, to, bottom - high(asked) - 1, 1.5);
  });
}

/**
 * @param {Row} row
 * @param {PlaceLane} place
 * @param {number} y
 */
function drawPlace(row, place, y) {
  eachStep(row, place.assigned, (assigned, from, to) => {
    if (assigned === null) return;
    bar(colour("assigned"), from, to, y + 2, 8);
    if (assigned > 0) label(String(assigned), Math.max(from, NAMES) + 3, y + 10, to - from, colour("text"));
  });
  eachStep(row, place.task, (task, from, to) => {
    if (task === null) return;
    bar(colour("evicting-soft"), from, to, y + 1, 10);
    hatch(colour("evicting"), from, to, y + 1, 10, 5);
    label(`evicting: ${task}`, Math.max(from, NAMES) + 4, y + 10, to - Math.max(from, NAMES), colour("text"));
  });
  eachStep(row, place.manifest, (manifest, from, to) => {
    if (manifest) bar(colour(manifest === "leaving" ? "evicting" : "manifest"), from, to, y + 12, 2);
  });
  eachStep(row, place.ready, (ready, from, to) => {
    if (ready > 0) bar(colour("reachable"), from, to, y + 14.5, 2);
  });
}

/** @type {Record<string, string>} */
const RESULT = { held: "held", violated: "violated", undecided: "undecided" };

/**
 * @param {Row} row
 * @param {JudgedWindow[]} windows
 * @param {number} y
 */
function drawWindows(row, windows, y) {
  const middle = y + row.height / 2;
  for (const each of windows) {
    const start = each.since ?? each.earliest ?? each.at;
    const end = Math.max(each.latest ?? each.at, each.at);
    if (start - row.shift > view.to || end - row.shift < view.from) continue;
    const earliest = xOf(row, each.earliest ?? each.since ?? (each.latest === null ? each.at : 0));
    const latest = each.latest === null ? size.width - 8 : xOf(row, each.latest);
    const [at, isTimed] = [xOf(row, each.at), each.earliest !== null || each.latest !== null];
    if (each.since !== null) bar(colour("waiting"), xOf(row, each.since), earliest, middle - 0.5, 1);
    if (isTimed) {
      bar(colour("allowed"), earliest, latest, middle - 5, 10);
      bar(colour("allowed-edge"), earliest, earliest + 1.5, middle - 6, 12);
      if (each.latest !== null) bar(colour("allowed-edge"), latest - 1.5, latest, middle - 6, 12);
    }
    if (each.result === "violated" && each.latest !== null && each.at > each.latest) {
      bar(colour("violated-soft"), latest, at, middle - 3, 6);
    }
    if (each.result === "violated" && each.earliest !== null && each.at < each.earliest) {
      bar(colour("violated-soft"), at, earliest, middle - 3, 6);
    }
    drawActual(each, at, middle);
  }
}

/**
 * Draws the judged event: a tick, a cross where it is outside its window, a ring where that is undecided.
 * @param {JudgedWindow} each
 * @param {number} x
 * @param {number} y
 */
function drawActual(each, x, y) {
  if (x < NAMES || x > size.width) return;
  pen.strokeStyle = colour(RESULT[each.result]);
  pen.lineWidth = 2;
  pen.beginPath();
  if (each.result === "violated") {
    pen.moveTo(x - 4, y - 4);
    pen.lineTo(x + 4, y + 4);
    pen.moveTo(x - 4, y + 4);
    pen.lineTo(x + 4, y - 4);
  } else if (each.result === "undecided") {
    pen.arc(x, y, 4, 0, 2 * Math.PI);
  } else {
    pen.moveTo(x, y - 6);
    pen.lineTo(x, y + 6);
  }
  pen.stroke();
}

/**
 * Draws how many events there are at each place.
 * @param {Row} row
 * @param {number} y
 */
function drawEvents(row, y) {
  const times = row.data.events.at;
  const first = lastNotAfter(times.length, (each) => times[each], view.from + row.shift - 1) + 1;
  /** @type {Map<number, number>} */
  const counts = new Map();
  for (let place = first; place < times.length && times[place] - row.shift <= view.to; place += 1) {
    const x = Math.floor(xOf(row, times[place]));
    counts.set(x, (counts.get(x) || 0) + 1);
  }
  for (const [x, count] of counts) {
    const height = Math.min(4 + 4 * Math.log2(count), row.height - 4);
    bar(colour("event"), x, x + 1.2, y + row.height - 2 - height, height);
  }
}

/**
 * Draws the marks of the recorder, with as many names as fit.
 * @param {Row} row
 * @param {number} y
 */
function drawSteps(row, y) {
  const { events, texts } = row.data;
  let free = NAMES;
  for (let event = 0; event < events.at.length; event += 1) {
    if (events.version[event] >= 0 || events.member[event] >= 0) continue;
    const x = xOf(row, events.at[event]);
    if (x < NAMES || x > size.width) continue;
    bar(colour("cursor"), x, x + 1, y + 2, row.height - 4);
    const text = texts[events.text[event]];
    if (x < free) continue;
    label(text, x + 4, y + 11, Infinity, colour("faint"));
    free = x + 10 + pen.measureText(text).width;
  }
}

/**
 * Makes the parts of a row pale in which both runs are in the same state.
 * @param {Row} row
 * @param {number} y
 */
function dimEqual(row, y) {
  const { partner } = row;
  if (!partner || row.kind === "section" || row.kind === "windows" || row.kind === "events") return;
  const STEP = 2;
  let start = -1;
  for (let x = NAMES; x <= size.width - 8; x += STEP) {
    const at = timeAt(x);
    const isEqual = x + STEP <= size.width - 8 && stateAt(row, at + row.shift) === stateAt(partner, at + partner.shift);
    if (isEqual && start < 0) start = x;
    if (!isEqual && start >= 0) {
      bar(colour("dim"), start, x, y, row.height);
      start = -1;
    }
  }
}

/** Draws the time axis. */
function drawAxis() {
  bar(colour("ground"), 0, size.width, 0, AXIS);
  pen.fillStyle = colour("ground");
  pen.fillRect(0, 0, size.width, AXIS);
  pen.strokeStyle = colour("line");
  pen.fillStyle = colour("text");
  pen.font = "11px system-ui, sans-serif";
  const lengths = [0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 43200, 86400];
  const wanted = ((view.to - view.from) / 1e6) * (90 / (size.width - NAMES));
  const step = (lengths.find((length) => length >= wanted) || 86400) * 1e6;
  pen.lineWidth = 1;
  pen.beginPath();
  for (let at = Math.ceil(view.from / step) * step; at <= view.to; at += step) {
    const x = Math.round(NAMES + ((at - view.from) / (view.to - view.from)) * (size.width - NAMES - 8)) + 0.5;
    pen.moveTo(x, AXIS - 5);
    pen.lineTo(x, size.height);
    pen.fillText(clock(at), x + 3, AXIS - 8);
  }
  pen.globalAlpha = 0.5;
  pen.stroke();
  pen.globalAlpha = 1;
}

/** Draws the window of the selected problem over all rows, and the cursor. */
function drawMarks() {
  const place = (/** @type {number} */ at) => NAMES + ((at - view.from) / (view.to - view.from)) * (size.width - NAMES - 8);
  const problem = view.data && view.data.problems[view.problem];
  if (problem && (problem.earliest !== null || problem.latest !== null)) {
    const from = place(problem.earliest ?? problem.since ?? 0);
    bar(colour("allowed-soft"), from, problem.latest === null ? size.width : place(problem.latest), AXIS, size.height);
  }
  if (view.cursor === null) return;
  const x = place(view.cursor);
  bar(colour("cursor"), x - 0.75, x + 0.75, 0, size.height);
  const text = clock(view.cursor);
  pen.font = "bold 11px system-ui, sans-serif";
  const width = pen.measureText(text).width + 8;
  if (x < NAMES || x > size.width) return;
  pen.fillStyle = colour("cursor");
  pen.fillRect(Math.min(x, size.width - width), 0, width, 14);
  pen.fillStyle = colour("ground");
  pen.fillText(text, Math.min(x, size.width - width) + 4, 11);
}

/**
 * Draws one row.
 * @param {Row} row
 * @param {number} y
 */
function drawRow(row, y) {
  if (row.kind === "member" && row.member) drawMember(row, row.member, y);
  if (row.kind === "faults") {
    drawFaults(row, null, y);
    drawSteps(row, y);
  }
  if (row.kind === "workload" && row.workload) drawWorkload(row, row.workload, y);
  if (row.kind === "place" && row.place) drawPlace(row, row.place, y);
  if (row.kind === "windows" && row.windows) drawWindows(row, row.windows, y);
  if (row.kind === "events") drawEvents(row, y);
  dimEqual(row, y);
  const isSection = row.kind === "section";
  if (isSection) bar(colour("ground"), NAMES, size.width, y, row.height);
  pen.fillStyle = colour("ground");
  pen.fillRect(0, y, NAMES, row.height);
  pen.fillStyle = colour(isSection ? "faint" : row.kind === "windows" && isViolatedRow(row) ? "violated" : "text");
  pen.font = isSection ? "bold 11px system-ui, sans-serif" : "12px system-ui, sans-serif";
  const indent = row.kind === "place" ? 22 : isSection ? 4 : 10;
  pen.fillText(shortened(nameOf(row), NAMES - indent - 4), indent, y + Math.min(row.height, 18) - 5);
  const lost = row.workload && row.kind === "workload" ? row.workload.lost : 0;
  if (lost >= 0.5) {
    pen.fillStyle = colour("violated");
    pen.font = "11px system-ui, sans-serif";
    pen.fillText(`lost ${Math.round(lost)} replica-seconds`, indent, y + 30);
  }
}

/**
 * @param {Row} row
 * @returns {boolean}
 */
function isViolatedRow(row) {
  return (row.windows || []).some((each) => each.result === "violated");
}

/**
 * @param {Row} row
 * @returns {string}
 */
function nameOf(row) {
  if (row.kind !== "windows" || !row.windows) return row.label;
  return row.windows.length === 1 ? `${row.label}  ${row.windows[0].subject}` : `${row.label}  ×${row.windows.length}`;
}

/**
 * @param {string} text
 * @param {number} room
 * @returns {string}
 */
function shortened(text, room) {
  let short = text;
  while (short.length > 4 && pen.measureText(short).width > room) short = `${short.slice(0, -2)}…`;
  return short;
}

/** Draws everything. */
function draw() {
  if (!view.data) return;
  pen.fillStyle = colour("ground");
  pen.fillRect(0, 0, size.width, size.height);
  const top = scroller.scrollTop;
  for (const row of rows) {
    const y = row.y - top + AXIS;
    if (y + row.height >= AXIS && y <= size.height) drawRow(row, y);
  }
  drawAxis();
  drawMarks();
}

/** Whether a drawing is planned for the next frame. */
let isPlanned = false;

/** Draws everything in the next frame, once. */
function redraw() {
  if (isPlanned) return;
  isPlanned = true;
  requestAnimationFrame(() => {
    isPlanned = false;
    draw();
  });
}
