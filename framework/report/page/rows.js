// The rows of the time line, from top to bottom: violated guarantees, members, workloads, and the other guarantees.
"use strict";

/** @type {Row[]} */
let rows = [];

/**
 * All rows of one run.
 * @param {CaseData} data
 * @param {number} shift
 * @returns {Row[]}
 */
function rowsOf(data, shift) {
  /** @type {Row[]} */
  const all = [];
  const add = (/** @type {Partial<Row>} */ row) =>
    all.push({ kind: "section", label: "", data, shift, y: 0, height: 22, ...row });
  const windows = windowsByGuarantee(data);
  const isViolated = (/** @type {JudgedWindow[]} */ each) => each.some((one) => one.result === "violated");
  const addWindows = (/** @type {boolean} */ violated, /** @type {string} */ title) => {
    const chosen = [...windows].filter(([, each]) => isViolated(each) === violated);
    if (chosen.length > 0) add({ label: title });
    for (const [id, each] of chosen) add({ kind: "windows", label: id, windows: each, height: 18 });
  };
  addWindows(true, "Violated guarantees");
  add({ label: data.members.length === 1 ? "Member" : "Members" });
  add({ kind: "faults", label: "control plane, steps", height: 18 });
  for (const member of data.members) {
    add({ kind: "member", label: member.name, member, height: 16 + 13 * member.taints.length });
  }
  if (data.workloads.length > 0) add({ label: data.workloads.length === 1 ? "Workload" : "Workloads" });
  for (const workload of data.workloads) {
    add({ kind: "workload", label: workload.name, workload, height: hasReplicas(workload) ? 46 : 16 });
    for (const place of workload.places) {
      add({ kind: "place", label: place.member, workload, place, height: 17 });
    }
  }
  addWindows(false, "Guarantees with a deadline");
  add({ label: "Events" });
  add({ kind: "events", label: "all events", height: 24 });
  return all;
}

/**
 * Whether the workload ever had replicas.
 * @param {WorkloadLane} workload
 * @returns {boolean}
 */
function hasReplicas(workload) {
  return workload.replicas.some(([, [asked, ready]]) => asked > 0 || ready > 0);
}

/**
 * The judged times of each guarantee, by its id.
 * @param {CaseData} data
 * @returns {Map<string, JudgedWindow[]>}
 */
function windowsByGuarantee(data) {
  /** @type {Map<string, JudgedWindow[]>} */
  const all = new Map();
  for (const each of data.windows) {
    const known = all.get(each.guarantee);
    if (known) known.push(each);
    else all.set(each.guarantee, [each]);
  }
  return all;
}

/** Lays out the rows of the case, and of the other run below it. */
function layOut() {
  rows = view.data ? rowsOf(view.data, 0) : [];
  if (view.data && view.other) {
    const shift = otherShift();
    const key = (/** @type {Row} */ row) => [row.kind, row.workload?.name, row.label].join(" ");
    const first = new Map(rows.map((row) => [key(row), row]));
    const second = rowsOf(view.other, shift);
    for (const row of second) {
      const partner = first.get(key(row));
      if (partner) [row.partner, partner.partner] = [partner, row];
    }
    const title = (/** @type {CaseData} */ data, /** @type {number} */ by) =>
      /** @type {Row} */ ({ kind: "section", label: `▸ ${data.id}`, data, shift: by, y: 0, height: 26 });
    rows = [title(view.data, 0), ...rows, title(view.other, shift), ...second];
  }
  let y = 0;
  for (const row of rows) {
    row.y = y;
    y += row.height;
  }
}

/** The height of all rows. */
function rowsHeight() {
  const last = rows[rows.length - 1];
  return last ? last.y + last.height : 0;
}

/**
 * A text for the state of a row at a time of its own run. Equal states have equal texts.
 * @param {Row} row
 * @param {number} at
 * @returns {string}
 */
function stateAt(row, at) {
  if (row.member) {
    const taints = row.member.taints.filter((taint) => valueAt(taint.present, at)).map((taint) => taint.name);
    const faults = faultsAt(row.data, row.member.name, at).map((fault) => fault.kind);
    return [valueAt(row.member.health, at) || "", ...taints.sort(), ...faults].join(" ");
  }
  if (row.place) {
    const { assigned, task, manifest, ready } = row.place;
    return [valueAt(assigned, at), valueAt(task, at), valueAt(manifest, at), valueAt(ready, at)].join(" ");
  }
  if (row.workload) return String(valueAt(row.workload.replicas, at));
  if (row.kind === "faults") return faultsAt(row.data, null, at).map((fault) => fault.kind).join(" ");
  return "";
}

/**
 * The faults that hit a member, or the control plane, at a time.
 * @param {CaseData} data
 * @param {string | null} member
 * @param {number} at
 * @returns {Fault[]}
 */
function faultsAt(data, member, at) {
  return data.faults.filter(
    (fault) => fault.member === member && fault.from <= at && (fault.to === null || at < fault.to),
  );
}
