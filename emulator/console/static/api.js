// The public HTTP API, called as any client would call it.

/** A refusal of the API: its problem details. */
export class Problem extends Error {
  constructor(status, details) {
    super(details.detail || details.title || `status ${status}`);
    this.status = status;
    this.type = (details.type || '').replace('urn:seriatim:problem:', '');
  }
}

/** The path of a lane. */
export const lanePath = (key) => `/v1/lanes/${encodeURIComponent(key)}`;

/** Calls the API; answers the response, or throws a Problem. */
export async function call(method, path, { body, headers } = {}) {
  let response;
  try {
    response = await fetch(path, { method, body, headers, cache: 'no-store', credentials: 'omit' });
  } catch {
    throw new Problem(0, { detail: 'The emulator does not answer. Is it still running?' });
  }
  const kind = response.headers.get('Content-Type') || '';
  if (kind.startsWith('application/problem+json')) throw new Problem(response.status, await response.json());
  return response;
}

/** Calls and decodes JSON. */
export const read = async (method, path, options) => (await call(method, path, options)).json();

/** Shows a problem, or that there is none. */
export function showProblem(node, error) {
  node.textContent = error ? `${error.message}${error.type ? ` (${error.type})` : ''}` : '';
}
