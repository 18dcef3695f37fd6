// What the buttons do, each one call of the public API. What destroys asks first.

import { call, lanePath } from './api.js';
import { ask } from './ask.js';

const requestPath = (key, id) => `${lanePath(key)}/requests/${encodeURIComponent(id)}`;

/** Makes a call after the question, where there is one; answers whether it was made. */
async function act(path, { method = 'POST', question, body } = {}) {
  if (question && !(await ask(...question))) return false;
  await call(method, path, body && { body: JSON.stringify(body), headers: { 'Content-Type': 'application/json' } });
  return true;
}

export const pause = (key) => act(`${lanePath(key)}/pause`);
export const resume = (key) => act(`${lanePath(key)}/resume`);

export const purge = (key) => act(`${lanePath(key)}/purge`, {
  question: ['Purge the lane?', `Every request that waits in ${key} is cancelled. What runs goes on to its end.`, 'Purge'],
});

export const cancel = (key, id) => act(requestPath(key, id), {
  method: 'DELETE', question: ['Cancel the request?', `Request ${id} of ${key} will not run.`, 'Cancel the request'],
});

export const skip = (key, id) => act(`${requestPath(key, id)}/skip`, {
  question: ['Skip the head?', `Request ${id} of ${key} is given up, and the lane goes on with the next.`, 'Skip'],
});

export const resolve = (key, id, as) => act(`${requestPath(key, id)}/resolve`, {
  body: { as }, question: as === 'retry' ? undefined : [`Settle as ${as}?`, `Nobody knows whether request ${id} had its effect. It is recorded as ${as} for good.`, `Settle as ${as}`],
});

/** What may have become of a request whose outcome is unknown: what a button says, and what resolve takes. */
export const OUTCOMES = [['It was done', 'done'], ['Run it again', 'retry'], ['It is dead', 'dead']];

const targetPath = (name) => `/v1/targets/${encodeURIComponent(name)}`;

export const pauseTarget = (name) => act(`${targetPath(name)}/pause`, {
  question: ['Pause the target?', `Nothing starts against ${name}, in this lane and every other, until it is resumed.`, 'Pause the target'],
});

export const resumeTarget = (name) => act(`${targetPath(name)}/resume`);

/** The call that why.clear names, such as "POST /v1/lanes/k/resume". */
export function clear(text) {
  const [method, path] = text.split(' ');
  const question = /\/(skip|purge)$/.test(path) ? ['Make this call?', `${text} gives up what waits.`, 'Make the call'] : undefined;
  return act(path, { method, question });
}

export const redrive = (key, id) => act(`${lanePath(key)}/dead-letters/${encodeURIComponent(id)}/redrive`);

export const redriveAll = (key) => act(`${lanePath(key)}/dead-letters/redrive`);
