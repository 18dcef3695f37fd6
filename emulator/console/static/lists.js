// The requests of a lane that wait, and those that were given up, as the API lists them.

import * as actions from './actions.js';
import { lanePath, read } from './api.js';
import { button, byID, make } from './dom.js';
import { clock } from './format.js';

/** Rows shown of each list. */
const PAGE = 50;

const when = (text) => (text ? clock(Date.parse(text)) : '-');

export class Lists {
  constructor(run) { this.run = run; }

  clear() { for (const id of ['waiting', 'dead']) byID(id).replaceChildren(); }

  /** Reads and shows both lists, unless the page has gone on to another lane. */
  async refresh(key, state, still) {
    await Promise.all([
      this.list(`${lanePath(key)}/requests?status=queued&page_size=${PAGE}`, byID('waiting'), still,
        (got) => this.waiting(key, got.requests, state)),
      this.list(`${lanePath(key)}/dead-letters?page_size=${PAGE}`, byID('dead'), still,
        (got) => this.dead(key, got.dead_letters)),
    ]);
  }

  async list(path, box, still, rows) {
    let content;
    try {
      const got = await read('GET', path);
      content = rows(got);
      if (got.next_page_token) content.append(make('p', { className: 'note' }, `The first ${PAGE} are shown.`));
    } catch (error) {
      content = make('p', { className: 'problem' }, error.message);
    }
    if (still()) replace(box, content);
  }

  waiting(key, requests, state) {
    const stands = ['parked', 'unknown'].includes(state.why.reason) ? state.why.ticket : 0;
    return table(['Position', 'Ticket', 'Request', 'Slot', 'Attempts', 'Do'], requests.map((r) => [
      r.position ?? '-', r.ticket, r.id, when(r.slot), r.attempts, [
        button('Cancel', () => this.run(() => actions.cancel(key, r.id)), { 'aria-label': `Cancel request ${r.id}`, className: 'danger' }),
        ...(r.ticket === stands ? [this.skip(key, r.id)] : []),
      ],
    ]), 'Nothing waits.');
  }

  dead(key, letters) {
    return table(['Ticket', 'Request', 'Ended', 'Why', 'Attempts', 'Do'], letters.map((r) => [
      r.ticket, r.id, r.parked ? 'parked: the lane stands' : when(r.finished), r.error ? `${r.error.reason} ${r.error.detail ?? ''}` : '-', r.attempts, [
        button('Redrive', () => this.run(() => actions.redrive(key, r.id)), { 'aria-label': `Redrive request ${r.id}` }),
        ...(r.parked ? [this.skip(key, r.id)] : []),
      ],
    ]), 'No dead letter.');
  }

  skip(key, id) {
    return button('Skip', () => this.run(() => actions.skip(key, id)), { 'aria-label': `Skip request ${id}`, className: 'danger' });
  }
}

function table(heads, rows, none) {
  if (!rows.length) return make('div', {}, make('p', { className: 'note' }, none));
  return make('div', { className: 'scroll', tabIndex: 0, role: 'group', 'aria-label': heads.join(', ') }, make('table', {},
    make('thead', {}, make('tr', {}, ...heads.map((h) => make('th', { scope: 'col' }, h)))),
    make('tbody', {}, ...rows.map((row) => make('tr', {}, ...row.map((cell) => make('td', {}, ...[cell].flat())))))));
}

/** Puts new content into a box; the focus stays inside where it was. */
function replace(box, content) {
  if (box.firstChild?.textContent === content.textContent) return;
  const focused = box.contains(document.activeElement);
  box.replaceChildren(content);
  if (focused) (box.querySelector('button') ?? box).focus();
}
