/** Calls to the control plane, typed by the agent protocol. The only place that classifies their failures. */
import { createWriteStream } from 'node:fs';
import { open, rm } from 'node:fs/promises';
import { pipeline } from 'node:stream/promises';
import { constants, createGzip, gzip } from 'node:zlib';
import { promisify } from 'node:util';
import { Agent, EnvHttpProxyAgent, request, type Dispatcher } from 'undici';
import type { z } from 'zod';
import {
  agentArtifactRoutes,
  agentCodeBundleRoutes,
  checkIn,
  goodbye,
  releaseJobs,
  renewLeases,
  reportErrors,
  submitResults,
  type CheckInAnswer,
  type CheckInRequest,
  type ItemOutcome,
} from '@monitor/shared/contract/agent-protocol.ts';
import { maxCodeBundleBytes } from '@monitor/shared/contract/code-bundle.ts';
import type { Route } from '@monitor/shared/contract/route.ts';
import type { AgentConfig } from './config.ts';
import { AgentError } from './errors.ts';

const compress = promisify(gzip);

/** A call without a wait of its own may take so long; a half-open connection is noticed after it. */
const answerWithinMs = 20_000;
const connectWithinMs = 10_000;
const compressFromBytes = 4_096;
/** Files take as long as they take; but something has to move. */
const stalledAfterMs = 60_000;
const fileBlockBytes = 262_144;

/** A failed call: whether trying again can help, and when the server asked for it. */
export class CallFailure extends AgentError {
  readonly statusCode: number | null;
  readonly retryAfterMs: number | null;

