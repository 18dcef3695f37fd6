// The stretch of time that timeline and charts show.

const NEAREST = 500, FARTHEST = 6 * 3_600_000;
const AHEAD = 0.12; // of the width lies in the future while it follows what happens

export class View {
  constructor(now) {
    this.now = now;
    this.span = 60_000;
    this.live = true;
    this.end = 0;
    this.changed = () => {};
  }

  /** First and last instant shown. */
  window() {
    if (this.live) this.end = this.now() + this.span * AHEAD;
    return [this.end - this.span, this.end];
  }

  follow(live) {
    this.window();
    this.live = live;
    this.changed();
  }

  /** Moves by a share of the width. */
  pan(share) { this.panTo(this.window()[1] + share * this.span); }

  panTo(end) {
    this.live = false;
    this.end = end;
    this.changed();
  }

  /** Makes the stretch shorter or longer by a factor; the instant at stays where it is. */
  zoom(factor, at) {
    const [, end] = this.window();
    const span = Math.min(FARTHEST, Math.max(NEAREST, this.span * factor));
    if (!this.live) this.end = at === undefined ? end - (this.span - span) / 2 : at + (end - at) * span / this.span;
    this.span = span;
    this.changed();
  }

  /** Shows the instant, moving only when it is out of sight. */
  reveal(at) {
    const [start, end] = this.window();
    if (at < start || at > end) this.panTo(at + this.span / 2);
  }
}
