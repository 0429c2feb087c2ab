/**
 * Sends spans by OTLP over HTTP, in batches. What does not fit the queue, or is not taken in a few
 * tries, is dropped and counted: a run never waits for its trace.
 */
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { decodedOrAsIs } from '@monitor/shared/http-url.ts';
import { request, type Dispatcher } from 'undici';
import { sleep, type Clock } from '@monitor/shared/clock.ts';
import type { Logger } from 'pino';
import type { AgentMetrics } from '../metrics.ts';
import { exportRequest, type Span } from './otlp.ts';

const compress = promisify(gzip);

const maxWaiting = 8_192;
const maxInBatch = 512;
const gatherMs = 2_000;
const answerWithinMs = 10_000;
const tries = 4;
const firstPauseMs = 1_000;
/** Longest answer that is read for what it says. */
const maxAnswerLength = 65_536;

export interface TraceExporterOptions {
  /** As in OTEL_EXPORTER_OTLP_ENDPOINT: without `/v1/traces`. */
  endpoint: string;
  headers: Readonly<Record<string, string>>;
  /** Proxy and authorities of the agent. */
  dispatcher: Dispatcher;
  resource: Span['attributes'];
  version: string;
  clock: Clock;
  random: () => number;
  metrics: Pick<AgentMetrics, 'spans'>;
  logger: Logger;
}

/**
 * The headers in OTEL_EXPORTER_OTLP_HEADERS: `name=value` separated by commas, values percent-encoded
 * (W3C Baggage). Throws with what cannot be read, never with a value.
 */
export function parseHeaders(text: string): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const [index, entry] of text.split(',').entries()) {
    if (entry.trim() === '') continue;
    const at = entry.indexOf('=');
    const name = entry.slice(0, at).trim();
    if (at < 1 || !/^[\w!#$%&'*+.^`|~-]+$/.test(name)) {
      throw new Error(`entry ${index + 1} of OTEL_EXPORTER_OTLP_HEADERS is not name=value`);
    }
    const value = entry.slice(at + 1).trim();
    headers[name.toLowerCase()] = decodedOrAsIs(value);
  }
  return headers;
}

type Answer =
  { isTaken: true; refused: number } | { isTaken: false; canRetry: boolean; why: string };

/** OTLP: these mean "later"; every other status means "never". */
const laterStatuses = [429, 502, 503, 504];

export class TraceExporter {
  readonly #options: TraceExporterOptions;
  readonly #url: string;
  readonly #stopping = new AbortController();
  #waiting: Span[] = [];
  #cancelGathering: (() => void) | null = null;
  #sending: Promise<void> | null = null;
  #isFailing = false;

  constructor(options: TraceExporterOptions) {
    this.#options = options;
    this.#url = `${options.endpoint.replace(/\/+$/, '')}/v1/traces`;
  }

  /** Takes spans to be sent soon. Never throws and never waits. */
  add(spans: readonly Span[]): void {
    const room = maxWaiting - this.#waiting.length;
    if (spans.length > room || this.#stopping.signal.aborted) {
      this.#options.metrics.spans.inc({ outcome: 'dropped' }, spans.length);
      return;
    }
    this.#waiting.push(...spans);
    if (this.#waiting.length >= maxInBatch) this.#send();
    else this.#cancelGathering ??= this.#options.clock.after(gatherMs, () => this.#send());
  }

  #send(): void {
    this.#cancelGathering?.();
    this.#cancelGathering = null;
    this.#sending ??= this.#sendAll().finally(() => {
      this.#sending = null;
      // What came while the last batch was on its way.
      if (this.#waiting.length > 0) this.#send();
    });
  }

  async #sendAll(): Promise<void> {
    while (this.#waiting.length > 0) {
      const batch = this.#waiting.splice(0, maxInBatch);
      await this.#sendBatch(batch);
    }
  }

  async #sendBatch(batch: readonly Span[]): Promise<void> {
    const { clock, random, metrics, logger, resource, version } = this.#options;
    const { signal } = this.#stopping;
    const body = await compress(exportRequest(resource, version, batch));
    let why = 'the agent stops';
    for (let attempt = 1; attempt <= tries && !signal.aborted; attempt += 1) {
      const answer = await this.#post(body);
      if (answer.isTaken) {
        metrics.spans.inc({ outcome: 'exported' }, batch.length - answer.refused);
        if (answer.refused > 0) metrics.spans.inc({ outcome: 'refused' }, answer.refused);
        if (this.#isFailing) logger.info('traces are taken again');
        this.#isFailing = false;
        return;
      }
      why = answer.why;
      if (!answer.canRetry) break;
      if (attempt < tries) {
        await sleep(clock, firstPauseMs * 2 ** (attempt - 1) * (0.5 + random()), signal);
      }
    }
    metrics.spans.inc({ outcome: 'dropped' }, batch.length);
    if (!this.#isFailing)
      logger.warn({ why, spans: batch.length }, 'traces are not taken, dropped');
    this.#isFailing = true;
  }

  async #post(body: Buffer): Promise<Answer> {
    const { dispatcher, headers } = this.#options;
    try {
      const response = await request(this.#url, {
        method: 'POST',
        dispatcher,
        headers: { ...headers, 'content-type': 'application/json', 'content-encoding': 'gzip' },
        body,
        headersTimeout: answerWithinMs,
        bodyTimeout: answerWithinMs,
        signal: AbortSignal.any([this.#stopping.signal, AbortSignal.timeout(answerWithinMs)]),
      });
      const text = await textOf(response.body);
      if (response.statusCode >= 200 && response.statusCode < 300) {
        return { isTaken: true, refused: refusedIn(text) };
      }
      const canRetry = laterStatuses.includes(response.statusCode);
      return { isTaken: false, canRetry, why: `status ${response.statusCode}` };
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      return { isTaken: false, canRetry: true, why };
    }
  }

  /** Sends what waits, for so long at most; what is left is dropped. Nothing is taken afterwards. */
  async flush(withinMs: number): Promise<void> {
    const { clock, metrics } = this.#options;
    const cancel = clock.after(withinMs, () => this.#stopping.abort());
    if (this.#waiting.length > 0) this.#send();
    while (this.#sending !== null) await this.#sending;
    cancel();
    this.#stopping.abort();
    this.#cancelGathering?.();
    if (this.#waiting.length > 0) metrics.spans.inc({ outcome: 'dropped' }, this.#waiting.length);
    this.#waiting = [];
  }
}

async function textOf(body: AsyncIterable<unknown>): Promise<string> {
  let text = '';
  for await (const chunk of body) {
    if (text.length < maxAnswerLength) text += String(chunk);
  }
  return text;
}

/** Spans that the receiver did not take although it took the request. */
function refusedIn(text: string): number {
  try {
    const parsed = JSON.parse(text) as { partialSuccess?: { rejectedSpans?: unknown } };
    const refused = Number(parsed.partialSuccess?.rejectedSpans ?? 0);
    return Number.isSafeInteger(refused) && refused > 0 ? refused : 0;
  } catch {
    return 0;
  }
}
