/** Calls to the control plane, typed by the agent protocol. The only place that classifies their failures. */
import { open, rm } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { brotliCompress, constants, createGzip } from 'node:zlib';
import { promisify } from 'node:util';
import { request, type Dispatcher } from 'undici';
import type { z } from 'zod';
import { systemClock, type Clock } from '@monitor/shared/clock.ts';
import {
  agentArtifactRoutes,
  agentCodeBundleRoutes,
  agentRoutes,
  checkIn,
  goodbye,
  protocolHeader,
  protocolVersion,
  releaseJobs,
  renewLeases,
  reportErrors,
  submitResults,
  type CheckInAnswer,
  type CheckInRequest,
  type ItemOutcome,
  type LiveLogLine,
  type OpenRun,
  type ShardAnswer,
  type ShardedRun,
  type ShardOutcome,
} from '@monitor/shared/contract/agent-protocol.ts';
import type { errorCatalogue } from '@monitor/shared/contract/errors.ts';
import { errorBody, type ErrorBody } from '@monitor/shared/contract/errors.ts';
import { maxCodeBundleBytes } from '@monitor/shared/contract/code-bundle.ts';
import type { Route } from '@monitor/shared/contract/route.ts';
import { AgentError } from '../errors.ts';
import { codeOf } from '../net/failure.ts';
import { printable } from '../printable.ts';
import type { Acknowledgement } from './acknowledgement.ts';
import { LinkProblem } from './link-problem.ts';
import { connectWithinMs } from './open-connection.ts';
import { TimeoutPolicy } from './timeout-policy.ts';
import { IdleTimeout } from './idle-timeout.ts';

const brotli = promisify(brotliCompress);

