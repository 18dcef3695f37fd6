// Where the requests of a lane go, and the buttons that hold what goes there.

import * as actions from './actions.js';
import { read } from './api.js';
import { button, byID, make } from './dom.js';

export class Targets {
  /** run does what a button asks, and shows what the API says against it. */
  constructor(run) {
    this.run = run;
    this.shown = '';
  }

  /** Reads and shows them, unless the page has gone on to another lane. */
  async refresh(key, still) {
    const list = await read('GET', `api/targets?key=${encodeURIComponent(key)}`), shown = JSON.stringify([key, list]);
    if (!still() || shown === this.shown) return;
    this.shown = shown;
    const box = byID('targets'), focused = box.contains(document.activeElement) && document.activeElement.dataset.target;
    box.replaceChildren(...list.flatMap((t) => this.target(t)));
    if (focused) (box.querySelector(`[data-target=${CSS.escape(focused)}]`) ?? box).focus();
  }

  target({ name, paused }) {
    const [text, work] = paused ? ['Resume', actions.resumeTarget] : ['Pause', actions.pauseTarget];
    return [
      make('span', {}, 'Target ', make('code', {}, name), paused ? ' is paused' : ''),
      button(`${text} the target`, () => this.run(() => work(name)), { 'data-target': name, 'aria-label': `${text} the target ${name}` }),
    ];
  }
}
