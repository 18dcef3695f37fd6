// How the states look: each has a colour, a pattern of its own and a sign of its own, so that no colour is needed to tell them.

const names = ['waiting', 'running', 'done', 'driven', 'retried', 'dead', 'parked', 'unknown', 'lost', 'late', 'snoozed', 'cancelled', 'voided'];

/** What the legend says. */
export const LEGEND = {
  waiting: 'waiting, at its slot', running: 'running', done: 'done', driven: 'driven: run from another’s delivery',
  retried: 'run failed, retried', dead: 'dead', parked: 'parked: its lane stands', unknown: 'outcome unknown: its lane stands', lost: 'run without its lease', late: 'delivered late', snoozed: 'snoozed',
  cancelled: 'cancelled', voided: 'voided',
};

/** Colours and patterns of the present theme. */
export class Palette {
  constructor(context) {
    const probe = document.body.appendChild(document.createElement('i')); // resolves light-dark()
    const colour = (name) => {
      probe.style.color = `var(--${name})`;
      return getComputedStyle(probe).color;
    };
    this.of = Object.fromEntries(names.map((n) => [n, colour(n)]));
    for (const name of ['ink', 'muted', 'line', 'paper', 'accent']) this[name] = colour(name);
    probe.remove();
    this.fill = { ...this.of };
    this.fill.driven = pattern(context, this.of.driven, this.paper, [[0, 8, 8, 0]]);
    this.fill.retried = pattern(context, this.of.retried, this.paper, [[3, 0, 3, 8]]);
    this.fill.dead = pattern(context, this.of.dead, this.paper, [[0, 0, 8, 8], [0, 8, 8, 0]]);
    this.fill.lost = pattern(context, this.of.lost, this.paper, [[0, 3, 8, 3]]);
  }
}

/** A pattern of lines on a ground. */
function pattern(context, ground, line, strokes) {
  const tile = new OffscreenCanvas(8, 8);
  const c = tile.getContext('2d');
  c.fillStyle = ground;
  c.fillRect(0, 0, 8, 8);
  c.strokeStyle = line;
  c.lineWidth = 1.6;
  c.beginPath();
  for (const [x, y, x2, y2] of strokes) {
    for (const shift of [-8, 0, 8]) {
      c.moveTo(x + (x === x2 ? 0 : shift), y);
      c.lineTo(x2 + (x === x2 ? 0 : shift), y2);
    }
  }
  c.stroke();
  return context.createPattern(tile, 'repeat');
}

/** Which look a run has. */
export function lookOf(run) {
  if (run.outcome === 'done') return run.driven ? 'driven' : 'done';
  return run.outcome;
}

/** What must not be hidden by what is drawn at the same place. */
export const RANK = { done: 1, driven: 2, running: 3, retried: 4, lost: 5, dead: 6 };

/** Draws the bar of a run. */
export function drawBar(c, palette, look, x, y, width, height) {
  c.fillStyle = palette.fill[look];
  c.fillRect(x, y, width, height);
  if (look === 'running') { // it has no end yet: an arrow, not an edge
    c.beginPath();
    c.moveTo(x + width, y);
    c.lineTo(x + width + 6, y + height / 2);
    c.lineTo(x + width, y + height);
    c.fill();
  } else if (look !== 'done' && width >= 5) {
    c.strokeStyle = palette.of[look];
    c.lineWidth = 1;
    c.strokeRect(x + 0.5, y + 0.5, width - 1, height - 1);
  }
}

/** Draws the sign of a state around a point; false for a state that has none. */
export function drawSign(c, palette, state, x, y) {
  const draw = signs[state];
  if (!draw) return false;
  c.fillStyle = c.strokeStyle = palette.of[state];
  c.lineWidth = 1.8;
  c.beginPath();
  draw(c, x, y);
  return true;
}

const polygon = (...points) => (c, x, y) => {
  points.forEach(([dx, dy], i) => (i ? c.lineTo(x + dx, y + dy) : c.moveTo(x + dx, y + dy)));
  c.closePath();
};
const filled = (shape) => (c, x, y) => { shape(c, x, y); c.fill(); };
const outlined = (shape) => (c, x, y) => { shape(c, x, y); c.stroke(); };
const strokes = (...lines) => (c, x, y) => {
  for (const [a, b, d, e] of lines) {
    c.moveTo(x + a, y + b);
    c.lineTo(x + d, y + e);
  }
  c.stroke();
};
const circle = (c, x, y) => c.arc(x, y, 3.5, 0, 2 * Math.PI);

const signs = {
  waiting: outlined(polygon([-3, -3], [3, -3], [3, 3], [-3, 3])),
  driven: filled(polygon([-3, -4], [4, 0], [-3, 4])),
  retried: strokes([-4, 0, 4, 0], [0, -4, 0, 4]),
  dead: strokes([-3.5, -3.5, 3.5, 3.5], [-3.5, 3.5, 3.5, -3.5]),
  parked: strokes([-2.5, -4, -2.5, 4], [2.5, -4, 2.5, 4]),
  unknown: (c, x, y) => {
    c.arc(x, y - 2, 2.6, Math.PI, 2.5 * Math.PI);
    c.lineTo(x, y + 2);
    c.moveTo(x, y + 4);
    c.lineTo(x, y + 5.5);
    c.stroke();
  },
  lost: outlined(polygon([0, -4], [4, 3.5], [-4, 3.5])),
  late: filled(polygon([-4, -3.5], [4, -3.5], [0, 4])),
  snoozed: outlined(circle),
  cancelled: (c, x, y) => { circle(c, x, y); c.stroke(); c.beginPath(); strokes([-3, 3, 3, -3])(c, x, y); },
  voided: outlined(polygon([0, -4.5], [4.5, 0], [0, 4.5], [-4.5, 0])),
};
