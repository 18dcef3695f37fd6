// One row per lane: tickets as bars from their slot (thin) to their start and their end (thick), drawn where they can be seen.

import { prepare, ticks } from './canvas.js';
import { clock } from './format.js';
import { RANK, drawBar, drawSign, lookOf } from './marks.js';
import { firstAt } from './model.js';

/** Height of a row in CSS pixels: label, signs, bars. */
export const ROW = 56;
const SIGNS = 28, BARS = 36, BAR = 16;
const THINNEST = 3; // a run of a millisecond is seen too

/** Instants to pixels. */
export class Scale {
  constructor(start, end, width) { Object.assign(this, { start, end, width, perMS: width / (end - start) }); }

  x(at) { return (at - this.start) * this.perMS; }

  at(x) { return this.start + x / this.perMS; }
}

/** Draws the axis. */
export function drawAxis(canvas, palette, scale) {
  const { c, width } = prepare(canvas, 20);
  c.font = '11px system-ui, sans-serif';
  c.fillStyle = palette.muted;
  c.textBaseline = 'middle';
  for (const t of ticks(scale.start, scale.end, width)) {
    const x = scale.x(t);
    c.fillRect(x, 14, 1, 6);
    if (x + 60 < width) c.fillText(clock(t, scale.end - scale.start < 8000), x + 3, 9);
  }
}

/** Draws the rows of lanes from pixel top on; answers how many bars and signs that took. */
export function drawRows(canvas, palette, scale, lanes, { top, height, now, selected }) {
  const { c, width } = prepare(canvas, height);
  c.fillStyle = palette.line;
  for (const t of ticks(scale.start, scale.end, width)) c.fillRect(Math.round(scale.x(t)), 0, 1, height);
  let drawn = 0;
  const first = Math.max(0, Math.floor(top / ROW)), last = Math.min(lanes.length, Math.ceil((top + height) / ROW));
  for (let i = first; i < last; i++) {
    const y = i * ROW - top;
    c.fillStyle = palette.line;
    c.fillRect(0, y + ROW - 1, width, 1);
    const row = new Row(c, palette, scale, y, now);
    row.slips(lanes[i]);
    row.runs(lanes[i]);
    row.waiting(lanes[i]);
    row.points(lanes[i]);
    if (selected?.lane === lanes[i]) row.select(selected);
    drawn += row.drawn;
  }
  c.fillStyle = palette.accent;
  c.fillRect(Math.round(scale.x(now)), 0, 1.5, height);
  return drawn;
}

/** One lane's row while it is drawn. What falls on a pixel that is drawn already is left out. */
class Row {
  constructor(c, palette, scale, y, now) {
    Object.assign(this, { c, palette, scale, y, now, drawn: 0, signed: {} });
  }

  * seen(lane) {
    const { start, end } = this.scale;
    for (let i = firstAt(lane.runs, start - lane.longest); i < lane.runs.length && lane.runs[i].at <= end; i++) yield lane.runs[i];
    for (const run of lane.running.values()) if (run.at < start - lane.longest) yield run;
  }

  slips(lane) {
    this.c.fillStyle = this.palette.of.waiting;
    const y = this.y + BARS + BAR / 2 - 1.5;
    let reached = -1;
    const line = (from, to) => {
      const x = Math.max(0, reached, this.scale.x(from)), x2 = Math.min(this.scale.width, this.scale.x(to));
      if (x2 - x < 1) return;
      this.c.fillRect(x, y, x2 - x, 3);
      reached = x2;
      this.drawn++;
    };
    for (const run of this.seen(lane)) if (run.slot) line(run.slot, run.at);
    for (const t of lane.waiting.values()) if (t.slot < this.now) line(t.slot, this.now);
  }

  runs(lane) {
    const height = BAR / lane.tracks, last = []; // per track: what was drawn last
    for (const run of this.seen(lane)) {
      const end = run.outcome === 'running' ? this.now : run.end;
      const x = Math.max(-2, this.scale.x(run.at)), x2 = Math.min(this.scale.width + 2, this.scale.x(end));
      if (x2 < 0) continue;
      const look = lookOf(run), before = last[run.track];
      const width = Math.max(THINNEST, x2 - x - 1);
      const covered = before && (x2 - x <= THINNEST ? x < before.end : x + width <= before.end);
      if (covered && RANK[look] <= before.rank) continue;
      last[run.track] = { end: x + width, rank: RANK[look] };
      drawBar(this.c, this.palette, look, x, this.y + BARS + run.track * height, width, Math.max(2, height - 1));
      this.sign(look, x + Math.min(4, width / 2));
      this.drawn++;
    }
  }

  waiting(lane) {
    let before = -9;
    for (const t of lane.waiting.values()) {
      const x = this.scale.x(Math.max(t.slot, this.scale.start + 4 / this.scale.perMS));
      if (x > this.scale.width + 4 || (t.state === 'waiting' && Math.abs(x - before) < 8)) continue;
      before = x;
      drawSign(this.c, this.palette, t.state, x, this.y + BARS + BAR / 2);
      this.drawn++;
    }
  }

  points(lane) {
    const { start, end } = this.scale;
    for (let i = firstAt(lane.points, start); i < lane.points.length && lane.points[i].at <= end; i++) {
      this.sign(lane.points[i].kind, this.scale.x(lane.points[i].at));
    }
  }

  /** A sign above the bars, unless one like it is beside it. */
  sign(state, x) {
    if (x - (this.signed[state] ?? -99) < 9) return;
    if (!drawSign(this.c, this.palette, state, x, this.y + SIGNS)) return;
    this.signed[state] = x;
    this.drawn++;
  }

  select(t) {
    const from = this.scale.x(t.run ? t.run.at : t.slot), to = this.scale.x(t.run ? t.run.end || this.now : t.slot);
    this.c.strokeStyle = this.palette.ink;
    this.c.lineWidth = 2;
    this.c.strokeRect(from - 6, this.y + BARS - 4, Math.max(12, to - from + 12), BAR + 8);
  }
}
