// Making elements. No HTML text is ever put together: what a key holds stays text.

/** One element by id. */
export const byID = (id) => document.getElementById(id);

/** An element with properties (class, data-* and aria-* as attributes) and children. */
export function make(tag, properties = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name in node && !name.includes('-')) node[name] = value;
    else node.setAttribute(name === 'className' ? 'class' : name, value);
  }
  node.append(...children);
  return node;
}

/** A list of facts: [[name, value], …] into a dl. */
export function facts(dl, pairs) {
  dl.replaceChildren(...pairs.map(([name, value]) => make('div', {}, make('dt', {}, name), make('dd', {}, value))));
}

/** Shows text in a node, and touches it only when it has changed: what is read out is read once. */
export function say(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

/** A button that calls act, and cannot be pressed again before that has ended. */
export function button(text, act, properties = {}) {
  const node = make('button', { type: 'button', ...properties }, text);
  node.addEventListener('click', async () => {
    if (node.ariaBusy || node.ariaDisabled) return;
    node.setAttribute('aria-busy', 'true');
    try {
      await act();
    } finally {
      node.removeAttribute('aria-busy');
    }
  });
  return node;
}

/** Makes a button one that does nothing, or does again. It keeps the focus, which a disabled one would lose. */
export function enable(node, can) {
  if (can) node.removeAttribute('aria-disabled');
  else node.setAttribute('aria-disabled', 'true');
}
