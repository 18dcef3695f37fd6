// The timeline's box: which lanes it shows, their labels, what is selected.

import { byID, make, say } from './dom.js';
import { count } from './format.js';
import { navigate, placeOf } from './navigate.js';
import { ROW, Scale, drawAxis, drawRows } from './timeline.js';

/** Rows shown at most; more are found by the filter. */
const MOST = 500;

export class Board {
  /** open shows a lane's page, selects is told of each ticket that is selected, or of none. */
  constructor(model, view, open, selects) {
    Object.assign(this, { model, view, open, selects, selected: undefined, only: undefined, text: '', labels: new Map() });
    this.rows = byID('rows');
    this.bars = byID('bars');
    this.rows.addEventListener('scroll', () => this.view.changed());
    byID('filter').addEventListener('input', (e) => {
      this.text = e.target.value.toLowerCase();
      this.view.changed();
    });
    for (const [id, act] of [
      ['back', () => view.pan(-0.4)], ['forth', () => view.pan(0.4)], ['out', () => view.zoom(2)], ['in', () => view.zoom(0.5)],
      ['live', () => view.follow(!view.live)],
    ]) byID(id).addEventListener('click', act);
    navigate(this.bars, this);
  }

  /** Shows one lane only, or all. */
  show(key) {
    this.only = key;
    if (key !== undefined && this.selected && this.selected.lane.key !== key) this.select(undefined);
    byID('filter-label').hidden = key !== undefined;
    this.view.changed();
  }

  lanes() {
    const all = this.model.lanes;
    if (this.only !== undefined) return all.has(this.only) ? [all.get(this.only)] : [];
    const list = [];
    for (const lane of all.values()) {
      if (lane.key.toLowerCase().includes(this.text)) list.push(lane);
      if (list.length === MOST) break;
    }
    return list;
  }

  scale() { return new Scale(...this.view.window(), this.bars.clientWidth); }

  top() { return this.rows.scrollTop; }

  select(ticket) {
    this.selected = ticket;
    if (ticket) {
      this.view.reveal(placeOf(ticket));
      this.rows.scrollTop = clampScroll(this.rows, this.lanes().indexOf(ticket.lane) * ROW);
    }
    this.selects(ticket);
    this.view.changed();
  }

  draw(palette) {
    const lanes = this.lanes();
    if (!lanes.length) return;
    const scale = this.scale(), height = this.rows.clientHeight;
    drawAxis(byID('axis'), palette, scale);
    this.bars.dataset.drawn = drawRows(this.bars, palette, scale, lanes, {
      top: this.top(), height, now: this.model.now(), selected: this.selected,
    });
  }

  /** Puts a label to every row. */
  layOut() {
    const lanes = this.lanes();
    byID('empty').hidden = lanes.length > 0;
    say(byID('empty'), this.model.lanes.size && this.only === undefined
      ? 'No lane matches the filter.' : 'Nothing has moved yet. Submit a request.');
    byID('timeline').hidden = !lanes.length;
    byID('live').setAttribute('aria-pressed', this.view.live);
    const height = `${lanes.length * ROW}px`;
    if (this.rows.style.getPropertyValue('--content') !== height) this.rows.style.setProperty('--content', height);
    const shown = new Set(lanes.map((l) => l.key));
    for (const [key, label] of this.labels) {
      if (shown.has(key)) continue;
      label.node.remove();
      this.labels.delete(key);
    }
    lanes.forEach((lane, i) => this.label(lane, i));
  }

  label(lane, i) {
    let label = this.labels.get(lane.key);
    if (!label) {
      const note = make('span');
      label = { note, node: make('p', {}, make('a', { href: `#lane=${encodeURIComponent(lane.key)}` }, lane.key), ' ', note) };
      this.labels.set(lane.key, label);
      byID('labels').append(label.node);
    }
    if (label.i !== i) {
      label.i = i;
      label.node.style.top = `${i * ROW}px`;
    }
    say(label.note, noteOf(lane));
  }
}

function clampScroll(box, y) {
  if (y < box.scrollTop) return y;
  return Math.max(box.scrollTop, y + ROW - box.clientHeight);
}

function noteOf(lane) {
  const parts = [];
  if (lane.paused) parts.push('paused');
  if (lane.running.size) parts.push(`${lane.running.size} running`);
  if (lane.waiting.size) parts.push(`${count(lane.waiting.size)} waiting`);
  return parts.join(', ') || 'idle';
}
