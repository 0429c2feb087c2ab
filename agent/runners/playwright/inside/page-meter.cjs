/**
 * What the pages of a suite load and how fast they show it, from the messages between its Playwright and a Chromium:
 * the tests do not see it, and no step of their reports comes from it.
 */
'use strict';
const crypto = require('node:crypto');
const fs = require('node:fs');

/** Below the numbers of the filter of pictures, far above those that clients count up. */
const ids = { first: 1_400_000_000, end: 1_500_000_000 };
/** Limit of the lines that one process writes; beyond it sums would be wrong, which a line says. */
const maxVisits = 5_000;

const methodOf = (text) => /"method":"([\w.]+)"/.exec(text.slice(0, 300))?.[1] ?? null;
const last = (list) => list[list.length - 1];
const idOf = (text) => Number(/^\{"id":(\d+)/.exec(text)?.[1] ?? -1);

class PageMeter {
  #toBrowser;
  #source;
  #write;
  #onEnd;
  #world = `m${crypto.randomBytes(12).toString('hex')}`;
  #say = `m${crypto.randomBytes(12).toString('hex')}`;
  #nextId = ids.first;
  #sessions = new Map();
  #requests = new Map();
  #startedAt = Date.now();
  #isStarted = false;

  /** `measure` runs in a world of its own in each page; `write` takes a visit, or how long the start took. */
  constructor({ toBrowser, measure, write, onEnd }) {
    this.#toBrowser = toBrowser;
    this.#onEnd = onEnd;
    this.#write = write;
    this.#source = `window.__monitorVitals = (report) => ${this.#say}(JSON.stringify(report)); (${measure})();`;
  }

  fromClient(text) {
    if (methodOf(text) === 'Runtime.runIfWaitingForDebugger')
      this.#post(JSON.parse(text).sessionId);
  }

  /** False when the client must not see it. */
  fromBrowser(text) {
    if (!this.#isStarted) {
      this.#isStarted = true;
      this.#write({ browserStartMs: Date.now() - this.#startedAt });
    }
    const id = idOf(text);
    if (id !== -1) return id < ids.first || id >= ids.end;
    return this.#events[methodOf(text)]?.(JSON.parse(text)) !== false;
  }

  /** Writes the visits of pages that are still open. */
  end() {
    for (const id of [...this.#sessions.keys()]) this.#leave(id);
    this.#requests.clear();
    this.#onEnd();
  }

  #events = {
    'Target.attachedToTarget': ({ params: { sessionId, targetInfo }, sessionId: parent }) => {
      const { targetId, type } = targetInfo;
      // A further session of the same page, such as `newCDPSession`, repeats its events.
      if ([...this.#sessions.values()].some((known) => known.targetId === targetId)) return;
      this.#sessions.set(sessionId, { targetId, type, parent, visits: [], documents: new Map() });
    },
    'Target.detachedFromTarget': ({ params: { sessionId } }) => this.#leave(sessionId),
    'Network.requestWillBeSent': ({ params, sessionId }) => {
      const { requestId, loaderId, frameId, type, request, redirectResponse: redirect } = params;
      const session = this.#sessions.get(sessionId);
      const isDocument =
        type === 'Document' &&
        requestId === loaderId &&
        session?.type === 'page' &&
        session.targetId === frameId;
      // Nothing is requested for `data:` and `blob:`.
      if (!isDocument && !/^https?:/.test(request.url)) return;
      const visits = this.#pageOf(session)?.visits ?? [];
      if (isDocument && redirect === undefined) {
        visits.push({ url: request.url, loaderId, requests: 0, bytes: 0, vitals: {} });
      }
      const visit = last(visits);
      if (visit === undefined) return;
      if (isDocument) visit.url = request.url;
      visit.requests += 1;
      visit.bytes += redirect?.encodedDataLength ?? 0;
      // The document of a frame begins in the session of its page and ends in one of its own.
      this.#requests.set(requestId, visit);
    },
    'Network.loadingFinished': ({ params: { requestId, encodedDataLength } }) => {
      const visit = this.#requests.get(requestId);
      if (visit !== undefined) visit.bytes += Math.max(0, encodedDataLength);
      this.#requests.delete(requestId);
    },
    'Network.loadingFailed': ({ params: { requestId }, sessionId }) => {
      const failed = this.#requests.get(requestId);
      this.#requests.delete(requestId);
      const { visits = [] } = this.#sessions.get(sessionId) ?? {};
      if (failed === undefined || failed.loaderId !== requestId || last(visits) !== failed) return;
      // A download, and an address that did not answer: the page before is still shown.
      visits.pop();
      const shown = last(visits);
      if (shown === undefined) return;
      shown.requests += failed.requests;
      shown.bytes += failed.bytes;
    },
    'Runtime.executionContextCreated': ({ params: { context }, sessionId }) => {
      if (context.name !== this.#world) return true;
      const session = this.#sessions.get(sessionId);
      session?.documents.set(context.id, last(session.visits));
      this.#bind(sessionId);
      return false;
    },
    'Runtime.executionContextDestroyed': ({ params, sessionId }) =>
      !this.#sessions.get(sessionId)?.documents.delete(params.executionContextId),
    'Runtime.executionContextsCleared': ({ sessionId }) => {
      this.#sessions.get(sessionId)?.documents.clear();
    },
    'Runtime.bindingCalled': ({ params, sessionId }) => {
      if (params.name !== this.#say) return true;
      const { visits = [], documents } = this.#sessions.get(sessionId) ?? {};
      const { url, vitals } = JSON.parse(params.payload);
      // A popup keeps the world of the empty page that it was.
      const visit = documents?.get(params.executionContextId) ?? last(visits);
      if (visit === undefined || !/^https?:/.test(url)) return false;
      documents.set(params.executionContextId, visit);
      visit.vitals = vitals;
      return false;
    },
  };

  #pageOf(session) {
    let page = session;
    while (page !== undefined && page.type !== 'page') page = this.#sessions.get(page.parent);
    return page;
  }

  #leave(sessionId) {
    const { visits = [] } = this.#sessions.get(sessionId) ?? {};
    this.#sessions.delete(sessionId);
    for (const { loaderId: _loaderId, ...visit } of visits) this.#write(visit);
  }

  #send(method, params, sessionId) {
    this.#toBrowser(JSON.stringify({ id: this.#nextId++, method, params, sessionId }));
  }

  #bind(sessionId) {
    this.#send(
      'Runtime.addBinding',
      { name: this.#say, executionContextName: this.#world },
      sessionId,
    );
  }

  /** Before the page begins to run. */
  #post(sessionId) {
    if (this.#sessions.get(sessionId)?.type !== 'page') return;
    this.#bind(sessionId);
    const script = { source: this.#source, worldName: this.#world, runImmediately: true };
    this.#send('Page.addScriptToEvaluateOnNewDocument', script, sessionId);
  }
}

/** Makes the meter of a browser that this process starts; what it measures becomes lines of a file. */
function meterInto(file, measure) {
  let written = 0;
  const meters = new Set();
  process.once('exit', () => {
    for (const meter of meters) meter.end();
  });
  return (toBrowser) => {
    const write = (line) => {
      written += 1;
      if (written > maxVisits) return;
      try {
        const text = JSON.stringify(written === maxVisits ? { isCut: true } : line);
        fs.appendFileSync(file, `${text}\n`);
      } catch {
        // The disk of the run is full; the agent sees that by itself.
      }
    };
    const meter = new PageMeter({ toBrowser, measure, write, onEnd: () => meters.delete(meter) });
    meters.add(meter);
    return meter;
  };
}

module.exports = { meterInto };
