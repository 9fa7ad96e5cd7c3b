// Reads the data of a case out of the page, and answers questions about it. Nothing here draws.
"use strict";

/**
 * Finds an element that the page surely contains.
 * @param {string} id
 * @returns {HTMLElement}
 */
function element(id) {
  const found = document.getElementById(id);
  if (!found) throw new Error(`the page has no element ${id}`);
  return found;
}

/**
 * Makes an element with classes and text.
 * @param {string} tag
 * @param {string} [classes]
 * @param {string} [text]
 * @returns {HTMLElement}
 */
function make(tag, classes = "", text = "") {
  const made = document.createElement(tag);
  if (classes) made.className = classes;
  if (text) made.textContent = text;
  return made;
}

/**
 * The text of a time in microseconds: minutes, seconds and tenths.
 * @param {number} micros
 * @returns {string}
 */
function clock(micros) {
  const sign = micros < 0 ? "-" : "";
  const tenths = Math.floor(Math.abs(micros) / 100000);
  const two = (/** @type {number} */ number) => String(number).padStart(2, "0");
  return `${sign}${two(Math.floor(tenths / 600))}:${two(Math.floor(tenths / 10) % 60)}.${tenths % 10}`;
}

/**
 * Replaces differences by sums, in place.
 * @param {number[]} numbers
 */
function accumulate(numbers) {
  for (let place = 1; place < numbers.length; place += 1) numbers[place] += numbers[place - 1];
}

/**
 * Decompresses the data of a case.
 * @param {number} place the place of the case in the summary
 * @param {string} id
 * @returns {Promise<CaseData>}
 */
async function load(place, id) {
  return unpack(element(`case-${place}`).textContent || "", id);
}

/**
 * Decompresses data.
 * @param {string} packed
 * @param {string} id the case that the data is about
 * @returns {Promise<CaseData>}
 */
async function unpack(packed, id) {
  const text = atob(packed.trim());
  const bytes = new Uint8Array(text.length);
  for (let byte = 0; byte < text.length; byte += 1) bytes[byte] = text.charCodeAt(byte);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
  /** @type {RawCase} */
  const raw = JSON.parse(await new Response(stream).text());
  accumulate(raw.events.at);
  accumulate(raw.versions.at);
  /** @type {number[][]} */
  const versionsOf = raw.objects.map(() => []);
  raw.versions.object.forEach((object, version) => versionsOf[object].push(version));
  return { ...raw, id, versionsOf };
}

/**
 * The place of the last item whose time is not after `at`; -1 if there is none.
 * @param {number} length
 * @param {(place: number) => number} time
 * @param {number} at
 * @returns {number}
 */
function lastNotAfter(length, time, at) {
  let [low, high] = [0, length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (time(middle) <= at) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

/**
 * The value of `steps` at a time; undefined before the first.
 * @template Value
 * @param {Steps<Value>} steps
 * @param {number} at
 * @returns {Value | undefined}
 */
function valueAt(steps, at) {
  const place = lastNotAfter(steps.length, (each) => steps[each][0], at);
  return place < 0 ? undefined : steps[place][1];
}

/**
 * The state of one object after a version of it; null where it is deleted.
 * @param {CaseData} data
 * @param {number} version
 * @returns {Record<string, any>}
 */
function objectAt(data, version) {
  /** @type {Record<string, any>} */
  const object = {};
  for (const each of data.versionsOf[data.versions.object[version]]) {
    if (each > version) break;
    for (const path of data.versions.unset[each].split("\n").filter(Boolean)) {
      const [part, field] = path.split("\t");
      if (field === undefined) delete object[part];
      else if (object[part]) delete object[part][field];
    }
    /** @type {Record<string, any>} */
    const changed = JSON.parse(data.versions.set[each]);
    for (const [part, value] of Object.entries(changed)) {
      const isGroup = value !== null && typeof value === "object" && !Array.isArray(value);
      object[part] = isGroup ? { ...object[part], ...value } : value;
    }
  }
  return object;
}

/**
 * The version before this one of the same object; -1 if there is none.
 * @param {CaseData} data
 * @param {number} version
 * @returns {number}
 */
function versionBefore(data, version) {
  const all = data.versionsOf[data.versions.object[version]];
  const place = all.indexOf(version);
  return place > 0 ? all[place - 1] : -1;
}

/**
 * A value as lines of YAML.
 * @param {any} value
 * @param {string} indent
 * @returns {string[]}
 */
function yaml(value, indent = "") {
  const isNested = (/** @type {any} */ each) =>
    each !== null && typeof each === "object" && Object.keys(each).length > 0;
  const scalar = (/** @type {any} */ each) =>
    typeof each === "string" && /^[A-Za-z/][\w./ -]*$/.test(each) ? each : JSON.stringify(each);
  if (!isNested(value)) return [indent + scalar(value)];
  const entries = Array.isArray(value) ? value.map((each) => ["-", each]) : Object.entries(value);
  return entries.flatMap(([key, each]) => {
    const head = Array.isArray(value) ? `${indent}-` : `${indent}${key}:`;
    if (!isNested(each)) return [`${head} ${scalar(each)}`];
    const lines = yaml(each, `${indent}  `);
    if (!Array.isArray(value)) return [head, ...lines];
    return [`${head} ${lines[0].trimStart()}`, ...lines.slice(1)];
  });
}

/**
 * The lines of two texts: those of both (" "), of the first ("-"), and of the second ("+").
 * @param {string[]} was
 * @param {string[]} is
 * @returns {Array<[string, string]>}
 */
function difference(was, is) {
  const width = is.length + 1;
  const common = new Uint16Array((was.length + 1) * width);
  for (let old = was.length - 1; old >= 0; old -= 1) {
    for (let now = is.length - 1; now >= 0; now -= 1) {
      common[old * width + now] = was[old] === is[now]
        ? common[(old + 1) * width + now + 1] + 1
        : Math.max(common[(old + 1) * width + now], common[old * width + now + 1]);
    }
  }
  /** @type {Array<[string, string]>} */
  const lines = [];
  let [old, now] = [0, 0];
  while (old < was.length || now < is.length) {
    if (old < was.length && now < is.length && was[old] === is[now]) {
      lines.push([" ", is[now]]);
      [old, now] = [old + 1, now + 1];
    } else if (now < is.length && (old === was.length || common[old * width + now + 1] > common[(old + 1) * width + now])) {
      lines.push(["+", is[now]]);
      now += 1;
    } else {
      lines.push(["-", was[old]]);
      old += 1;
    }
  }
  return lines;
}

/**
 * The beginning of the first fault, at which two runs are aligned.
 * @param {CaseData} data
 * @returns {number}
 */
function firstFault(data) {
  return data.faults.length > 0 ? Math.min(...data.faults.map((fault) => fault.from)) : 0;
}
