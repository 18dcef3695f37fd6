// Asks before something is destroyed.

import { byID } from './dom.js';

/** Resolves to whether the person said yes. */
export function ask(title, text, yes) {
  const dialog = byID('ask');
  byID('ask-title').textContent = title;
  byID('ask-text').textContent = text;
  byID('ask-yes').textContent = yes;
  dialog.returnValue = 'no';
  return new Promise((resolve) => {
    dialog.addEventListener('close', () => resolve(dialog.returnValue === 'yes'), { once: true });
    dialog.showModal();
  });
}
