/**
 * Notifies open consoles of changes, by server-sent events at `/console/events`. An event names only
 * what is to be read again:
 *
 *   event: change    data: the first words of API paths, such as `checks`
 *   event: results   data: ids of the checks whose state changed; results came in any case
 *
 * Nothing is kept for a console that is away: when it comes back, it reads everything again. Nor does
 * anything depend on a message of another replica: states, agents and maintenance are also compared
 * with the database.
 */
import { Router, type Response } from 'express';
import type { KeyStore } from '../accounts/index.ts';
import type { Bus } from '../core/bus.ts';
import { sha256Hex } from '../core/keys.ts';
import { ApiError, badToken } from '../errors/api-error.ts';
import type { ConsoleCookie } from '../http/console-cookie.ts';
import { maintenanceHeld } from '../maintenance/index.ts';
import { type ResultConsumer, statesOfChecks } from '../results/index.ts';
import type { LocationHub } from '../scheduling/index.ts';
import type { Services } from '../core/services.ts';

/** Heartbeats and collected changes. A console that hears nothing for longer asks for itself. */
const tickMs = 1_000;
/** States are read at most every tick, of many checks more rarely: so many a tick. */
const statesPerTick = 1_000;
/** Results without a change of state are announced once in so many ticks. */
const quietTicks = 5;
/** What time alone changes, and what a lost message would have said. */
const compareTicks = 30;
/** More changes of state are announced as one change of everything. */
const maxNamedChecks = 500;
const maxStreams = { session: 20, account: 500, process: 5_000 };
/** A console that reads so much too slowly is disconnected. */
const maxUnsentBytes = 65_536;
const everything = '*';

interface Stream {
  accountId: string;
  tokenHash: string;
  response: Response;
  hasHeard: boolean;
}

/** An account with open consoles. */
interface Watched {
  streams: Set<Stream>;
  /** Null until they were read. */
  states: ReadonlyMap<string, string> | null;
  hasResults: boolean;
  isReading: boolean;
  readInTick: number;
  announcedInTick: number;
  served: string;
  maintenance: string | null;
  /** What was announced since the last tick, and what came again since then. */
  announced: Set<string>;
  repeated: Set<string>;
}

interface EventParts extends Pick<Services, 'db' | 'clock' | 'logger'> {
  bus: Bus;
  hub: Pick<LocationHub, 'served'>;
  keys: Pick<KeyStore, 'findSession'>;
}

/** Announces the results of a commit to the consoles of their accounts. */
export function announceResults(bus: Bus): ResultConsumer {
  return (_services, _db, { verdicts, endings }) => {
    const accounts = new Set([...verdicts, ...endings].map(({ accountId }) => accountId));
    return Promise.resolve(() => {
      for (const accountId of accounts) bus.send('e', `${accountId}/results`);
    });
  };
}

function changedStates(
  before: ReadonlyMap<string, string>,
  next: ReadonlyMap<string, string>,
): string[] {
  return [...next].flatMap(([id, state]) => (before.get(id) === state ? [] : [id]));
}

export class ConsoleEvents implements Disposable {
  readonly #parts: EventParts;
  readonly #accounts = new Map<string, Watched>();
  #ticks = 0;
  #cancelTick: (() => void) | null = null;
  #isClosed = false;
  #isEnding = false;
  #endsAgain = false;

  constructor(parts: EventParts) {
    this.#parts = parts;
    parts.bus.on('e', (about) => {
      const slash = about.indexOf('/');
      if (slash < 0) this.#changeAll();
      else this.#change(about.slice(0, slash), about.slice(slash + 1));
    });
    parts.bus.on('k', () => {
      void this.#endForeign();
    });
  }