  constructor(
    code: AgentError['code'],
    message: string,
    details: { statusCode?: number; retryAfterMs?: number | null; cause?: unknown },
  ) {
    super(code, message, { cause: details.cause });
    this.statusCode = details.statusCode ?? null;
    this.retryAfterMs = details.retryAfterMs ?? null;
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
  signal?: AbortSignal;
}

function retryAfterMs(header: string | string[] | undefined): number | null {
  const seconds = typeof header === 'string' ? Number(header) : Number.NaN;
  return Number.isFinite(seconds) && seconds >= 0 ? Math.min(seconds, 300) * 1000 : null;
}

/**
 * What an answer other than success means.
 *   401, 403  the key is not (or no longer) accepted: only a person can help, but keys come back
 *   429, 503  too busy: later, when the server says so
 *   408       the body did not arrive in whole: it may the next time
 *   413       the batch is too large: smaller ones may pass
 *   404       not a control plane, or one from before this protocol
 *   other 4xx this call is wrong and stays wrong
 *   5xx       its fault, it may pass
 */
function failureOf(
  status: number,
  url: string,
  message: string,
  headers: Record<string, string | string[] | undefined>,
): CallFailure {
  const details = { statusCode: status, retryAfterMs: retryAfterMs(headers['retry-after']) };
  const said = message === '' ? '' : `: ${message}`;
  if (status === 401 || status === 403) {
    return new CallFailure(
      'KEY_REFUSED',
      `the control plane refused the key (${status} from ${url}${said}); make a new key for the location and set API_KEY`,
      details,
    );
  }
  if (status === 408 || status === 413 || status === 429 || status >= 500) {
    return new CallFailure('CONTROL_PLANE_ANSWER', `${url} answered ${status}${said}`, details);
  }
  if (status === 404) {
    return new CallFailure(
      'CONTROL_PLANE_REFUSED',
      `${url} answered 404: there is no control plane at CONTROL_PLANE_URL, or it is older than this agent`,
      details,
    );
  }
  return new CallFailure('CONTROL_PLANE_REFUSED', `${url} answered ${status}${said}`, details);
}

function unreachable(url: string, cause: unknown): CallFailure {
  const reason = cause instanceof Error ? cause.message : String(cause);
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

function messageIn(text: string): string {
  try {
    const parsed = JSON.parse(text) as { message?: unknown };
    return typeof parsed.message === 'string' ? parsed.message : '';
  } catch {
    return '';
  }
}

/** Passes chunks on; throws when there are more bytes than that. */
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

type ProxySettings = Pick<AgentConfig, 'HTTPS_PROXY' | 'HTTP_PROXY' | 'NO_PROXY'>;

/** How a connection to the control plane is made: through a proxy where the settings name one. */
export function createDispatcher(proxy: ProxySettings): Dispatcher {
  const options = {
    connect: { timeout: connectWithinMs },
    keepAliveTimeout: 60_000,
    pipelining: 1,
  };
  const { HTTPS_PROXY: https, HTTP_PROXY: http, NO_PROXY: none } = proxy;
  if (https === undefined && http === undefined) return new Agent(options);
  return new EnvHttpProxyAgent({
    ...options,
    httpProxy: http?.reveal() ?? '',
    httpsProxy: https?.reveal() ?? '',
    noProxy: none ?? '',
  });
}

export interface ClientOptions {
  baseUrl: string;
  apiKey: { reveal(): string };
  dispatcher: Dispatcher;
  agentId: string;
  version: string;
}

export class ControlPlaneClient {
  readonly #options: ClientOptions;

  constructor(options: ClientOptions) {
    this.#options = options;
  }

  async #call<R extends Route>(
    route: R,
    { body, waitMs = 0, signal }: CallOptions,
  ): Promise<R extends Record<'response', infer S extends z.ZodType> ? z.output<S> : undefined> {
    const { baseUrl, apiKey, dispatcher } = this.#options;
    const url = baseUrl + route.path;
    const timeout = AbortSignal.timeout(waitMs + answerWithinMs);
    const isLarge = body.length >= compressFromBytes;
    let status: number;
    let headers: Record<string, string | string[] | undefined>;
    let text: string;
    try {
      const response = await request(url, {
        method: route.method,
        dispatcher,
        signal: signal === undefined ? timeout : AbortSignal.any([timeout, signal]),
        headers: {
          authorization: `Bearer ${apiKey.reveal()}`,
          'content-type': 'application/json',
          ...(isLarge ? { 'content-encoding': 'gzip' } : {}),
        },
        body: isLarge ? await compress(body, { level: 1 }) : body,
        headersTimeout: waitMs + answerWithinMs,
        bodyTimeout: answerWithinMs,
      });
      ({ statusCode: status, headers } = response);
      text = await response.body.text();
    } catch (cause) {
      throw unreachable(url, cause);
    }
    if (status !== route.status) throw failureOf(status, url, messageIn(text), headers);
    if (route.response === undefined) return undefined as never;
    try {
      return route.response.parse(JSON.parse(text)) as never;
    } catch (cause) {
      // Most often a proxy's own page with status 200: the real answer is lost, so ask again.
      throw new CallFailure(
        'CONTROL_PLANE_ANSWER',
        `${url} answered ${status} with something else than the protocol says; a proxy in between may have answered`,
        { statusCode: status, cause },
      );
    }
  }

  checkIn(body: CheckInRequest, signal: AbortSignal): Promise<CheckInAnswer> {
    return this.#call(checkIn, { body: JSON.stringify(body), waitMs: body.waitMs, signal });
  }

  /** Hands in submissions that are JSON already, so that the outbox need not parse them again. */
  async submit(payloads: readonly string[], signal?: AbortSignal): Promise<ItemOutcome[]> {
    const body = `{"agentId":"${this.#options.agentId}","items":[${payloads.join(',')}]}`;
    const { items } = await this.#call(submitResults, { body, ...(signal && { signal }) });
    return items;
  }

  renewLeases(jobIds: readonly string[]): Promise<{ renewed: string[]; lost: string[] }> {
    return this.#call(renewLeases, { body: this.#body({ jobIds }) });
  }

  async release(jobIds: readonly string[]): Promise<void> {
    await this.#call(releaseJobs, { body: this.#body({ jobIds }) });
  }

  async goodbye(): Promise<void> {
    await this.#call(goodbye, { body: this.#body({}) });
  }

  async report(events: readonly { code: string; count: number }[]): Promise<void> {
    await this.#call(reportErrors, {
      body: this.#body({ version: this.#options.version, events }),
    });
  }

  /**
   * Uploads a file as a stream. Throws CallFailure as every call does (404: its result is not there,
   * or not yet), DATA_DIR_UNUSABLE when the file itself cannot be read.
   */
  async uploadArtifact(upload: ArtifactUpload, signal: AbortSignal): Promise<void> {
    const { baseUrl, apiKey, dispatcher } = this.#options;
    const { resultId, name, path, size, digest, isCompressed } = upload;
    const route = agentArtifactRoutes.uploadArtifact;
    const url = baseUrl + fillPath(route.path, { resultId, name });
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
      const body = isCompressed
        ? file.compose(createGzip({ level: constants.Z_BEST_SPEED, chunkSize: 262_144 }))
        : file;
      const response = await request(url, {
        method: route.method,
        dispatcher,
        signal,
        headers: {
          authorization: `Bearer ${apiKey.reveal()}`,
          'content-type': 'application/octet-stream',
          digest: `sha-256=${digest}`,
          ...(isCompressed ? { 'content-encoding': 'gzip' } : { 'content-length': String(size) }),
        },
        body,
        headersTimeout: stalledAfterMs,
        bodyTimeout: answerWithinMs,
      });
      const { statusCode, headers } = response;
      const text = await response.body.text();
      if (statusCode !== route.status) throw failureOf(statusCode, url, messageIn(text), headers);
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
   * Writes the code bundle of a check to a file, which must not exist. Throws CODE_BUNDLE_UNAVAILABLE,
   * and leaves nothing behind then.
   */
  async downloadCodeBundle(checkId: string, file: string, signal: AbortSignal): Promise<void> {
    const { baseUrl, apiKey, dispatcher } = this.#options;
    const route = agentCodeBundleRoutes.downloadCodeBundle;
    const url = baseUrl + fillPath(route.path, { checkId });
    try {
      const response = await request(url, {
        method: route.method,
        dispatcher,
        signal,
        headers: { authorization: `Bearer ${apiKey.reveal()}` },
        headersTimeout: answerWithinMs,
        bodyTimeout: stalledAfterMs,
      });
      if (response.statusCode !== route.status) {
        const said = messageIn(await response.body.text());
        throw failureOf(response.statusCode, url, said, response.headers);
      }
      await pipeline(
        response.body,
        limitedTo(maxCodeBundleBytes),
        createWriteStream(file, { flags: 'wx', mode: 0o600, highWaterMark: fileBlockBytes }),
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

  #body(fields: Record<string, unknown>): string {
    return JSON.stringify({ agentId: this.#options.agentId, ...fields });
  }
}
