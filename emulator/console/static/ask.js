// Asks before something is destroyed.

import { make } from './dom.js';

/** Resolves to whether the person said yes. Each question is a dialog of its own: the close of another is no answer to it. */
export function ask(title, text, yes) {
  const dialog = make('dialog', { id: 'ask', 'aria-labelledby': 'ask-title', 'aria-describedby': 'ask-text' },
    make('form', { method: 'dialog' },
      make('h2', { id: 'ask-title' }, title),
      make('p', { id: 'ask-text' }, text),
      make('div', { className: 'row' },
        make('button', { value: 'no', autofocus: true }, 'No, leave it'),
        make('button', { value: 'yes', className: 'danger' }, yes))));
  document.body.append(dialog);
  return new Promise((resolve) => {
    dialog.addEventListener('close', () => {
      dialog.remove();
      resolve(dialog.returnValue === 'yes');
    });
    dialog.showModal();
  });
}
