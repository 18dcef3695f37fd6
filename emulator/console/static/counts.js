// The line of counts.

import { read } from './api.js';
import { byID, facts } from './dom.js';
import { count } from './format.js';

const SOONEST = 500; // between two reads

/** Reads the counts when something has happened, not too often. */
export class Counts {
  constructor(model) {
    this.model = model;
    this.at = 0;
    this.stale = true;
  }

  async tick(news) {
    this.stale ||= news;
    if (!this.stale || this.busy || Date.now() - this.at < SOONEST || document.hidden) return;
    this.busy = true;
    this.stale = false;
    this.at = Date.now();
    try {
      this.show(await read('GET', 'api/stats'));
    } catch {
      this.stale = true; // the emulator is away; the stream says so
    } finally {
      this.busy = false;
    }
  }

  show(s) {
    facts(byID('counts'), [
      ['accepted', count(s.requests.accepted)], ['done', count(s.requests.done)], ['dead', count(s.requests.dead)],
      ['unresolved', count(this.model.depth)], ['tasks waiting', count(s.tasks_waiting)], ['dispatches', count(s.dispatches)],
      ['snoozes', count(s.snoozes)], ['drives', count(s.drives)], ['Redis commands', count(s.redis_commands)],
    ]);
  }
}
