// Times and numbers as people read them.

const pad = (n, width = 2) => String(n).padStart(width, '0');

/** An instant in milliseconds as local time of day, with milliseconds unless they are not wanted, and the day if not today. */
export function clock(ms, fine = true) {
  const d = new Date(ms), today = d.toDateString() === new Date().toDateString();
  const day = today ? '' : `${d.getFullYear()}-${pad(d.getMonth() + 1)}-${pad(d.getDate())} `;
  const text = `${day}${pad(d.getHours())}:${pad(d.getMinutes())}:${pad(d.getSeconds())}`;
  return fine ? `${text}.${pad(d.getMilliseconds(), 3)}` : text;
}

/** A length of time in milliseconds, in the unit that suits it. */
export function span(ms) {
  const n = Math.round(ms);
  if (n < 1000) return `${n} ms`;
  if (n < 60_000) return `${(n / 1000).toFixed(n < 10_000 ? 2 : 1)} s`;
  if (n < 3_600_000) return `${Math.floor(n / 60_000)} min ${Math.floor((n % 60_000) / 1000)} s`;
  return `${Math.floor(n / 3_600_000)} h ${Math.floor((n % 3_600_000) / 60_000)} min`;
}

/** A count with separators. */
export const count = (n) => Number(n).toLocaleString('en');

/** The end of a ticket's number: tickets of a lane share the rest. */
export const shortTicket = (n) => `…${String(n).slice(-6)}`;
