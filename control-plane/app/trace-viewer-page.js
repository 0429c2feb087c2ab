/*
 * Runs before the trace viewer. Traces come by the link in the address and in no other way: what other
 * windows send, what is dropped, and what is pasted never reaches the viewer.
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
