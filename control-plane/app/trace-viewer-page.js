/*
 * Runs before the trace viewer. Traces are loaded only from the link in the address: messages of
 * other windows, dropped files and pasted text never reach the viewer.
 */
for (const type of ['message', 'paste', 'dragover', 'drop']) {
  window.addEventListener(
    type,
    (event) => {
      const isOwnFrame = type === 'message' && event.origin === location.origin;
      if (isOwnFrame && event.data?.method !== 'load') return;
      event.stopImmediatePropagation();
      if (type === 'dragover' || type === 'drop') event.preventDefault();
    },
    true,
  );
}
