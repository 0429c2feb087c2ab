/**
 * Reads an account of another installation through its public API, within its limits: it waits as `Retry-After` says, follows
 * no redirect with the key, and gives up on answers that are no pages of a list. Nothing is written there.
 */
import { type Fields, isFields } from '@monitor/shared/fields.ts';
import { type OutgoingAnswer, OutgoingError, type Send } from '../notifications/index.ts';

/** The other side cannot be read. The message never has the key. */
export class SourceApiError extends Error {
  /** Of the answer; null without one. */
  readonly status: number | null;

  constructor(message: string, status: number | null = null, options?: ErrorOptions) {
    super(message, options);
    this.name = 'SourceApiError';
    this.status = status;
  }
}

export interface Source {
  baseUrl: string;
  key: string;
  /** Null for the account of the key. */
  accountId: string | null;
}

export interface SourceParts {
  send: Send;
  now: () => number;
  /** Waits, or throws when it is over; the error says what it waits for. */
  pause: (ms: number, why: SourceApiError) => Promise<void>;
  signal: AbortSignal;
  /** Called before it waits for the limits of the other side. */
  onWait?: (ms: number) => void;
}

const pageSize = 100;
/** The largest number of entries of a list, far above any account. */
const maxEntries = 100_000;
const maxAnswerBytes = 33_554_432;
const longestWaitMs = 15 * 60_000;
const mostWaits = 60;
const mostFailures = 5;
const mostReadings = 3;
const isTransient = (status: number): boolean => [408, 500, 502, 503, 504].includes(status);

/** Milliseconds of `Retry-After`, in seconds or as a date; null without one. */
export function retryAfterMs(header: unknown, now: number): number | null {
  if (typeof header !== 'string' || header.trim() === '') return null;
  const ms = /^\d+$/.test(header.trim()) ? Number(header) * 1000 : Date.parse(header) - now;
  return Number.isNaN(ms) ? null : Math.min(Math.max(ms, 0), longestWaitMs);
}

/** The number after the slash of `checks 0-99/137`. */
function totalOf({ headers }: OutgoingAnswer): number | null {
  const header = headers['content-range'];
  const [, total] = /\/(\d+)$/.exec(typeof header === 'string' ? header : '') ?? [];
  return total === undefined ? null : Number(total);
}

type Query = Readonly<Record<string, string | number>>;

export class SourceApi {
  readonly #source: Source;
  readonly #parts: SourceParts;
  /** Its clock less ours in milliseconds, by the newest answer. */
  clockOffsetMs = 0;

  constructor(source: Source, parts: SourceParts) {
    const { baseUrl, key } = source;
    const url = URL.parse(baseUrl);
    if (url === null || !/^https?:$/.test(url.protocol)) {
      throw new SourceApiError('the address of the API must begin with https:// or http://');
    }
    if (/[@?#]/.test(baseUrl)) {
      throw new SourceApiError('the address of the API has more than host and path');
    }
    if (!/^[\x21-\x7e]{1,1024}$/.test(key)) {
      throw new SourceApiError('the API key is no key: it is empty, or has spaces or other lines');
    }
    this.#source = { ...source, baseUrl: baseUrl.replace(/\/+$/, '') };
    this.#parts = parts;
  }

  get host(): string {
    return new URL(this.#source.baseUrl).host;
  }

  async #send(path: string, what: string): Promise<OutgoingAnswer> {
    const { send, now, pause, signal, onWait } = this.#parts;
    const { baseUrl, key, accountId } = this.#source;
    const headers = [
      ['authorization', `Bearer ${key}`],
      ['accept', 'application/json'],
      ...(accountId === null ? [] : [['x-checkly-account', accountId]]),
    ] as [string, string][];
    let waits = 0;
    let failures = 0;
    const waitFor = async (ms: number, problem: string, status: number | null, cause?: unknown) => {
      onWait?.(ms);
      await pause(ms, new SourceApiError(`${what}: ${problem}`, status, { cause }));
    };
    for (;;) {
      const asked = now();
      let answer: OutgoingAnswer;
      try {
        const request = { method: 'GET', url: new URL(baseUrl + path), headers, body: null };
        answer = await send({ ...request, maxAnswerBytes }, signal);
      } catch (error) {
        signal.throwIfAborted();
        failures += 1;
        if (!(error instanceof OutgoingError)) throw error;
        if (error.isFinal || failures >= mostFailures) {
          throw new SourceApiError(`${what}: ${error.message}`, null, { cause: error });
        }
        await waitFor(1000 * 2 ** failures, error.message, null, error);
        continue;
      }
      const { status } = answer;
      // What refuses or finds nothing may be something before the API, with a clock of its own.
      if (status === 200) this.#noteClock(answer, (asked + now()) / 2);
      const advised = retryAfterMs(answer.headers['retry-after'], now());
      if (status === 429 && waits < mostWaits) {
        waits += 1;
        const ms = Math.max(1000, advised ?? 1000 * 2 ** Math.min(waits, 6));
        await waitFor(ms, `it asks to wait ${Math.ceil(ms / 1000)} s`, status);
      } else if (isTransient(status) && failures < mostFailures - 1) {
        failures += 1;
        await waitFor(advised ?? 1000 * 2 ** failures, `status ${status}`, status);
      } else return answer;
    }
  }

  /** The header has whole seconds: half a second is as good as none. */
  #noteClock({ headers }: OutgoingAnswer, at: number): void {
    const date = typeof headers['date'] === 'string' ? Date.parse(headers['date']) : NaN;
    if (Number.isNaN(date)) return;
    const offset = date + 500 - at;
    this.clockOffsetMs = Math.abs(offset) < 2_000 ? 0 : Math.round(offset);
  }