/** A quarter of the CPU of gzip for encrypted results, half of it for others, and smaller. */
function compress(text: string): Promise<Buffer> {
  const bytes = Buffer.from(text);
  return brotli(bytes, {
    params: {
      [constants.BROTLI_PARAM_QUALITY]: 1,
      [constants.BROTLI_PARAM_LGWIN]: 18,
      [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length,
    },
  });
}

/**
 * A half-open connection is noticed within 30 s in any state: a poll waits 20 s for changes, and
 * its answer is due 8 s later; any other call must make progress every 20 s. A slow link gets more
 * time after each failure.
 */
export const pollMs = 20_000;
const pollAnswerMs = { least: 8_000, most: 64_000 };
const answerMs = { least: 20_000, most: 160_000 };
const fileMs = { least: 20_000, most: 320_000 };
/** Long uploads look idle while buffers on the way drain; they are as large the next time. */
const buffersMargin = 2;
/** How long the last message may delay the end of the process. */
const goodbyeMs = 5_000;
/** Time for the connection setup besides its first bytes. */
const connectSlackMs = 8_000;
const compressFromBytes = 4_096;
const fileBlockBytes = 262_144;
/** Bodies are sent in pieces of this size, so that progress is visible on a slow link. */
const pieceBytes = 16_384;
/** An answer that only trickles, and never ends, would keep its call for ever. */
const trickles = { withinMs: 120_000, msPerByte: 4 };
/** More than any schedule has. */
const maxTextBytes = 268_435_456;

/** A failed call: whether a retry can help, and when the server asked for it. */
export class CallFailure extends AgentError {
  readonly statusCode: number | null;
  readonly retryAfterMs: number | null;
  /** It is the answer of something in between, and decides nothing about what was sent. */
  readonly isPage: boolean;

  constructor(
    code: AgentError['code'],
    message: string,
    details: {
      statusCode?: number;
      retryAfterMs?: number | null;
      isPage?: boolean;
      cause?: unknown;
    },
  ) {
    super(code, message, { cause: details.cause });
    this.statusCode = details.statusCode ?? null;
    this.retryAfterMs = details.retryAfterMs ?? null;
    this.isPage = details.isPage ?? false;
  }
}

/** A file on this machine, ready to be uploaded. */
export interface ArtifactUpload {
  resultId: string;
  name: string;
  /** Where it is. */
  path: string;
  size: number;
  /** SHA-256 in base64. */
  digest: string;
  /** Sent as gzip. */
  isCompressed: boolean;
}

interface CallOptions {
  body: string;
  waitMs?: number;
  timeouts?: TimeoutPolicy;
  signal?: AbortSignal;
}

interface Exchange {
  method: string;
  url: string;
  headers: Record<string, string>;
  body: AsyncIterable<Buffer> | Iterable<Buffer> | null;
  /** How long the server may hold the call before it answers. */
  waitMs?: number;
  timeouts: TimeoutPolicy;
  signal: AbortSignal | undefined;
}

type Answer = Dispatcher.ResponseData;
/** Passes chunks on and records progress. */
type Watched = (chunks: AsyncIterable<Buffer>) => AsyncIterable<Buffer>;

function* piecesOf(bytes: Buffer): Generator<Buffer> {
  for (let at = 0; at < bytes.length; at += pieceBytes) yield bytes.subarray(at, at + pieceBytes);
}

async function textOf(chunks: AsyncIterable<Buffer>): Promise<string> {
  const all: Buffer[] = [];
  for await (const chunk of limitedTo(maxTextBytes)(chunks)) all.push(chunk);
  return Buffer.concat(all).toString('utf8');
}

function retryAfterMs(header: string | string[] | undefined): number | null {
  const seconds = typeof header === 'string' ? Number(header) : Number.NaN;
  return Number.isFinite(seconds) && seconds >= 0 ? Math.min(seconds, 300) * 1000 : null;
}

/**
 * Meaning of answers other than success.
 *   401, 403  the key is not (or no longer) accepted: only a person can help, but keys come back
 *   429, 503  too busy: later, when the server says so
 * 408       the body did not arrive completely: a retry may work
 *   413       the batch is too large: smaller ones may pass
 * 400, 401  about a header: a proxy changed it; body and key may be good
 * 409       with its code: one side is too old for the other
 *   3xx       something in between leads to another address
 *   404       not a control plane, or one from before this protocol
 *   other 4xx this call is wrong and stays wrong
 *   5xx       an error of the control plane, which may pass
 * What is not an error as the control plane words it comes from a proxy or gateway: it says nothing about what was sent.
 */
function failureOf(
  status: number,
  url: string,
  text: string,
  headers: Record<string, string | string[] | undefined>,
): CallFailure {
  const own = ownError(status, text);
  const isLater = status === 408 || status === 429 || status >= 500;
  const details = {
    statusCode: status,
    retryAfterMs: retryAfterMs(headers['retry-after']),
    isPage: own === null && !isLater,
  };
  const message = own?.message.slice(0, maxMessageLength) ?? '';
  const said = own === null ? ` with ${pageIn(text)}` : `: ${message}`;
  if (own?.attributes.code === ('PROTOCOL_UNSUPPORTED' satisfies keyof typeof errorCatalogue)) {
    return new CallFailure('PROTOCOL_REFUSED', message, details);
  }
  if ((status === 400 || status === 401) && own?.attributes.source === 'headers') {
    return new CallFailure(
      'CONTROL_PLANE_ANSWER',
      status === 401
        ? `${url} answered 401${said}; ${keyIsTakenAway}`
        : `${url} answered 400${said}; a proxy in between may change what this agent sends`,
      details,
    );
  }
  if (status === 404) {
    return new CallFailure(
      'CONTROL_PLANE_REFUSED',
      `${url} answered 404: there is no control plane at CONTROL_PLANE_URL, or it is older than this agent`,
      details,
    );
  }
  if (status >= 300 && status < 400 && typeof headers['location'] === 'string') {
    return new CallFailure(
      'CONTROL_PLANE_ANSWER',
      `${url} answered ${status} and redirects to ${printable(headers['location'].slice(0, 200))}; set CONTROL_PLANE_URL to the address of the control plane there, or sign in where it is a login page`,
      details,
    );
  }
  if (details.isPage) {
    return new CallFailure(
      'CONTROL_PLANE_ANSWER',
      `${url} answered ${status}${said}, not as a control plane does; let the proxy or gateway in between pass it`,
      details,
    );
  }
  if (status === 401 || status === 403) {
    return new CallFailure(
      'KEY_REFUSED',
      `the control plane refused the key (${status} from ${url}${said}); make a new key for the location and set API_KEY`,
      details,
    );
  }
  const code = isLater || status === 413 ? 'CONTROL_PLANE_ANSWER' : 'CONTROL_PLANE_REFUSED';
  return new CallFailure(code, `${url} answered ${status}${said}`, details);
}

/** Of a request that arrived without `Authorization: Bearer`. */
export const keyIsTakenAway =
  'no key arrived: something in between takes the header Authorization away, or puts another one in its place';

/** Longer than any message of the control plane. */
const maxMessageLength = 1_000;

/** The error as the control plane words it; null for any other answer. */
export function ownError(status: number, text: string): ErrorBody | null {
  try {
    const { data } = errorBody.safeParse(JSON.parse(text));
    return data?.statusCode === status ? data : null;
  } catch {
    return null;
  }
}

/** The first words of a page, by which people find where it comes from. */
export function pageIn(text: string): string {
  const words = text
    .slice(0, maxMessageLength)
    .replace(/<[^>]*>/g, ' ')
    .replace(/\s+/g, ' ');
  return words.trim() === ''
    ? 'an empty page'
    : `a page: "${printable(words.trim().slice(0, 80))}"`;
}

function unreachable(url: string, cause: unknown): CallFailure {
  if (cause instanceof LinkProblem) {
    return new CallFailure(
      'CONTROL_PLANE_UNREACHABLE',
      `${url} cannot be reached: ${cause.message}; ${cause.fix}`,
      { cause },
    );
  }
  const reason = cause instanceof Error ? cause.message : String(cause);
  if (/^(UND_)?ERR_INVALID/.test(codeOf(cause))) {
    return new CallFailure(
      'CONTROL_PLANE_UNREACHABLE',
      `${url} was not asked, since the agent cannot make the request (${reason}); please report this`,
      { cause },
    );
  }
  if (/^HPE_|does not match the HTTP/.test(`${codeOf(cause)} ${reason}`)) {
    return new CallFailure(
      'CONTROL_PLANE_UNREACHABLE',
      `${url}: what answers does not speak HTTP (${reason}); write https:// where it speaks TLS, or correct the port, in CONTROL_PLANE_URL or in the proxy setting`,
      { cause },
    );
  }
  return new CallFailure(
    'CONTROL_PLANE_UNREACHABLE',
    `${url} cannot be reached (${reason}); check CONTROL_PLANE_URL, the network and the proxy settings`,
    { cause },
  );
}

/** `{name}` of a path by its value. */
function fillPath(path: string, params: Readonly<Record<string, string>>): string {
  return path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(params[name] ?? ''));
}

