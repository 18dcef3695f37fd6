// The table of what happened: the timeline in words.

import { byID, make } from './dom.js';
import { clock, shortTicket, span } from './format.js';

const SHOWN = 100;

const after = (e) => (e.attempt ? ` after attempt ${e.attempt}` : '');

const words = {
  reserved: (e) => `took its place, slot ${clock(e.slot)}`,
  granted: (e) => `started, attempt ${e.attempt}${e.driven ? ', driven from another’s delivery' : ''}`,
  done: (e) => `done${after(e)}`,
  retried: (e) => `attempt ${e.attempt} failed (${e.reason}), again from ${clock(e.slot)}`,
  dead: (e) => `dead${after(e)} (${e.reason})`,
  redriven: () => 'runs again, as an operator said',
  parked: (e) => `parked after attempt ${e.attempt} (${e.reason}): the lane stands`,
  snoozed: (e) => `snoozed until ${clock(e.slot)}${e.reason ? ` (${e.reason})` : ''}`,
  late: (e) => `delivered ${span(e.late_ms)} late`,
  unknown: () => 'its lease was lost, and nobody knows to what end: the lane stands',
  voided: () => 'voided: it has no task',
  lost: (e) => `attempt ${e.attempt} ended without its lease`,
  cancelled: () => 'cancelled',
  paused: () => 'lane paused',
  resumed: () => 'lane resumed',
  purged: () => 'all that waited was cancelled',
};

/** Shows the newest of a list of events. */
export function showTransitions(events) {
  if (byID('hold').checked) return;
  byID('transitions').replaceChildren(...events.slice(-SHOWN).reverse().map((e) => make('tr', { 'data-kind': e.kind },
    make('td', {}, clock(e.at)),
    make('td', { className: 'of-lane' }, make('a', { href: `#lane=${encodeURIComponent(e.key)}` }, e.key)),
    make('td', {}, e.ticket ? make('abbr', { title: String(e.ticket) }, shortTicket(e.ticket)) : ''),
    make('td', {}, (words[e.kind] ?? (() => e.kind))(e)))));
}
