/**
 * Stands between a program and its Chromium, on the pipes of the DevTools protocol: every picture and every
 * frame of a film passes here, whatever asked for it, and leaves with the places of secrets painted over.
 * A guard in each document (guard.cjs) says where secrets stand before a frame is drawn. A picture waits until
 * all guards have looked once more; then it is painted where a secret stood at any moment since shortly before it
 * was taken. What cannot be located withholds it.
 */
'use strict';
const crypto = require('node:crypto');
const { guardSource } = require('./guard.cjs');
const { reportDrawn } = require('./drawn-text.cjs');

/** A frame shows what was drawn up to so long before it came, and longer where all is slow. */
const frameAgeMs = 2_000;
const askMs = 10_000;
/** The client gives up long before. */
const pictureMs = 300_000;
const keptMs = 15_000;
/** A page may replace its frames without end. */
const maxRounds = 5;
/** Far above the numbers that clients count up. */
const firstId = 1_500_000_000;

const methodOf = (text) => /"method":"([\w.]+)"/.exec(text.slice(0, 300))?.[1] ?? null;
const idOf = (text) => Number(/^\{"id":(\d+)/.exec(text)?.[1] ?? -1);

/** As the guard says it. */
const closedRoot = 'it may stand in a closed shadow root';

class Withheld extends Error {}

const cornersOf = ([x, y, width, height]) =>
  [0, 1].flatMap((across) => [0, 1].map((down) => [x + across * width, y + down * height]));
const boundsOf = (points) => {
  const [xs, ys] = [0, 1].map((axis) => points.map((point) => point[axis]));
  const [left, top] = [Math.min(...xs), Math.min(...ys)];
  return [left, top, Math.max(...xs) - left, Math.max(...ys) - top];
};
const reasonOf = (error) =>
  error instanceof Withheld ? error.message : 'the page did not say in time where secrets stand';

class PictureFilter {
  #ends;
  #forms = [];
  #isStrict = true;
  #names = { world: '', say: '', drawn: '' };
  #nextId = firstId;
  #waiting = new Map();
  #sessions = new Map();
  /** The session of a target that its guard speaks to. */
  #targets = new Map();

  /** `toBrowser` and `toClient` pass messages on; `note` gets what was painted or withheld, and why. */
  constructor(ends) {
    this.#ends = ends;
  }

  /** For documents from now on. Names differ, so that pages cannot know them. */
  setWatched({ forms, isStrict }) {
    this.#forms = forms;
    this.#isStrict = isStrict;
    const name = () => `g${crypto.randomBytes(12).toString('hex')}`;
    this.#names = { world: name(), say: name(), drawn: name() };
  }

  fromClient(text) {
    if (this.#forms.length === 0) return this.#ends.toBrowser(text);
    const method = methodOf(text);
    if (method === 'Page.captureScreenshot') return void this.#takePicture(JSON.parse(text));
    if (method === 'Runtime.runIfWaitingForDebugger') this.#post(JSON.parse(text).sessionId);
    return this.#ends.toBrowser(text);
  }

  fromBrowser(text) {
    const id = idOf(text);
    if (id >= firstId) {
      const waiting = this.#waiting.get(id);
      this.#waiting.delete(id);
      return void waiting?.(JSON.parse(text));
    }
    const take = id === -1 ? this.#events[methodOf(text)] : undefined;
    if (take?.(JSON.parse(text)) !== false) this.#ends.toClient(text);
  }

  /** Each gives false when the client must not see the event. */
  #events = {
    'Target.attachedToTarget': ({ params: { sessionId: id, targetInfo }, sessionId: parent }) => {
      const { targetId, type } = targetInfo;
      const kept = { contexts: new Map(), journals: new Map(), quads: new Map() };
      this.#sessions.set(id, { id, targetId, type, parent, ...kept, frames: Promise.resolve() });
    },
    'Target.detachedFromTarget': ({ params: { sessionId } }) => {
      const session = this.#sessions.get(sessionId);
      this.#sessions.delete(sessionId);
      const parent = this.#sessions.get(session?.parent);
      const isSeen = ({ rects, unsure }) => rects.length > 0 || unsure !== null;
      const wasSeen = [...(session?.journals.values() ?? [])].some((all) => all.some(isSeen));
      if (parent && wasSeen) parent.goneAt = Date.now();
      if (this.#targets.get(session?.targetId) === session) this.#targets.delete(session?.targetId);
    },
    'Runtime.executionContextCreated': ({ params, sessionId }) => {
      const { id, name, auxData } = params.context;
      if (name !== this.#names.world || this.#forms.length === 0) return true;
      this.#sessions.get(sessionId)?.contexts.set(id, auxData.frameId);
      // The first document of a window was there before its binding.
      this.#bind(sessionId);
      return false;
    },
    'Runtime.executionContextDestroyed': ({ params, sessionId }) =>
      !this.#leave(this.#sessions.get(sessionId), params.executionContextId),
    'Runtime.executionContextsCleared': ({ sessionId }) => {
      const session = this.#sessions.get(sessionId);
      for (const id of session?.contexts.keys() ?? []) this.#leave(session, id);
    },
    'Runtime.bindingCalled': ({ params, sessionId }) => {
      if (params.name !== this.#names.say) return true;
      const session = this.#sessions.get(sessionId);
      const frameId = session?.contexts.get(params.executionContextId);
      if (frameId !== undefined) this.#enter(session, frameId, JSON.parse(params.payload));
      return false;
    },
    // It would show what the guard looks for.
    'Runtime.exceptionThrown': ({ params, sessionId }) => {
      const { executionContextId } = params.exceptionDetails;
      return this.#sessions.get(sessionId)?.contexts.has(executionContextId) !== true;
    },
    'Page.screencastFrame': (event) => {
      const session = this.#sessions.get(event.sessionId);
      if (this.#forms.length === 0 || session === undefined) return true;
      session.frames = session.frames.then(() => this.#passFrame(session, event));
      return false;
    },
  };

  #send(method, params, sessionId, withinMs = askMs) {
    const id = this.#nextId++;
    return new Promise((resolve, reject) => {
      const late = `{"id":${id},"error":{"message":"${method} was not answered"}}`;
      const timer = setTimeout(() => this.fromBrowser(late), withinMs).unref();
      this.#waiting.set(id, ({ result, error }) => {
        clearTimeout(timer);
        if (error) reject(new Error(error.message));
        else resolve(result);
      });
      this.#ends.toBrowser(JSON.stringify({ id, method, params, sessionId }));
    });
  }

  /** Puts the guard into the documents of a target, before it begins to run. */
  #post(sessionId) {
    const session = this.#sessions.get(sessionId);
    if (!session || this.#targets.has(session.targetId)) return;
    if (session.type !== 'page' && session.type !== 'iframe') return;
    this.#targets.set(session.targetId, session);
    const { world, say, drawn } = this.#names;
    const send = (method, params) => this.#send(method, params, sessionId).catch(() => undefined);
    const given = { forms: this.#forms, say, drawn, closedRoot };
    this.#bind(sessionId);
    for (const script of [
      { source: guardSource(given), worldName: world },
      { source: `(${reportDrawn})(${JSON.stringify({ drawn })})` },
    ]) {
      void send('Page.addScriptToEvaluateOnNewDocument', { ...script, runImmediately: true });
    }
  }

  #bind(sessionId) {
    const { world, say } = this.#names;
    const binding = { name: say, executionContextName: world };
    void this.#send('Runtime.addBinding', binding, sessionId).catch(() => undefined);
  }

  /** By the clock of this process, which nothing in the page can move. */
  #enter(session, frameId, state) {
    const journal = session.journals.get(frameId) ?? [];
    session.journals.set(frameId, journal);
    journal.push({ ...state, time: Date.now() });
    // What came last before the window counts in it.
    while (journal.length > 1 && journal[1].time < Date.now() - keptMs) journal.shift();
  }

  /** A document is gone, and what stood in it; true when there was a guard in it. */
  #leave(session, contextId) {
    const frameId = session?.contexts.get(contextId);
    if (frameId === undefined) return false;
    session.contexts.delete(contextId);
    this.#enter(session, frameId, { rects: [], unsure: null, view: null });
    return true;
  }

  /** Hands closed shadow roots to the guard, which no script can reach. */
  async #openRoots(session, contextId) {
    const send = (method, params) => this.#send(method, params, session.id);
    const next = { expression: '__closedHost()', contextId };
    const functionDeclaration = 'function (root) { __openRoot(this, root); }';
    for (;;) {
      const { objectId } = (await send('Runtime.evaluate', next)).result;
      if (objectId === undefined) return;
      const { node } = await send('DOM.describeNode', { objectId, pierce: true });
      const { backendNodeId } = node.shadowRoots.at(-1);
      const root = { backendNodeId, executionContextId: contextId };
      const call = { objectId, arguments: [(await send('DOM.resolveNode', root)).object] };
      await send('Runtime.callFunctionOn', { functionDeclaration, ...call });
    }
  }

  #childrenOf({ id }) {
    return [...this.#targets.values()].filter(({ parent }) => parent === id);
  }

  /** What the guard of a document sees now. */
  async #ask(session, contextId, isPicture) {
    const next = { expression: `__look(${isPicture})`, contextId };
    const { result, exceptionDetails } = await this.#send('Runtime.evaluate', next, session.id);
    if (exceptionDetails) throw new Withheld('a document of the page could not be searched');
    return JSON.parse(result.value);
  }

  /** Every guard looks once more, in documents that come meanwhile too; one that cannot withholds the picture. */
  async #look(session, isPicture) {
    const looked = new Set();
    const lookInto = async (contextId) => {
      const frameId = session.contexts.get(contextId);
      try {
        const ask = () => this.#ask(session, contextId, isPicture);
        let state = await ask();
        if (state.unsure === closedRoot) {
          await this.#openRoots(session, contextId);
          state = await ask();
        }
        if (session.contexts.has(contextId)) this.#enter(session, frameId, state);
      } catch (error) {
        // Where the document is gone meanwhile, there is nothing to see.
        if (session.contexts.has(contextId)) throw error;
      }
      looked.add(contextId);
    };
    const lookBelow = (child) =>
      this.#look(child, isPicture).catch((error) => {
        if (this.#targets.get(child.targetId) === child) throw error;
      });
    const below = this.#childrenOf(session).map(lookBelow);
    for (let round = 0; round < maxRounds; round += 1) {
      const left = [...session.contexts.keys()].filter((id) => !looked.has(id));
      if (left.length === 0) break;
      await Promise.all(left.map(lookInto));
    }
    await Promise.all(below);
  }

  /** The box of the element that shows a frame, in the main frame of a session. */
  async #quadOf(session, frameId) {
    try {
      const send = (method, params) => this.#send(method, params, session.id);
      const { backendNodeId } = await send('DOM.getFrameOwner', { frameId });
      const { model } = await send('DOM.getBoxModel', { backendNodeId });
      session.quads.set(frameId, model.content);
      return model.content;
    } catch {
      return session.quads.get(frameId) ?? null;
    }
  }

  /** What the guards of a session saw from one moment to another, in places of its main frame. */
  async #seen(session, from, to) {
    const { frameTree } = await this.#send('Page.getFrameTree', {}, session.id);
    const main = frameTree.frame.id;
    const framesOf = ({ frame, childFrames = [] }) => [frame.id, ...childFrames.flatMap(framesOf)];
    const guarded = [...session.contexts.values()];
    const isGuarded = framesOf(frameTree).every((id) => guarded.includes(id));
    if (!isGuarded) throw new Withheld('a frame of the page cannot be searched');
    if (session.goneAt >= from) throw new Withheld('a frame with a secret is gone');
    const places = [];
    const quads = new Map();
    let mainView = session.journals.get(main)?.at(-1)?.view ?? null;
    const add = async (frameId, view, rects) => {
      if (rects.length === 0) return;
      if (frameId === main) return void places.push(...rects.map((rect) => ({ rect, view })));
      if (!quads.has(frameId)) quads.set(frameId, await this.#quadOf(session, frameId));
      const quad = quads.get(frameId);
      if (quad === null) throw new Withheld('a frame with a secret is gone');
      if (mainView === null) {
        const [contextId] = [...session.contexts].find(([, id]) => id === main);
        mainView = (await this.#ask(session, contextId, true)).view;
      }
      const [x0, y0, x1, y1, , , x3, y3] = quad;
      const pointOf = (point) => {
        const [x, y] = point.map((length, axis) => Math.min(1, Math.max(0, length / view[axis])));
        return [x0 + (x1 - x0) * x + (x3 - x0) * y, y0 + (y1 - y0) * x + (y3 - y0) * y];
      };
      for (const rect of rects) {
        places.push({ rect: boundsOf(cornersOf(rect).map(pointOf)), view: mainView });
      }
    };
    for (const [frameId, journal] of session.journals) {
      const first = journal.findLastIndex(({ time }) => time <= from);
      const within = journal.slice(Math.max(0, first)).filter(({ time }) => time <= to);
      for (const [index, { rects, view, unsure }] of within.entries()) {
        // What stood in a closed root is known once it is open.
        const isKnown = unsure === closedRoot && within.at(-1).unsure === null;
        if (unsure !== null && !isKnown) throw new Withheld(unsure);
        // Between two moments something may have moved from one place to the other.
        const next = within[index + 1]?.rects ?? [];
        const way = (rect, at) => boundsOf([...cornersOf(rect), ...cornersOf(next[at])]);
        await add(frameId, view, next.length === rects.length ? rects.map(way) : rects);
      }
    }
    for (const child of this.#childrenOf(session)) {
      const seen = await this.#seen(child, from, to);
      for (const { rect, view } of seen) await add(child.targetId, view, [rect]);
    }
    return places;
  }

  async #paint(session, { data, type, quality }, shares) {
    const given = JSON.stringify([data, type, quality, shares]).slice(1, -1);
    for (const contextId of [...session.contexts.keys()]) {
      const call = { expression: `__paint(${given})`, contextId, awaitPromise: true };
      // That document may be gone, and another there.
      const answer = await this.#send('Runtime.evaluate', call, session.id).catch(() => null);
      if (typeof answer?.result.value === 'string') return answer.result.value;
    }
    throw new Withheld('a secret stands on the page, and its place could not be painted over');
  }

  /** The picture without secrets; `cutOf` gives what of a view it shows, from where and how much. */
  async #clean(target, picture, from, cutOf) {
    const isIn = ([x, y, width, height]) =>
      x < 1 && y < 1 && x + width > 0 && y + height > 0 && width > 0 && height > 0;
    const shares = (await this.#seen(target, from, Date.now()))
      .map(({ rect: [x, y, width, height], view }) => {
        const [left, top, wide, high] = cutOf(view);
        return [(x - left) / wide, (y - top) / high, width / wide, height / high];
      })
      .filter(isIn);
    if (shares.length === 0) return picture.data;
    const painted = await this.#paint(target, picture, shares);
    this.#ends.note({ what: picture.what, reason: null });
    return painted;
  }

  async #passFrame(session, event) {
    const { metadata, data, sessionId: number } = event.params;
    const { timestamp = Date.now() / 1000 } = metadata;
    const target = this.#targets.get(session.targetId);
    const picture = { what: 'frame', data, type: 'image/jpeg', quality: 0.9 };
    // Its sizes do not know a scale of the device that is emulated.
    const cutOf = ([width, height, , , left, top]) => [left, top, width, height];
    try {
      if (target === undefined) throw new Withheld('the page cannot be searched');
      const askedAt = Date.now();
      await this.#look(target, false);
      const from = timestamp * 1000 - frameAgeMs - 3 * (Date.now() - askedAt);
      event.params.data = await this.#clean(target, picture, from, cutOf);
    } catch (error) {
      if (!this.#isStrict) return this.#ends.toClient(JSON.stringify(event));
      this.#ends.note({ what: 'frame', reason: reasonOf(error) });
      // The browser waits for an answer before it sends more.
      const answered = this.#send('Page.screencastFrameAck', { sessionId: number }, session.id);
      return void answered.catch(() => undefined);
    }
    this.#ends.toClient(JSON.stringify(event));
  }

  async #takePicture({ id, params = {}, sessionId }) {
    const answer = (message) => this.#ends.toClient(JSON.stringify({ id, ...message, sessionId }));
    const refuse = (message) => answer({ error: { code: -32000, message } });
    const { format = 'png', quality = 90, clip } = params;
    const target = this.#targets.get(this.#sessions.get(sessionId)?.targetId);
    const picture = { what: 'picture', type: `image/${format}`, quality: quality / 100 };
    const cutOf = ([width, height, scrollX, scrollY, left, top]) =>
      clip
        ? [clip.x - scrollX, clip.y - scrollY, clip.width, clip.height]
        : [left, top, width, height];
    try {
      if (target) await this.#look(target, true);
      const from = Date.now();
      const taken = await this.#send('Page.captureScreenshot', params, sessionId, pictureMs);
      picture.data = taken.data;
      if (!target) throw new Withheld('the page cannot be searched');
      await this.#look(target, true);
      answer({ result: { data: await this.#clean(target, picture, from, cutOf) } });
    } catch (error) {
      const { data } = picture;
      if (data === undefined) return refuse(error.message);
      if (!this.#isStrict) return answer({ result: { data } });
      this.#ends.note({ what: 'picture', reason: reasonOf(error) });
      const covered = target && this.#paint(target, picture, [[0, 0, 1, 1]]);
      await Promise.resolve(covered).then(
        (whole) => (whole ? answer({ result: { data: whole } }) : refuse(reasonOf(error))),
        () => refuse(reasonOf(error)),
      );
    }
  }
}

module.exports = { PictureFilter };
