// Puts the page together: the stream feeds the model, one loop draws what has changed.

import { Board } from './board.js';
import { Counts } from './counts.js';
import { Detail } from './detail.js';
import { LanePage } from './lane.js';
import { Model } from './model.js';
import { Palette } from './marks.js';
import { View } from './view.js';
import { byID, say } from './dom.js';
import { drawDepth, drawSlip } from './charts.js';
import { drawLegend } from './legend.js';
import { faultPanel } from './faults.js';
import { follow } from './events.js';
import { showProblem } from './api.js';
import { showTransitions } from './transitions.js';
import { submitForm } from './submit.js';
import { themeToggle } from './theme.js';

// Milliseconds between two changes of texts, and between two frames of what moves and of what does not.
const WORDS = 400, MOVING = 30, IDLE = 250;

const model = new Model();
const view = new View(() => model.now());
const detail = new Detail(run);
const board = new Board(model, view, (lane) => { location.hash = `#lane=${encodeURIComponent(lane.key)}`; }, (t) => detail.show(t));
const page = new LanePage(run);
const counts = new Counts(model);
const still = matchMedia('(prefers-reduced-motion: reduce)');

let palette, dirty = true, news = false, drawn = 0, texts = ['', ''];
view.changed = () => { dirty = true; };

/** Does what a button asks, shows what the API says against it, and the lane's state after it. */
async function run(work) {
  try {
    await work();
    showProblem(byID('problem'));
  } catch (error) {
    showProblem(byID('problem'), error);
    byID('problem').scrollIntoView({ block: 'nearest' });
  }
  await page.refresh(true);
}

/** Draws what has changed, and what moves with the time. */
function frame(time) {
  requestAnimationFrame(frame);
  const pause = model.depth && !still.matches ? MOVING : IDLE;
  if (!dirty && !(view.live && time - drawn > pause)) return;
  drawn = time;
  dirty = false;
  const series = seriesShown(), window = view.window();
  board.draw(palette);
  texts = [
    drawDepth(byID('depth'), palette, window, series.depth, model.now()),
    drawSlip(byID('slip'), palette, window, series.slips),
  ];
}

/** Of the lane on whose page this is, else of all. */
function seriesShown() {
  return page.key === undefined ? model.all : model.lanes.get(page.key) ?? { depth: [], slips: [], recent: [] };
}

/** Changes what is text: less often, so that it can be read. */
function words() {
  board.layOut();
  say(byID('depth-text'), texts[0]);
  say(byID('slip-text'), texts[1]);
  if (news) showTransitions(seriesShown().recent);
  detail.tick();
  counts.tick(news);
  page.tick(news);
  news = false;
}

function route() {
  const key = /^#lane=(.*)$/s.exec(location.hash)?.[1];
  if (key === undefined && location.hash === '#main') return;
  const decoded = key === undefined ? undefined : decodeURIComponent(key);
  showProblem(byID('problem'));
  page.show(decoded);
  board.show(decoded);
  news = true;
  words();
}

themeToggle(byID('theme'), () => {
  palette = new Palette(byID('bars').getContext('2d'));
  drawLegend(palette);
  dirty = true;
});
submitForm();
faultPanel();
byID('hold').addEventListener('change', () => { news = true; });
addEventListener('hashchange', route);
addEventListener('resize', () => { dirty = true; });
route();
follow((batch) => {
  model.applyBatch(batch);
  if (batch.reset) board.select(undefined);
  news ||= batch.events.length > 0 || batch.reset;
  dirty = true;
}, (there) => {
  byID('link').textContent = there ? 'live' : 'the emulator does not answer, trying again';
  byID('link').dataset.there = there;
});
requestAnimationFrame(frame);
setInterval(words, WORDS);
