// What the shapes mean, drawn by what draws them.

import { byID, make } from './dom.js';
import { LEGEND, drawBar, drawSign } from './marks.js';
import { prepare } from './canvas.js';

const BARS = new Set(['running', 'done', 'driven', 'retried', 'dead', 'lost']);

export function drawLegend(palette) {
  const list = byID('legend');
  if (!list.firstChild) {
    list.append(...Object.entries(LEGEND).map(([state, text]) => make('li', {}, make('canvas', { 'data-state': state, 'aria-hidden': 'true' }), text)));
  }
  for (const canvas of list.querySelectorAll('canvas')) {
    const { c } = prepare(canvas, 26), state = canvas.dataset.state;
    if (BARS.has(state)) drawBar(c, palette, state, 2, 12, 18, 12);
    drawSign(c, palette, state, BARS.has(state) ? 8 : 11, BARS.has(state) ? 6 : 16);
  }
}
