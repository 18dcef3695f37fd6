// The stream of transitions. A hidden page lets go of it, since a browser has few connections per host; when it is seen again
// it goes on where it was.

/** Follows the stream: onBatch gets each message, onLink whether the stream is there. */
export function follow(onBatch, onLink) {
  let source, last = '';
  const open = () => {
    if (source || document.hidden) return;
    source = new EventSource(`api/events${last && `?after=${last}`}`);
    source.onopen = () => onLink(true);
    source.onerror = () => {
      onLink(false);
      if (source?.readyState === EventSource.CLOSED) {
        source = undefined;
        setTimeout(open, 2000);
      }
    };
    source.onmessage = (message) => {
      last = message.lastEventId;
      onBatch(JSON.parse(message.data));
    };
  };
  document.addEventListener('visibilitychange', () => {
    if (document.hidden) {
      source?.close();
      source = undefined;
    } else {
      open();
    }
  });
  open();
}
