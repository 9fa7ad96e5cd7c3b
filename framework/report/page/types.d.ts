// Types of the data in the page, for the check of the scripts (`tsc --project jsconfig.json`). No browser reads this file.

/** A value that changes at certain times: microseconds and the value from then on, in order. */
type Steps<Value> = Array<[number, Value]>;

interface MemberLane {
  name: string;
  health: Steps<string>;
  taints: Array<{ name: string; effect: string; present: Steps<boolean> }>;
}

interface PlaceLane {
  member: string;
  assigned: Steps<number | null>;
  task: Steps<string | null>;
  manifest: Steps<string>;
  ready: Steps<number>;
}

interface WorkloadLane {
  name: string;
  /** The requested replicas, the ready ones, and the ready ones in members that no fault cuts off. */
  replicas: Steps<[number, number, number]>;
  lost: number;
  places: PlaceLane[];
}

interface Fault {
  kind: string;
  member: string | null;
  from: number;
  to: number | null;
  /** The effect in words. */
  effect: string;
}

interface JudgedWindow {
  guarantee: string;
  subject: string;
  since: number | null;
  earliest: number | null;
  latest: number | null;
  at: number;
  result: "held" | "violated" | "undecided";
}

interface ChainLine {
  label: string;
  text: string;
  at: number | null;
}

interface Problem {
  title: string;
  sentence: string;
  subject: string;
  guarantee: string | null;
  since: number | null;
  earliest: number | null;
  latest: number | null;
  at: number;
  lines: ChainLine[];
}

interface RawCase {
  span: number;
  wallStart: number | null;
  members: MemberLane[];
  workloads: WorkloadLane[];
  faults: Fault[];
  texts: string[];
  events: { at: number[]; text: number[]; member: number[]; workload: number[]; version: number[] };
  objects: Array<[string, string, string]>;
  versions: { at: number[]; object: number[]; event: string; set: string[]; unset: string[] };
  windows: JudgedWindow[];
  problems: Problem[];
}

/** A case as it is shown: the raw data with absolute times and indexes. */
interface CaseData extends RawCase {
  id: string;
  /** The versions of each object, in order. */
  versionsOf: number[][];
}

interface CaseSummary {
  id: string;
  group: string;
  status: "passed" | "failed" | "not exercised" | "skipped";
  reason: string;
  replay: string;
  span: number;
  problems: string[];
  lost: number;
  hasData: boolean;
}

interface Summary {
  verdict: string;
  about: string[];
  conforms: boolean;
  cases: CaseSummary[];
  guarantees: Array<{ id: string; sentence: string; verdict: string; counts: string; margin: string }>;
}

interface Row {
  kind: "section" | "faults" | "member" | "workload" | "place" | "windows" | "events";
  label: string;
  data: CaseData;
  /** The time that is added to a time of the view to get a time of the data. */
  shift: number;
  y: number;
  height: number;
  member?: MemberLane;
  workload?: WorkloadLane;
  place?: PlaceLane;
  windows?: JudgedWindow[];
  /** The same row of the other run, where two runs are compared. */
  partner?: Row;
}

/** The part of the state that the page shows. Times are microseconds of the first run. */
interface View {
  data: CaseData | null;
  /** The run below, where two runs are compared. */
  other: CaseData | null;
  /** The shown part of the time. */
  from: number;
  to: number;
  cursor: number | null;
  /** The selected version, and the run that it belongs to. */
  selected: { data: CaseData; version: number } | null;
  /** The place of the selected problem; -1 if none is selected. */
  problem: number;
  /** Whether the whole object is shown, and not only its changes. */
  isWhole: boolean;
}

/** The state of a running fleet, as the live page reads it. */
interface LiveState {
  /** Seconds since the fleet was started, by its own clock. */
  atSeconds: number;
  time: string;
  speed: number;
  members: Array<{ name: string }>;
}

declare class DecompressionStream {
  constructor(format: string);
  readonly readable: ReadableStream<Uint8Array>;
  readonly writable: WritableStream<Uint8Array>;
}
