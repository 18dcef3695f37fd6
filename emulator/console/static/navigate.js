// Going through the timeline by keyboard, mouse and touch.

import { ROW } from './timeline.js';

/** Where a ticket is in time. */
export const placeOf = (t) => (t.run ? t.run.at : t.ended ?? t.slot);

/**
 * Binds the canvas. board has lanes(), scale(), top(), view, selected and select(ticket), scrollTo(index), open(lane).
 */
export function navigate(canvas, board) {
  canvas.addEventListener('keydown', (e) => {
    const act = keys[e.key];
    if (!act || e.ctrlKey || e.metaKey || e.altKey) return;
    e.preventDefault();
    act(board);
  });
  pointer(canvas, board);
  canvas.addEventListener('wheel', (e) => {
    const sideways = e.shiftKey ? e.deltaY : e.deltaX;
    if (e.ctrlKey) board.view.zoom(Math.exp(e.deltaY / 300), board.scale().at(e.offsetX));
    else if (sideways) board.view.pan(sideways / canvas.clientWidth);
    else return; // up and down scroll the lanes
    e.preventDefault();
  }, { passive: false });
}

/** Drags through time; a press without a drag selects. */
function pointer(canvas, board) {
  let from, moved = false;
  canvas.addEventListener('pointerdown', (e) => {
    from = { x: e.clientX, end: board.scale().end };
    moved = false;
    canvas.setPointerCapture(e.pointerId);
  });
  canvas.addEventListener('pointermove', (e) => {
    if (!from) return;
    const dx = e.clientX - from.x;
    if (!moved && Math.abs(dx) < 5) return;
    moved = true;
    board.view.panTo(from.end - dx / board.scale().perMS);
  });
  canvas.addEventListener('pointerup', (e) => {
    if (from && !moved) board.select(pick(board, e.offsetX, e.offsetY));
    from = undefined;
  });
  canvas.addEventListener('pointercancel', () => { from = undefined; });
}

/** The ticket at a point, or the nearest within a few pixels. */
function pick(board, x, y) {
  const lane = board.lanes()[Math.floor((y + board.top()) / ROW)];
  if (!lane) return undefined;
  const scale = board.scale();
  let best, least = 12;
  for (const t of lane.order) {
    const from = scale.x(placeOf(t)), to = t.run ? scale.x(t.run.end || scale.at(x)) : from;
    const far = Math.max(from - x, x - to, 0);
    if (far <= least) [best, least] = [t, far];
  }
  return best;
}

/** Goes step tickets on in the lane of what is selected; with nothing selected, to what is new. */
function along(board, step) {
  const lane = board.selected?.lane ?? board.lanes()[0];
  if (!lane?.order.length) return;
  const i = board.selected ? lane.order.indexOf(board.selected) + step : lane.order.length - 1;
  board.select(lane.order[Math.max(0, Math.min(lane.order.length - 1, i))]);
}

/** Goes to the ticket of another lane that is nearest in time. */
function across(board, step) {
  const lanes = board.lanes(), from = board.selected;
  const lane = from ? lanes[lanes.indexOf(from.lane) + step] : lanes[0];
  if (!lane?.order.length) return;
  const at = from ? placeOf(from) : Infinity;
  board.select(lane.order.reduce((a, b) => (Math.abs(placeOf(b) - at) < Math.abs(placeOf(a) - at) ? b : a), lane.order.at(-1)));
}

const keys = {
  ArrowRight: (b) => along(b, 1),
  ArrowLeft: (b) => along(b, -1),
  Home: (b) => along(b, -Infinity),
  End: (b) => along(b, Infinity),
  ArrowDown: (b) => across(b, 1),
  ArrowUp: (b) => across(b, -1),
  '+': (b) => b.view.zoom(0.5),
  '-': (b) => b.view.zoom(2),
  Enter: (b) => b.selected && b.open(b.selected.lane),
  l: (b) => b.view.follow(true),
  Escape: (b) => b.select(undefined),
};
