// What is selected in the timeline: in words, and with the buttons that apply to it.

import * as actions from './actions.js';
import { button, byID, make, say } from './dom.js';
import { clock, span } from './format.js';

export class Detail {
  /** run does what a button asks, and shows what the API says against it. */
  constructor(run) {
    this.run = run;
    this.ticket = undefined;
  }

  show(ticket) {
    this.ticket = ticket;
    this.tick();
  }

  /** Follows the ticket's changes. */
  tick() {
    const t = this.ticket, text = t ? describe(t) : '';
    if (byID('detail').textContent === text) return;
    say(byID('detail'), text);
    const box = byID('detail-actions');
    box.hidden = !t;
    if (!t) return;
    const buttons = [make('a', { href: `#lane=${encodeURIComponent(t.lane.key)}` }, 'Open the lane')];
    const add = (name, work, properties) => buttons.push(button(name, () => this.run(() => work(t.lane.key, t.id)), properties));
    if (t.state === 'waiting') add('Cancel the request', actions.cancel, { className: 'danger' });
    if (t.state === 'parked') add('Skip', actions.skip, { className: 'danger' });
    if (t.state === 'unknown') for (const [text, as] of actions.OUTCOMES) add(text, (key, id) => actions.resolve(key, id, as));
    if (t.state === 'dead' || t.state === 'parked') add('Redrive', actions.redrive);
    const focused = box.contains(document.activeElement);
    box.replaceChildren(...buttons);
    if (focused) byID('bars').focus();
  }
}

/** A ticket in words that change only when it does. */
function describe(t) {
  const parts = [`Ticket ${t.number} of ${t.lane.key}: ${t.state}`];
  if (t.state === 'waiting') parts.push(`slot ${clock(t.slot)}`);
  if (t.run) {
    parts.push(`started ${clock(t.run.at)}`);
    if (t.run.slot) parts.push(`slip ${span(Math.max(0, t.run.at - t.run.slot))}`);
    if (t.run.end) parts.push(`ran ${span(t.run.end - t.run.at)}`);
  }
  if (t.attempts > 1) parts.push(`attempt ${t.attempts}`);
  if (t.driven) parts.push('driven');
  if (t.late) parts.push(`delivered ${span(t.late)} late`);
  if (t.snoozes) parts.push(`snoozed ${t.snoozes} times`);
  if (t.reason) parts.push(t.reason);
  return `${parts.join(', ')}. Request ${t.id}.`;
}
