// What is known of lanes and tickets, made of the stream's events alone.

/** How many ended tickets are kept over all lanes. */
const KEPT = 20_000;
const SERIES = 8192, STEP = 50; // points of a depth series, milliseconds that one stands for
const RECENT = 400; // transitions kept for the table, per lane and over all
const TRACKS = 6; // runs of a lane drawn beside each other

/** Appends to a bounded array, dropping the older half when it is full. */
function push(list, item, most) {
  list.push(item);
  if (list.length > most) list.splice(0, most >> 1);
}

/** Appends a point of a depth series. */
function pushDepth(series, at, value) {
  if (at < series.at(-1)?.at + STEP) series.at(-1).value = value;
  else push(series, { at, value }, SERIES);
}

/** Appends keeping the order by field at; events come nearly in order. */
function pushOrdered(list, item) {
  let i = list.length;
  while (i > 0 && list[i - 1].at > item.at) i--;
  if (i === list.length) list.push(item);
  else list.splice(i, 0, item);
}

/** Index of the first item whose at is not before t. */
export function firstAt(list, t) {
  let low = 0, high = list.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (list[middle].at < t) low = middle + 1;
    else high = middle;
  }
  return low;
}

class Lane {
  constructor(key) {
    this.key = key;
    this.tickets = new Map();
    this.order = []; // tickets as they were reserved
    this.waiting = new Map();
    this.running = new Map(); // ticket -> run
    this.runs = []; // {at, end, outcome, driven, track, ticket}, by start
    this.points = []; // {at, kind, ticket}: what has no length
    this.depth = []; // {at, value}
    this.slips = []; // {at, value, ticket}
    this.recent = [];
    this.longest = 0; // longest run
    this.tracks = 1;
    this.paused = false;
  }

  ticket(e) {
    let t = this.tickets.get(e.ticket);
    if (!t) {
      t = { lane: this, number: e.ticket, id: e.id, slot: e.slot || e.at, state: 'waiting', attempts: 0, snoozes: 0, driven: false, late: 0, run: undefined, reason: '' };
      this.tickets.set(e.ticket, t);
      this.order.push(t);
    }
    return t;
  }
}

/** Depth of a lane: what waits and what runs. */
const depthOf = (lane) => lane.waiting.size + lane.running.size;

/** The state of all lanes. */
export class Model {
  constructor() { this.reset(); }

  reset() {
    this.lanes = new Map();
    this.all = { depth: [], slips: [], recent: [] };
    this.ended = []; // tickets in the order of their ends
    this.depth = 0;
    this.offset = 0; // server's time less ours
  }

  /** The server's present time. */
  now() { return Date.now() + this.offset; }

  applyBatch(batch) {
    if (batch.reset) this.reset();
    this.offset = batch.now - Date.now();
    for (const e of batch.events) this.apply(e);
    this.prune();
  }

  apply(e) {
    let lane = this.lanes.get(e.key);
    if (!lane) this.lanes.set(e.key, lane = new Lane(e.key));
    push(lane.recent, e, RECENT);
    push(this.all.recent, e, RECENT);
    const before = depthOf(lane);
    if (e.ticket) applyToTicket[e.kind]?.(lane, lane.ticket(e), e, this);
    else applyToLane[e.kind]?.(lane, e, this);
    const after = depthOf(lane);
    if (after !== before || e.kind === 'reserved') {
      this.depth += after - before;
      pushDepth(lane.depth, e.at, after);
      pushDepth(this.all.depth, e.at, this.depth);
    }
  }

  /** Forgets the oldest of what has ended. */
  prune() {
    if (this.ended.length <= KEPT) return;
    const lanes = new Set();
    for (const t of this.ended.splice(0, this.ended.length - KEPT + KEPT / 10)) {
      t.lane.tickets.delete(t.number);
      t.gone = true;
      lanes.add(t.lane);
    }
    for (const lane of lanes) {
      for (const list of ['order', 'runs', 'points', 'slips']) lane[list] = lane[list].filter((i) => !(i.ticket ?? i).gone);
    }
    this.all.slips = this.all.slips.filter((i) => !i.ticket.gone);
  }
}