  /** Adds a console, or throws when there are too many. */
  async open(accountId: string, tokenHash: string, response: Response): Promise<void> {
    const known = this.#accounts.get(accountId) ?? this.#watch(accountId);
    // What the console reads from now on is not older than what changes are compared with.
    if (known.states === null) await this.#compareStates(accountId, known);
    if (response.closed) return;
    const watched = this.#accounts.get(accountId) ?? known;
    this.#refuseMany(watched, tokenHash);
    this.#accounts.set(accountId, watched);
    const stream: Stream = { accountId, tokenHash, response, hasHeard: false };
    watched.streams.add(stream);
    response.once('close', () => {
      this.#forget(stream);
    });
    response.writeHead(200, {
      'Content-Type': 'text/event-stream',
      'Cache-Control': 'no-store',
      // Some proxies collect an answer before they pass it on.
      'X-Accel-Buffering': 'no',
    });
    this.#write(stream, ':\n\n');
    this.#tickSoon();
  }

  #refuseMany(watched: Watched, tokenHash: string): void {
    const ofSession = [...watched.streams].filter((stream) => stream.tokenHash === tokenHash);
    const ofProcess = [...this.#accounts.values()].reduce((sum, one) => sum + one.streams.size, 0);
    const isFull =
      ofSession.length >= maxStreams.session ||
      watched.streams.size >= maxStreams.account ||
      ofProcess >= maxStreams.process;
    if (!isFull && !this.#isClosed) return;
    throw new ApiError('TOO_MANY_REQUESTS', 'too many consoles are open; this one asks instead', {
      retryAfterSeconds: 60,
    });
  }

  #tickSoon(): void {
    if (this.#accounts.size === 0 || this.#isClosed) return;
    this.#cancelTick ??= this.#parts.clock.after(tickMs, () => {
      this.#tick();
    });
  }

  #watch(accountId: string): Watched {
    const watched: Watched = {
      ...{ streams: new Set(), states: null, hasResults: false, isReading: false },
      ...{ readInTick: this.#ticks, announcedInTick: this.#ticks - quietTicks },
      ...{ served: this.#servedBy(accountId), maintenance: null },
      ...{ announced: new Set(), repeated: new Set() },
    };
    this.#accounts.set(accountId, watched);
    return watched;
  }

  #forget(stream: Stream): void {
    const watched = this.#accounts.get(stream.accountId);
    watched?.streams.delete(stream);
    if (watched?.streams.size === 0) this.#accounts.delete(stream.accountId);
  }

  #write(stream: Stream, text: string): void {
    const { response } = stream;
    // Ended already: its `close` follows.
    if (response.writableEnded) return;
    if (response.writableLength > maxUnsentBytes) response.destroy();
    else response.write(text);
    stream.hasHeard = true;
  }

  #send(watched: Watched, event: 'change' | 'results', words: Iterable<string>): void {
    const text = `event: ${event}\ndata: ${[...words].join(' ')}\n\n`;
    for (const stream of watched.streams) this.#write(stream, text);
  }

  #change(accountId: string, what: string): void {
    const watched = this.#accounts.get(accountId);
    if (watched === undefined) return;
    if (what === 'results') watched.hasResults = true;
    else if (watched.announced.has(what)) watched.repeated.add(what);
    else {
      watched.announced.add(what);
      this.#send(watched, 'change', [what]);
    }
  }

  /** Too much happened at another replica to name it. */
  #changeAll(): void {
    for (const watched of this.#accounts.values()) {
      watched.hasResults = true;
      watched.repeated.add(everything);
    }
  }

  #tick(): void {
    this.#cancelTick = null;
    this.#ticks += 1;
    const isComparing = this.#ticks % compareTicks === 0;
    for (const [accountId, watched] of this.#accounts) {
      // One that was refused, or closed while it opened.
      if (watched.streams.size === 0) this.#accounts.delete(accountId);
      if (isComparing) watched.hasResults = true;
      this.#announceRepeated(accountId, watched);
      const pauseTicks = (watched.states?.size ?? 0) / statesPerTick;
      const isDue = this.#ticks - watched.readInTick >= pauseTicks;
      if (watched.hasResults && isDue) void this.#compareStates(accountId, watched);
      if (isComparing) void this.#compareMaintenance(accountId, watched);
      for (const stream of watched.streams) {
        if (!stream.hasHeard) this.#write(stream, ':\n\n');
        stream.hasHeard = false;
      }
    }
    if (isComparing) void this.#endForeign();
    this.#tickSoon();
  }

  #announceRepeated(accountId: string, watched: Watched): void {
    const served = this.#servedBy(accountId);
    if (served !== watched.served) watched.repeated.add('agents');
    watched.served = served;
    watched.announced = watched.repeated;
    watched.repeated = new Set();
    if (watched.announced.size > 0) this.#send(watched, 'change', watched.announced);
  }

  #servedBy(accountId: string): string {
    return this.#parts.hub
      .served()
      .flatMap((one) => (one.accountId === accountId ? `${one.location} ${one.count}` : []))
      .sort()
      .join();
  }

  async #compareStates(accountId: string, watched: Watched): Promise<void> {
    if (watched.isReading) return;
    watched.isReading = true;
    watched.hasResults = false;
    watched.readInTick = this.#ticks;
    try {
      const states = await statesOfChecks(this.#parts.db, accountId);
      const before = watched.states;
      watched.states = states;
      if (before !== null) this.#announceStates(watched, changedStates(before, states));
    } catch (error) {
      watched.hasResults = true;
      this.#parts.logger.debug({ err: error }, 'states of checks could not be read, trying again');
    } finally {
      watched.isReading = false;
    }
  }

  #announceStates(watched: Watched, changed: readonly string[]): void {
    if (changed.length > maxNamedChecks) {
      watched.repeated.add('checks');
      return;
    }
    const isQuiet = this.#ticks - watched.announcedInTick < quietTicks;
    if (changed.length === 0 && isQuiet) {
      watched.hasResults = true;
      return;
    }
    watched.announcedInTick = this.#ticks;
    this.#send(watched, 'results', changed);
  }

  async #compareMaintenance(accountId: string, watched: Watched): Promise<void> {
    const { db, clock, logger } = this.#parts;
    try {
      const held = (await maintenanceHeld(db, accountId, clock.now())).join();
      const isChanged = watched.maintenance !== null && held !== watched.maintenance;
      if (isChanged) watched.repeated.add('maintenance-windows');
      watched.maintenance = held;
    } catch (error) {
      logger.debug({ err: error }, 'maintenance windows could not be read, trying again');
    }
  }

  /** Ends the streams whose session has ended. */
  async #endForeign(): Promise<void> {
    // Every message asks for the same, so one more look is enough for all that come meanwhile.
    this.#endsAgain = this.#isEnding;
    if (this.#isEnding) return;
    this.#isEnding = true;
    do {
      this.#endsAgain = false;
      await this.#endForeignOnce();
    } while (this.#endsAgain && !this.#isClosed);
    this.#isEnding = false;
  }

  async #endForeignOnce(): Promise<void> {
    const streams = [...this.#accounts.values()].flatMap((watched) => [...watched.streams]);
    for (const { accountId, tokenHash, response } of streams) {
      try {
        const principal = await this.#parts.keys.findSession(tokenHash);
        if (principal?.accountId !== accountId) response.end();
      } catch {
        // The console asks again, and has its answer then.
        response.end();
      }
    }
  }

  /** Ends all streams; new ones are refused. */
  close(): void {
    this.#isClosed = true;
    this.#cancelTick?.();
    for (const { streams } of this.#accounts.values()) {
      for (const { response } of streams) response.end();
    }
  }

  [Symbol.dispose](): void {
    this.close();
  }
}

/** A console asks with its session cookie and its header, which an `EventSource` could not send. */
export function serveConsoleEvents(
  events: ConsoleEvents,
  keys: Pick<KeyStore, 'findSession'>,
  cookie: ConsoleCookie,
): Router {
  const router = Router({ strict: true });
  router.get('/console/events', async (request, response) => {
    response.locals['operationId'] = 'consoleEvents';
    const token = cookie.tokenOf(request);
    const tokenHash = token === undefined ? '' : sha256Hex(token);
    const principal = token === undefined ? undefined : await keys.findSession(tokenHash);
    if (principal === undefined) throw badToken();
    // Express asks this for HEAD too, whose answer has an end.
    if (request.method === 'HEAD') {
      response.setHeader('Content-Type', 'text/event-stream').end();
      return;
    }
    await events.open(principal.accountId, tokenHash, response);
  });
  return router;
}
