// The page of one lane: its state and why, as the API tells them, and the buttons that steer it.

import * as actions from './actions.js';
import { lanePath, read } from './api.js';
import { button, byID, enable, facts, make } from './dom.js';
import { clock, count, span } from './format.js';
import { Lists } from './lists.js';
import { Targets } from './targets.js';

/** How often the state is read without news: what depends on the clock alone changes too. */
const EVERY = 5000;
const SOONEST = 400; // between two reads, however much happens

export class LanePage {
  /** run does what a button asks, and shows what the API says against it. */
  constructor(run) {
    this.key = undefined;
    this.run = run;
    this.lists = new Lists(run);
    this.targets = new Targets(run);
    this.read = 0; // when the state was read last
    this.busy = false;
    const steer = (text, work, properties) => button(text, () => run(() => work(this.key)), properties);
    this.pause = steer('Pause', actions.pause);
    this.resume = steer('Resume', actions.resume);
    byID('lane-actions').append(this.pause, this.resume, steer('Purge', actions.purge, { className: 'danger' }),
      steer('Redrive all dead letters', actions.redriveAll));
  }

  /** Shows the lane, or none. */
  show(key) {
    this.key = key;
    for (const id of ['lane', 'lists']) byID(id).hidden = key === undefined;
    document.body.classList.toggle('one-lane', key !== undefined);
    document.title = key === undefined ? 'Seriatim console' : `${key} - Seriatim console`;
    if (key === undefined) return;
    byID('lane-title').textContent = key;
    byID('why').replaceChildren();
    byID('lane-state').replaceChildren();
    this.lists.clear();
    byID('lane-title').focus();
    this.refresh();
  }

  /** Reads the state when that is due: news says that something has happened. */
  tick(news) {
    this.stale ||= news;
    if (this.key === undefined || this.busy || document.hidden) return;
    const age = Date.now() - this.read;
    if (age > EVERY || (this.stale && age > SOONEST)) this.refresh();
  }

  /** Reads and shows the state; aloud has a screen reader tell of a change, as one that somebody has asked for. */
  async refresh(aloud = false) {
    const key = this.key;
    byID('why').ariaLive = aloud ? 'polite' : 'off';
    if (key === undefined) return;
    this.busy = true;
    this.stale = false;
    this.read = Date.now();
    try {
      const [state, journal] = await Promise.all([read('GET', lanePath(key)), read('GET', `${lanePath(key)}/journal`)]);
      if (key === this.key) this.render(state, journal);
      const still = () => key === this.key;
      await Promise.all([this.targets.refresh(key, still), this.lists.refresh(key, state, still)]);
    } catch (error) {
      if (key === this.key) this.renderWhy({ reason: 'no answer', detail: error.message });
    } finally {
      this.busy = false;
    }
  }

  render(s, journal) {
    const when = (text) => (text ? clock(Date.parse(text)) : '-');
    facts(byID('lane-state'), [
      ['Depth', count(s.depth)],
      ['Head', s.head ? String(s.head) : '-'],
      ['Running', s.running.length ? s.running.map((r) => r.ticket).join(', ') : '-'],
      ['Next start', when(s.next_start)],
      ['ETA of the last', when(s.eta)],
      ['Learned interval', s.interval_ms ? span(s.interval_ms) : '-'],
      ['Policy', `${s.policy.name}: spacing ${span(s.policy.spacing_ms)}, burst ${s.policy.burst}, concurrency ${s.policy.concurrency}`],
      ['Journal', this.verdict(journal)],
    ]);
    enable(this.pause, !s.paused);
    enable(this.resume, s.paused);
    this.renderWhy(s.why);
  }

  /** What the lane's journal proves, with a link to it. */
  verdict({ verified, violation, entries }) {
    const text = !entries.length ? 'empty'
      : verified ? `the last ${count(entries.length)} transitions keep every promise`
        : `${violation.invariant}: ${violation.why}`;
    return make('a', { href: `${lanePath(this.key)}/journal`, 'data-verified': String(verified) }, text);
  }

  /** Says what the head waits for. Only a change is written, so that its buttons keep the focus. */
  renderWhy(why) {
    const text = JSON.stringify(why);
    if (byID('why').dataset.shown === text && byID('why').firstChild) return;
    byID('why').dataset.shown = text;
    const until = why.until ? ` Until ${clock(Date.parse(why.until))}.` : '';
    const ticket = why.ticket ? ` Ticket ${why.ticket}.` : '';
    const parts = [make('p', {}, make('strong', { 'data-reason': why.reason }, why.reason), ` ${why.detail}${ticket}${until}`)];
    if (why.clear) parts.push(this.clearing(why));
    byID('why').replaceChildren(...parts);
  }

  /** The call that clears it, as a button; for an unknown outcome, one for each that may have been. */
  clearing({ reason, clear }) {
    const id = reason === 'unknown' && /\/requests\/([^/]+)\/resolve$/.exec(clear)?.[1];
    const buttons = id
      ? actions.OUTCOMES.map(([text, as]) => button(text, () => this.run(() => actions.resolve(this.key, id, as))))
      : [button('Clear it', () => this.run(() => actions.clear(clear)))];
    return make('div', { className: 'row' }, ...buttons, make('span', { className: 'note' }, make('code', {}, clear)));
  }
}
