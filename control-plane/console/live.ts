/**
 * What the server says has changed, while the page is visible: a hidden page would hold one of the few
 * connections that a browser opens to a server. The stream is made again when it breaks; until then
 * views ask from time to time.
 */
import { heartbeatCame } from './reachable.ts';
import { isSignedIn, onSessionChange, sessionEnded } from './session.ts';

/**
 * `change` names the first words of API paths, or `*` for all; `results` the checks whose state
 * changed. `again`: something may have been missed.
 */
type LiveEvent = { kind: 'change' | 'results'; words: string[] } | { kind: 'again' };

const address = new URL('events', location.href);
/** Between two attempts; the server may ask for more. */
const againMs = 2_000;
/** A connection that says nothing for so long is dead: heartbeats come every second. */
const deadAfterMs = 10_000;
const listeners = new Set<(event: LiveEvent) => void>();
let current: AbortController | null = null;
let isOpen = false;
let wasOpen = false;

function announce(event: LiveEvent) {
  for (const listener of [...listeners]) listener(event);
}

/** An event as it stands in the stream; a heartbeat has no data. */
function read(text: string) {
  const kind = /^event: (change|results)$/m.exec(text)?.[1];
  const words = /^data: ?(.*)$/m.exec(text)?.[1]?.split(' ').filter(Boolean) ?? [];
  if (kind === 'change' || kind === 'results') announce({ kind, words });
}

/** Reads until the stream ends or breaks. */
async function follow(stream: ReadableStream<Uint8Array<ArrayBuffer>>, stop: AbortController) {
  const reader = stream.pipeThrough(new TextDecoderStream()).getReader();
  let rest = '';
  for (;;) {
    const timer = setTimeout(() => stop.abort(), deadAfterMs);
    const { done, value } = await reader.read().finally(() => clearTimeout(timer));
    if (done) return;
    heartbeatCame();
    const texts = (rest + value).split('\n\n');
    rest = texts.pop() ?? '';
    texts.forEach(read);
  }
}

/** Gives the time until the next attempt. */
async function connect(stop: AbortController) {
  const answer = await fetch(address, {
    headers: { 'x-console': '1' },
    cache: 'no-store',
    signal: stop.signal,
  });
  if (answer.status === 401) {
    sessionEnded('You were signed out: the session or its key has expired or was revoked.');
  }
  if (!answer.ok || answer.body === null) {
    return Math.max(againMs, Number(answer.headers.get('retry-after')) * 1000);
  }
  isOpen = true;
  if (wasOpen) announce({ kind: 'again' });
  wasOpen = true;
  await follow(answer.body, stop);
  return againMs;
}

async function run() {
  const stop = new AbortController();
  current = stop;
  const waitMs = await connect(stop).catch(() => againMs);
  isOpen = false;
  if (current !== stop) return;
  current = null;
  setTimeout(begin, waitMs);
}

function begin() {
  if (current === null && !document.hidden && isSignedIn() === true) void run();
}

function end() {
  const before = current;
  current = null;
  before?.abort();
}

document.addEventListener('visibilitychange', () => (document.hidden ? end() : begin()));
onSessionChange(() => {
  end();
  wasOpen = false;
  begin();
});

/** True while the server says what changes. */
export function isLive() {
  return isOpen;
}

export function onLiveEvent(listener: (event: LiveEvent) => void) {
  listeners.add(listener);
  return () => void listeners.delete(listener);
}