/** Of an image that was deployed; approved ones are smaller. */
const maxImageBytes = 33_554_432;

/** Passes chunks on; throws beyond the limit. */
function limitedTo(maxBytes: number) {
  return async function* (chunks: AsyncIterable<Buffer>) {
    let bytes = 0;
    for await (const chunk of chunks) {
      bytes += chunk.length;
      if (bytes > maxBytes) throw new Error(`it has more than ${maxBytes} bytes`);
      yield chunk;
    }
  };
}

export interface ClientOptions {
  baseUrl: string;
  apiKey: { reveal(): string };
  /** After a refusal of this key, or of trust: true where something changed that is worth a try at once. */
  renew?: (failure: CallFailure, usedKey: string) => boolean;
  dispatcher: Dispatcher;
  /** Survives restarts; without it no mark is sent. */
  acknowledgement?: Acknowledgement;
  agentId: string;
  version: string;
  /** Measures idle time. */
  clock?: Clock;
}

export class ControlPlaneClient {
  readonly #options: ClientOptions;
  readonly #clock: Clock;
  readonly #ofPolls = new TimeoutPolicy(pollAnswerMs.least, pollAnswerMs.most);
  readonly #ofCalls = new TimeoutPolicy(answerMs.least, answerMs.most, buffersMargin);
  readonly #ofFiles = new TimeoutPolicy(fileMs.least, fileMs.most, buffersMargin);

