/*
 * Runs before the service worker of Playwright's trace viewer, in the same script. A check, and any
 * site that it visits, can write an archive. No file of an archive may become a page here, and on a
 * recorded page only the script that draws it may run.
 */
{
  const addListener = self.addEventListener.bind(self);
  const scope = self.registration.scope;
  const framePolicy =
    "sandbox allow-same-origin allow-scripts; connect-src 'none'; worker-src 'none'; " +
    "form-action 'none'; frame-src 'self'; object-src 'none'; frame-ancestors 'self'";
  const neverFromArchives = new Set(['script', 'worker', 'sharedworker', 'serviceworker']);

  const drawn = async (answer) => {
    const response = await answer;
    const headers = new Headers(response.headers);
    headers.append('Content-Security-Policy', framePolicy);
    headers.set('X-Content-Type-Options', 'nosniff');
    headers.set('Referrer-Policy', 'no-referrer');
    return new Response(response.body, { status: response.status, headers });
  };

  const saved = async (answer) => {
    const response = await answer;
    const headers = new Headers(response.headers);
    const disposition = headers.get('Content-Disposition') ?? '';
    if (!disposition.startsWith('attachment')) headers.set('Content-Disposition', 'attachment');
    headers.set('Content-Type', 'application/octet-stream');
    headers.set('Content-Security-Policy', "sandbox; default-src 'none'");
    headers.set('X-Content-Type-Options', 'nosniff');
    return new Response(response.body, { status: response.status, headers });
  };

  const refused = () => Promise.resolve(new Response(null, { status: 404 }));

  const guarded = (listener) => (event) => {
    const { request } = event;
    const path = request.url.startsWith(scope) ? request.url.slice(scope.length) : null;
    const answerWith = (wrap) =>
      listener({
        request,
        clientId: event.clientId,
        resultingClientId: event.resultingClientId,
        respondWith: (answer) => event.respondWith(wrap(answer)),
      });
    if (request.mode !== 'navigate') {
      if (path?.startsWith('file') && neverFromArchives.has(request.destination)) {
        event.respondWith(refused());
      } else {
        answerWith((answer) => answer);
      }
    } else if (path?.startsWith('snapshot/') && request.destination === 'iframe') {
      answerWith(drawn);
    } else if (path?.startsWith('file/') && request.destination === 'document') {
      answerWith(saved);
    }
    // The server answers every other navigation, and it serves only the pages of the viewer.
  };

  self.addEventListener = (type, listener, options) => {
    addListener(type, type === 'fetch' ? guarded(listener) : listener, options);
  };
}