function endRun(lane, t, e, outcome) {
  const run = lane.running.get(t.number);
  if (!run) return;
  run.end = e.at;
  run.outcome = outcome;
  lane.longest = Math.max(lane.longest, run.end - run.at);
  lane.running.delete(t.number);
}

function end(lane, t, e, model, state) {
  if (t.state === state) return;
  lane.waiting.delete(t.number);
  endRun(lane, t, e, state);
  t.state = state;
  t.ended = e.at;
  t.reason = e.reason || '';
  model.ended.push(t);
}

function point(lane, t, e) { pushOrdered(lane.points, { at: e.at, kind: e.kind, ticket: t }); }

function take(lane, t, e, model, state) {
  end(lane, t, e, model, state);
  point(lane, t, { at: e.at, kind: state });
}

function wait(lane, t) {
  t.state = 'waiting';
  lane.waiting.set(t.number, t);
}

function freeTrack(lane) {
  const taken = new Set([...lane.running.values()].map((r) => r.track));
  let track = 0;
  while (taken.has(track) && track < TRACKS - 1) track++;
  lane.tracks = Math.max(lane.tracks, track + 1);
  return track;
}

const applyToTicket = {
  reserved(lane, t, e) {
    if (t.attempts || t.state !== 'waiting') return;
    t.slot = e.slot;
    wait(lane, t);
  },
  granted(lane, t, e, model) {
    endRun(lane, t, e, 'lost');
    lane.waiting.delete(t.number);
    const run = { at: e.at, end: 0, outcome: 'running', driven: !!e.driven, track: freeTrack(lane), ticket: t, attempt: e.attempt };
    if (!t.run) {
      const slip = { at: e.at, value: Math.max(0, e.at - t.slot), ticket: t };
      run.slot = t.slot;
      pushOrdered(lane.slips, slip);
      pushOrdered(model.all.slips, slip);
    }
    Object.assign(t, { state: 'running', attempts: e.attempt, driven: t.driven || run.driven, run });
    lane.running.set(t.number, run);
    pushOrdered(lane.runs, run);
  },
  done(lane, t, e, model) { end(lane, t, e, model, 'done'); },
  dead(lane, t, e, model) { end(lane, t, e, model, 'dead'); },
  parked(lane, t, e) {
    endRun(lane, t, e, 'dead');
    t.slot = e.at;
    t.reason = e.reason || '';
    wait(lane, t);
    t.state = 'parked';
  },
  retried(lane, t, e) {
    endRun(lane, t, e, 'retried');
    t.slot = e.slot || e.at;
    t.reason = e.reason || '';
    wait(lane, t);
  },
  lost(lane, t, e) {
    if (e.attempt !== t.attempts) return; // another run has begun since
    endRun(lane, t, e, 'lost');
    if (t.state === 'running') wait(lane, t);
  },
  unknown(lane, t, e) {
    endRun(lane, t, e, 'lost');
    t.slot = e.at;
    wait(lane, t);
    t.state = 'unknown';
  },
  redriven(lane, t, e) {
    t.slot = e.at;
    wait(lane, t);
  },
  snoozed(lane, t, e) {
    t.snoozes++;
    point(lane, t, e);
  },
  late(lane, t, e) {
    t.late = Math.max(t.late, e.late_ms);
    point(lane, t, e);
  },
  voided(lane, t, e, model) { take(lane, t, e, model, 'voided'); },
  cancelled(lane, t, e, model) { take(lane, t, e, model, 'cancelled'); },
};

const applyToLane = {
  paused(lane) { lane.paused = true; },
  resumed(lane) { lane.paused = false; },
  purged(lane, e, model) { for (const t of [...lane.waiting.values()]) take(lane, t, e, model, 'cancelled'); },
};