  constructor(options: ClientOptions) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
  }

  /** One request and its answer, with an idle timeout. */
  async #exchange<T>(
    { method, url, headers, body, waitMs = 0, timeouts, signal }: Exchange,
    read: (answer: Answer, watched: Watched) => Promise<T>,
  ): Promise<T> {
    const { apiKey, dispatcher } = this.#options;
    const clock = this.#clock;
    using watch = new IdleTimeout(this.#clock, connectWithinMs + connectSlackMs);
    const outgoing = async function* (chunks: AsyncIterable<Buffer> | Iterable<Buffer>) {
      // The first piece is read when the connection is established.
      watch.begin(timeouts.ms);
      for await (const chunk of chunks) {
        for (const piece of piecesOf(chunk)) {
          yield piece;
          watch.moved(piece.length);
        }
      }
      watch.expect(waitMs + timeouts.ms);
    };
    const incoming: Watched = async function* (chunks) {
      const began = clock.monotonic();
      let bytes = 0;
      for await (const chunk of chunks) {
        watch.moved(chunk.length);
        bytes += chunk.length;
        const tookMs = clock.monotonic() - began;
        if (tookMs > trickles.withinMs + bytes * trickles.msPerByte) {
          const what = `${bytes} bytes of its answer came within ${Math.round(tookMs / 1_000)} s, and not its end`;
          throw Object.assign(new Error(what), { code: 'ETIMEDOUT' });
        }
        yield chunk;
      }
    };
    try {
      const answer = await request(url, {
        method,
        dispatcher,
        signal: signal === undefined ? watch.signal : AbortSignal.any([watch.signal, signal]),
        headers: {
          authorization: `Bearer ${apiKey.reveal()}`,
          [protocolHeader]: String(protocolVersion),
          ...headers,
        },
        body: body === null ? null : Readable.from(outgoing(body)),
      });
      watch.moved(0);
      watch.expect(timeouts.ms);
      const result = await read(answer, incoming);
      // The idle time of a poll says nothing: see `checkIn`.
      if (waitMs === 0) timeouts.answered(watch.maxIdleMs);
      return result;
    } catch (error) {
      if (watch.isExpired && signal?.aborted !== true) timeouts.ranOut();
      throw error;
    }
  }

  async #call<R extends Route>(route: R, options: CallOptions) {
    const { apiKey, renew } = this.#options;
    const used = apiKey.reveal();
    try {
      return await this.#callOnce(route, options);
    } catch (error) {
      if (!(error instanceof CallFailure) || renew?.(error, used) !== true) throw error;
      return this.#callOnce(route, options);
    }
  }

  async #callOnce<R extends Route>(
    route: R,
    { body, waitMs = 0, timeouts = this.#ofCalls, signal }: CallOptions,
  ): Promise<R extends Record<'response', infer S extends z.ZodType> ? z.output<S> : undefined> {
    const url = this.#options.baseUrl + route.path;
    const isLarge = body.length >= compressFromBytes;
    const bytes = isLarge ? await compress(body) : Buffer.from(body);
    let status: number;
    let headers: Record<string, string | string[] | undefined>;
    let text: string;
    try {
      ({ status, headers, text } = await this.#exchange(
        {
          ...{ method: route.method, url, waitMs, timeouts, signal },
          headers: {
            'content-type': 'application/json',
            'content-length': String(bytes.length),
            ...(isLarge ? { 'content-encoding': 'br' } : {}),
          },
          body: [bytes],
        },
        async (answer, watched) => ({
          status: answer.statusCode,
          headers: answer.headers,
          text: await textOf(watched(answer.body)),
        }),
      ));
    } catch (cause) {
      throw unreachable(url, cause);
    }
    if (status !== route.status) throw failureOf(status, url, text, headers);
    if (route.response === undefined) return undefined as never;
    try {
      return route.response.parse(JSON.parse(text)) as never;
    } catch (cause) {
      // Usually a proxy page with status 200: the real answer is lost, so the call is repeated.
      throw new CallFailure(
        'CONTROL_PLANE_ANSWER',
        `${url} answered ${status} with something else than the protocol says; a proxy in between may have answered`,
        { statusCode: status, cause },
      );
    }
  }

  async checkIn(body: CheckInRequest, signal: AbortSignal): Promise<CheckInAnswer> {
    const timeouts = this.#ofPolls;
    const shown = this.#options.acknowledgement?.newest;
    const text = JSON.stringify(shown == null ? body : { ...body, acknowledged: shown });
    const begunAt = this.#clock.monotonic();
    const answer = await this.#call(checkIn, { body: text, waitMs: body.waitMs, timeouts, signal });
    const { receivedAt, sentAt } = answer.serverTime;
    timeouts.answered(Math.max(0, this.#clock.monotonic() - begunAt - (sentAt - receivedAt)));
    return answer;
  }

  /** Submits JSON submissions, so that the outbox need not parse them. */
  async submit(payloads: readonly string[], signal?: AbortSignal): Promise<ItemOutcome[]> {
    const { agentId, acknowledgement } = this.#options;
    const shown = acknowledgement?.newest;
    const mark = shown == null ? '' : `"acknowledged":${JSON.stringify(shown)},`;
    const body = `{"agentId":"${agentId}",${mark}"items":[${payloads.join(',')}]}`;
    const { items, acknowledged } = await this.#call(submitResults, {
      body,
      ...(signal && { signal }),
    });
    if (acknowledged !== undefined) acknowledgement?.keep(acknowledged);
    return items;
  }

  renewLeases(jobIds: readonly string[]): Promise<{ renewed: string[]; lost: string[] }> {
    return this.#call(renewLeases, { body: this.#body({ jobIds }) });
  }

  async release(jobIds: readonly string[]): Promise<void> {
    await this.#call(releaseJobs, { body: this.#body({ jobIds }) });
  }

  /** Reports all runs in progress. */
  async reportOpenRuns(runs: readonly OpenRun[]): Promise<void> {
    await this.#call(agentRoutes.reportOpenRuns, { body: this.#body({ runs }) });
  }

  /** Shares a run, or gives what there is of it by now. */
  shareRun(
    asked: { run: ShardedRun; has: readonly number[]; claims: boolean; waitMs: number },
    signal: AbortSignal,
  ): Promise<ShardAnswer> {
    const { waitMs } = asked;
    return this.#call(agentRoutes.shareRun, { body: this.#body(asked), waitMs, signal });
  }

  async finishShard(
    jobId: string,
    outcome: ShardOutcome,
    signal: AbortSignal,
  ): Promise<'accepted' | 'duplicate' | 'lost'> {
    const body = this.#body({ jobId, outcome: JSON.stringify(outcome) });
    return (await this.#call(agentRoutes.finishShard, { body, signal })).outcome;
  }

  /** Sends what a run has printed since. Throws CallFailure with 404 when nobody watches it. */
  async sendLogs(runId: string, position: number, lines: readonly LiveLogLine[]): Promise<void> {
    await this.#call(agentRoutes.sendLogs, { body: this.#body({ runId, position, lines }) });
  }

  async goodbye(): Promise<void> {
    const timeouts = new TimeoutPolicy(goodbyeMs, goodbyeMs);
    await this.#call(goodbye, { body: this.#body({}), timeouts });
  }

  async report(events: readonly { code: string; count: number }[]): Promise<void> {
    await this.#call(reportErrors, {
      body: this.#body({ version: this.#options.version, events }),
    });
  }

  /**
   * Uploads a file as a stream. Throws CallFailure like every call (404: its result is missing,
   * perhaps not yet stored), and DATA_DIR_UNUSABLE when the file cannot be read.
   */
  async uploadArtifact(upload: ArtifactUpload, signal: AbortSignal): Promise<void> {
    const { baseUrl } = this.#options;
    const { resultId, name, path, size, digest, isCompressed } = upload;
    const route = agentArtifactRoutes.uploadArtifact;
    const url = baseUrl + fillPath(route.path, { resultId, name });
    using closing = new DisposableStack();
    let fileProblem: unknown = null;
    const noteProblem = (problem: unknown): void => {
      fileProblem ??= problem;
    };
    try {
      const handle = await open(path, 'r').catch((problem: unknown) => {
        noteProblem(problem);
        throw problem;
      });
      const file = handle.createReadStream({ highWaterMark: fileBlockBytes });
      file.once('error', noteProblem);
      // The stream of a request that never began is unused, and would keep the file open.
      closing.defer(() => file.destroy());
      const body = isCompressed
        ? file.compose(createGzip({ level: constants.Z_BEST_SPEED, chunkSize: 262_144 }))
        : file;
      const { status, headers, text } = await this.#exchange(
        {
          ...{ method: route.method, url, signal, timeouts: this.#ofFiles },
          headers: {
            'content-type': 'application/octet-stream',
            digest: `sha-256=${digest}`,
            ...(isCompressed ? { 'content-encoding': 'gzip' } : { 'content-length': String(size) }),
          },
          body,
        },
        async (answer, watched) => ({
          status: answer.statusCode,
          headers: answer.headers,
          text: await textOf(watched(answer.body)),
        }),
      );
      if (status !== route.status) throw failureOf(status, url, text, headers);
    } catch (error) {
      if (fileProblem !== null) {
        throw new AgentError(
          'DATA_DIR_UNUSABLE',
          `${path} cannot be read (${String(fileProblem)})`,
          {
            cause: fileProblem,
          },
        );
      }
      throw error instanceof CallFailure ? error : unreachable(url, error);
    }
  }

  /**
   * Downloads the code bundle of a check into a new file. Throws CODE_BUNDLE_UNAVAILABLE and leaves
   * no file in that case.
   */
  async downloadCodeBundle(checkId: string, file: string, signal: AbortSignal): Promise<void> {
    const { baseUrl } = this.#options;
    const route = agentCodeBundleRoutes.downloadCodeBundle;
    const url = baseUrl + fillPath(route.path, { checkId });
    try {
      const exchange = { method: route.method, url, headers: {}, body: null };
      await this.#exchange(
        { ...exchange, signal, timeouts: this.#ofFiles },
        async (answer, watched) => {
          const chunks = watched(answer.body);
          if (answer.statusCode !== route.status) {
            throw failureOf(answer.statusCode, url, await textOf(chunks), answer.headers);
          }
          const bundle = await open(file, 'wx', 0o600);
          await pipeline(
            chunks,
            limitedTo(maxCodeBundleBytes),
            bundle.createWriteStream({ highWaterMark: fileBlockBytes }),
          );
        },
      );
    } catch (error) {
      if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) {
        await rm(file, { force: true });
      }
      const reason = error instanceof Error ? error.message : String(error);
      throw new AgentError(
        'CODE_BUNDLE_UNAVAILABLE',
        `the code bundle of check ${checkId} cannot be downloaded (${reason}); the next run tries again`,
        { cause: error },
      );
    }
  }

  /** An image that screenshots of a check are compared with; null where the control plane has it no more. */
  async downloadBaseline(
    checkId: string,
    digest: string,
    signal: AbortSignal,
  ): Promise<Buffer | null> {
    const { baseUrl } = this.#options;
    const route = agentCodeBundleRoutes.downloadBaseline;
    const url = baseUrl + fillPath(route.path, { checkId, digest });
    try {
      const exchange = { method: route.method, url, headers: {}, body: null };
      return await this.#exchange(
        { ...exchange, signal, timeouts: this.#ofFiles },
        async (answer, watched) => {
          const chunks = watched(answer.body);
          if (answer.statusCode !== route.status) {
            const text = await textOf(chunks);
            if (answer.statusCode === 404) return null;
            throw failureOf(answer.statusCode, url, text, answer.headers);
          }
          const all: Buffer[] = [];
          for await (const chunk of limitedTo(maxImageBytes)(chunks)) all.push(chunk);
          return Buffer.concat(all);
        },
      );
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      throw new AgentError(
        'CODE_BUNDLE_UNAVAILABLE',
        `an image that check ${checkId} compares with cannot be downloaded (${reason}); the next run tries again`,
        { cause: error },
      );
    }
  }

  #body(fields: Record<string, unknown>): string {
    return JSON.stringify({ agentId: this.#options.agentId, ...fields });
  }
}
