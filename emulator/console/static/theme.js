// Light, dark, or as the system has it.

const words = ['auto', 'light', 'dark'];

/** Makes node the toggle; changed is called whenever colours may have changed. */
export function themeToggle(node, changed) {
  const set = (word) => {
    if (word === 'auto') delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = word;
    node.textContent = `Theme: ${word}`;
    node.dataset.word = word;
    changed();
  };
  node.addEventListener('click', () => {
    const next = words[(words.indexOf(node.dataset.word) + 1) % words.length];
    localStorage.setItem('theme', next);
    set(next);
  });
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', changed);
  const stored = localStorage.getItem('theme');
  set(words.includes(stored) ? stored : 'auto');
}