  async #read(path: string, query: Query = {}): Promise<{ body: unknown; answer: OutgoingAnswer }> {
    const search = new URLSearchParams(
      Object.entries(query).map(([name, value]): [string, string] => [name, String(value)]),
    ).toString();
    const what = `could not read ${path} at ${this.host}`;
    const answer = await this.#send(path + (search === '' ? '' : `?${search}`), what);
    const { status } = answer;
    if (status >= 300 && status < 400) {
      throw new SourceApiError(
        `${what}: it redirects; give the address of the API itself, the key was sent nowhere else`,
        status,
      );
    }
    if (answer.isCut) {
      throw new SourceApiError(
        `${what}: the answer has more than ${maxAnswerBytes / 1_048_576} MiB`,
      );
    }
    let body: unknown;
    try {
      body = JSON.parse(answer.body);
    } catch (error) {
      const problem = `${what}: status ${status} without JSON; is it the address of the API?`;
      throw new SourceApiError(problem, status, { cause: error });
    }
    if (status === 200) return { body, answer };
    const message = isFields(body) && typeof body['message'] === 'string' ? body['message'] : null;
    const reason =
      status === 401 ? 'the API key is refused' : status === 403 ? 'the API key may not' : null;
    // A server may repeat what it was sent.
    const shown = (message ?? '').replaceAll(this.#source.key, '…').slice(0, 200);
    const parts = [`status ${status}`, reason, shown].filter(
      (part) => part !== null && part !== '',
    );
    throw new SourceApiError(`${what}: ${parts.join(', ')}`, status);
  }

  async get(path: string, query: Query = {}): Promise<Fields> {
    const { body } = await this.#read(path, query);
    if (isFields(body)) return body;
    throw new SourceApiError(`could not read ${path} at ${this.host}: the answer is no object`);
  }

  #entriesOf(path: string, list: unknown): Fields[] {
    if (Array.isArray(list) && list.every(isFields)) return list;
    throw new SourceApiError(`could not read ${path} at ${this.host}: the answer is no list`);
  }

  /** All entries of a list, each once. */
  async list(
    path: string,
    paging: 'pages' | 'cursor' | 'whole',
    onEntries: (count: number) => void = () => undefined,
  ): Promise<Fields[]> {
    if (paging === 'whole') {
      const { body } = await this.#read(path);
      // Some lists became pages later.
      const isPage = isFields(body) && 'entries' in body;
      if (!isPage || typeof body['nextId'] !== 'string') {
        return this.#entriesOf(path, isPage ? body['entries'] : body);
      }
    }
    if (paging !== 'pages') {
      const all: Fields[] = [];
      for await (const entries of this.byCursor(path)) {
        all.push(...entries);
        onEntries(all.length);
      }
      return all;
    }
    for (let reading = 1; ; reading += 1) {
      const { entries, total } = await this.#readPages(path, onEntries);
      if (total === null || entries.length >= total) return entries;
      // What is deleted meanwhile moves entries to the page before.
      if (reading < mostReadings) continue;
      throw new SourceApiError(
        `could not read ${path} at ${this.host}: it says ${total} entries and gives ${entries.length}`,
      );
    }
  }

  async #readPages(path: string, onEntries: (count: number) => void) {
    const found = new Map<string, Fields>();
    for (let page = 1; ; page += 1) {
      const { body, answer } = await this.#read(path, { limit: pageSize, page });
      const entries = this.#entriesOf(path, body);
      const before = found.size;
      for (const entry of entries) found.set(String(entry['id'] ?? entry['key']), entry);
      onEntries(found.size);
      const total = totalOf(answer);
      const isLast = entries.length < pageSize || (total !== null && page * pageSize >= total);
      if (isLast) return { entries: [...found.values()], total };
      if (found.size === before || found.size > maxEntries) this.#endless(path);
    }
  }

  #endless(path: string): never {
    throw new SourceApiError(`could not read ${path} at ${this.host}: its pages do not end`);
  }

  /** Pages of a list by cursor. */
  async *byCursor(path: string, query: Query = {}): AsyncGenerator<Fields[], void> {
    const cursors = new Set<string>();
    for (let count = 0, nextId: string | null = null; ;) {
      const asked: Query = { limit: pageSize, ...query, ...(nextId === null ? {} : { nextId }) };
      const body: Fields = await this.get(path, asked);
      const entries = this.#entriesOf(path, body['entries']);
      yield entries;
      count += entries.length;
      const next = body['nextId'];
      if (typeof next !== 'string' || next === '') return;
      if (cursors.has(next) || count > maxEntries || entries.length === 0) this.#endless(path);
      cursors.add(next);
      nextId = next;
    }
  }
}
