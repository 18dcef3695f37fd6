// The panel of faults that the Cloud Tasks emulator makes on purpose.

import { Problem, call, showProblem } from './api.js';
import { button, byID } from './dom.js';

const PATH = 'api/faults';

const presets = [
  ['late', 'late=0.1:2s-5s'], ['jitter', 'jitter=20ms-200ms'], ['duplicate', 'duplicate=0.05'], ['lost replies', 'lose-reply=0.05'],
  ['errors', 'error=0.05'], ['freeze', 'freeze=0.02:3s'],
];

export function faultPanel() {
  const form = byID('faults'), { spec, end } = form.elements;
  const run = async (method, body) => {
    try {
      const response = await call(method, PATH, { body });
      const text = (await response.text()).trim();
      if (!response.ok) throw new Problem(response.status, { detail: text });
      byID('faults-now').textContent = text || 'none';
      if (method !== 'GET') spec.value = text;
      showProblem(form.querySelector('.problem'));
    } catch (error) {
      showProblem(form.querySelector('.problem'), error);
    }
  };
  form.addEventListener('submit', (e) => {
    e.preventDefault();
    run('PUT', spec.value.trim());
  });
  end.addEventListener('click', () => run('DELETE'));
  byID('presets').append(...presets.map(([name, term]) => button(name, () => {
    spec.value = spec.value.trim() ? `${spec.value.trim()},${term}` : term;
    spec.focus();
  }, { title: term })));
  run('GET');
}
