// Depth and slip over the timeline's stretch of time.

import { prepare, ticks } from './canvas.js';
import { count, span } from './format.js';
import { firstAt } from './model.js';

const LEFT = 52, BOTTOM = 4, TOP = 8, HEIGHT = 120;

/** The value axis: a line and a name at each mark. */
function axis(c, palette, width, y, marks) {
  c.font = '11px system-ui, sans-serif';
  c.textBaseline = 'middle';
  c.textAlign = 'right';
  for (const [value, name] of marks) {
    c.fillStyle = palette.line;
    c.fillRect(LEFT, Math.round(y(value)), width - LEFT, 1);
    c.fillStyle = palette.muted;
    c.fillText(name, LEFT - 6, y(value));
  }
}

/** The plot's own scale of time: right of the value axis. */
function time(c, palette, [start, end], width) {
  const perMS = (width - LEFT) / (end - start), x = (at) => LEFT + (at - start) * perMS;
  c.fillStyle = palette.line;
  for (const t of ticks(start, end, width - LEFT)) c.fillRect(Math.round(x(t)), TOP, 1, HEIGHT - TOP - BOTTOM);
  return x;
}

/** Smallest of 1, 2, 5, 10, 20, … that is not below n. */
function round(n) {
  const power = 10 ** Math.floor(Math.log10(Math.max(1, n)));
  return [1, 2, 5, 10].map((f) => f * power).find((v) => v >= n);
}

/** Draws a series of steps; answers its text. */
export function drawDepth(canvas, palette, window, series, now) {
  const { c, width } = prepare(canvas, HEIGHT), [start, end] = window;
  const first = Math.max(0, firstAt(series, start) - 1), past = firstAt(series, end);
  let most = 0;
  for (let i = first; i < past; i++) most = Math.max(most, series[i].value);
  const high = round(most), y = (v) => HEIGHT - BOTTOM - v / high * (HEIGHT - TOP - BOTTOM);
  const at = time(c, palette, window, width);
  axis(c, palette, width, y, [0, high / 2, high].filter(Number.isInteger).map((v) => [v, count(v)]));
  const text = `Unresolved requests: ${count(series.at(-1)?.value ?? 0)} now, at most ${count(most)} in the time shown.`;
  if (now < start) return text;
  c.save();
  c.beginPath();
  c.rect(LEFT, 0, width - LEFT, HEIGHT);
  c.clip();
  c.beginPath();
  let value = 0, x = LEFT;
  c.moveTo(LEFT, y(0));
  for (let i = first; i < past; i++) {
    x = Math.max(LEFT, at(series[i].at));
    c.lineTo(x, y(value));
    value = series[i].value;
    c.lineTo(x, y(value));
  }
  x = Math.max(LEFT, at(Math.min(now, end)));
  c.lineTo(x, y(value));
  c.strokeStyle = palette.accent;
  c.lineWidth = 1.8;
  c.stroke();
  c.lineTo(x, y(0));
  c.globalAlpha = 0.15;
  c.fillStyle = palette.accent;
  c.fill();
  c.restore();
  return text;
}

const DECADES = [[0, '0'], [10, '10 ms'], [100, '100 ms'], [1000, '1 s'], [10_000, '10 s'], [100_000, '100 s'], [1e6, '1000 s'], [1e7, '10⁴ s'], [1e8, '10⁵ s']];

/** Draws start less slot of first runs, logarithmically; answers its text. */
export function drawSlip(canvas, palette, window, slips) {
  const { c, width } = prepare(canvas, HEIGHT);
  const first = firstAt(slips, window[0]), last = firstAt(slips, window[1]);
  const values = slips.slice(first, last).map((s) => s.value).sort((a, b) => a - b);
  const top = Math.max(10, values.at(-1) ?? 0), marks = DECADES.slice(0, DECADES.findIndex(([v]) => v >= top) + 1);
  const high = marks.at(-1)[0];
  const y = (v) => HEIGHT - BOTTOM - Math.log1p(v) / Math.log1p(high) * (HEIGHT - TOP - BOTTOM);
  const at = time(c, palette, window, width);
  axis(c, palette, width, y, marks);
  c.fillStyle = palette.accent;
  let x = -1, highest = -1;
  for (let i = first; i < last; i++) {
    const here = Math.round(at(slips[i].at));
    if (here === x && slips[i].value <= highest) continue;
    [x, highest] = [here, slips[i].value];
    c.fillRect(here - 1.5, y(slips[i].value) - 1.5, 3, 3);
  }
  if (!values.length) return 'No first start in the time shown.';
  const part = (p) => span(values[Math.min(values.length - 1, Math.floor(values.length * p))]);
  return `From slot to start: median ${part(0.5)}, 99 of 100 within ${part(0.99)}, at most ${part(1)}; ${count(values.length)} starts.`;
}
