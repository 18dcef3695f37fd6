// The form that submits one request, or a thousand.

import { Problem, call, lanePath, showProblem } from './api.js';
import { byID } from './dom.js';
import { count } from './format.js';

/** Submissions under way at once: a browser has six connections per host, and the stream and the buttons need some. */
const AT_ONCE = 4;
const TRIES = 20, AGAIN = 500; // for a 503, which asks to be tried again

export function submitForm() {
  const form = byID('submit');
  const { stop, thousand } = form.elements;
  let stopped = false;
  const begin = async () => {
    if (!form.reportValidity() || form.getAttribute('aria-busy') === 'true') return;
    stopped = false;
    form.setAttribute('aria-busy', 'true');
    stop.hidden = false;
    await submit(form, () => stopped);
    stop.hidden = true;
    form.removeAttribute('aria-busy');
  };
  form.addEventListener('submit', (e) => {
    e.preventDefault();
    begin();
  });
  thousand.addEventListener('click', () => {
    form.elements.count.value = 1000;
    begin();
  });
  stop.addEventListener('click', () => { stopped = true; });
}

async function submit(form, stopped) {
  const { key, count: many, body, idempotency, queue } = form.elements;
  const [lane, total, text] = [key.value, Number(many.value), body.value];
  const progress = form.querySelector('progress'), output = form.querySelector('output');
  const tally = { done: 0, queued: 0, refused: 0 };
  const show = () => {
    progress.value = (tally.done + tally.queued + tally.refused) / total;
    output.textContent = `${count(tally.done)} answered at once, ${count(tally.queued)} queued, ${count(tally.refused)} refused, of ${count(total)}.`;
  };
  const one = (i) => {
    const headers = { 'Content-Type': 'text/plain;charset=utf-8' };
    if (queue.checked) headers.Prefer = 'respond-async';
    if (idempotency.value) headers['Idempotency-Key'] = JSON.stringify(total > 1 ? `${idempotency.value}-${i}` : idempotency.value);
    return send(`${lanePath(lane)}/requests`, { body: text, headers });
  };
  let next = 0;
  const worker = async () => {
    while (next < total && !stopped()) {
      try {
        tally[await one(next++)]++;
      } catch (error) {
        tally.refused++;
        showProblem(form.querySelector('.problem'), error);
        if (!(error instanceof Problem) || error.status === 0 || error.status === 400 || error.status === 404) stopped = () => true;
      }
      show();
    }
  };
  showProblem(form.querySelector('.problem'));
  progress.hidden = false;
  show();
  await Promise.all(Array.from({ length: Math.min(AT_ONCE, total) }, worker));
  progress.hidden = true;
}

/** Sends one request until it is acknowledged: 'done' or 'queued'. */
async function send(path, options) {
  for (let i = 1; ; i++) {
    try {
      const response = await call('POST', path, options);
      return response.headers.get('Seriatim-Status') === 'done' ? 'done' : 'queued';
    } catch (error) {
      if (error.status !== 503 || error.type === 'outcome-unknown' || i === TRIES) throw error;
      await new Promise((resolve) => { setTimeout(resolve, AGAIN); });
    }
  }
}
