// Canvases as sharp as the screen.

/** Fits a canvas to its box and clears it; answers the context, in CSS pixels, and the size. */
export function prepare(canvas, height) {
  const width = canvas.clientWidth, ratio = devicePixelRatio || 1;
  const w = Math.round(width * ratio), h = Math.round(height * ratio);
  if (canvas.width !== w || canvas.height !== h) {
    canvas.width = w;
    canvas.height = h;
  }
  const c = canvas.getContext('2d');
  c.setTransform(ratio, 0, 0, ratio, 0, 0);
  c.clearRect(0, 0, width, height);
  return { c, width, height };
}

const STEPS = [100, 200, 500, 1e3, 2e3, 5e3, 1e4, 1.5e4, 3e4, 6e4, 1.2e5, 3e5, 6e5, 1.8e6, 3.6e6];

/** Round instants between start and end, at least 70 pixels apart. */
export function ticks(start, end, width) {
  const least = 70 * (end - start) / Math.max(1, width);
  const step = STEPS.find((s) => s >= least) ?? STEPS.at(-1);
  const list = [];
  for (let t = Math.ceil(start / step) * step; t <= end; t += step) list.push(t);
  return list;
}
