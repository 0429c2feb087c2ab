/** Calls the API of a running control plane, as the owner of a key. */
import { setTimeout as delay } from 'node:timers/promises';
import { z } from 'zod';
import { account } from '@monitor/shared/contract/account.ts';
import {
  deployment,
  projectBody,
  projectChange,
  type ProjectBody,
  type ProjectChange,
} from '@monitor/shared/contract/compatibility/projects.ts';
import {
  signedPart,
  workSignature,
  type SignatureState,
  type WorkSignature,
} from '@monitor/shared/contract/work-signature.ts';
import { readConfig, secretSettings } from '../../core/config.ts';
import { processEnvironment } from '../../core/environment.ts';
import { describeFailure, OperatorError, usageError } from '../../errors/operator-error.ts';

const keyName = 'CONTROL_PLANE_API_KEY';

/** Variables of the environment that files may name: not those that would give away this installation. */
export function foreignEnvironment(): Record<string, string | undefined> {
  return Object.fromEntries(
    Object.entries(processEnvironment).filter(
      ([name]) => name !== keyName && !secretSettings.has(name),
    ),
  );
}

export const hasKey = (): boolean => (processEnvironment[keyName] ?? '') !== '';

/** Where the control plane is, as `serve` with the same settings says. */
export function ownUrl(): string {
  const { PUBLIC_URL: url, HOST: host, PORT: port } = readConfig(processEnvironment);
  return url ?? `http://${host.includes(':') ? `[${host}]` : host}:${port}`;
}

const refusal = z.object({ message: z.string() });
const refusedByRate = 429;
/** Minutes in all, at the pace of the limits. */
const longestRefusals = 60;
const goesOn = 408;
/** A deployment that takes longer has ended with an error by itself. */
const longestWaits = 120;

/** An answer that only trickles, and never ends, would keep its command for ever; a silent one ends after 300 s. */
const trickles = { withinMs: 120_000, msPerByte: 4 };

/** The same bytes, and an error when they come too slowly. */
export function notTrickling(now: () => number): TransformStream<Uint8Array, Uint8Array> {
  const began = now();
  let bytes = 0;
  return new TransformStream({
    transform(chunk, controller) {
      bytes += chunk.length;
      const tookMs = now() - began;
      if (tookMs <= trickles.withinMs + bytes * trickles.msPerByte) controller.enqueue(chunk);
      else {
        const took = `${Math.round(tookMs / 1_000)} s`;
        controller.error(new Error(`${bytes} bytes came within ${took}, and not the end`));
      }
    },
  });
}

/** The control plane answered, and did not do this. */
export class AnsweredError extends OperatorError {
  readonly answer: Answered;

  constructor(message: string, answer: Answered) {
    super(message);
    this.answer = answer;
  }
}
/** It may do others. */
export class RefusedError extends AnsweredError {}
/** Nothing answers where the control plane should be. */
export class UnreachableError extends OperatorError {}
const refusedStatuses = [400, 402, 404, 409, 422];

interface Answered {
  status: number;
  body: unknown;
}

const keyAdvice = `set ${keyName} to a key of the account: \`control-plane keys create --name import\` makes one`;

export class AccountApi {
  readonly url: string;
  readonly #key: string;

  constructor(url: string | undefined) {
    this.url = (url ?? ownUrl()).trim().replace(/\/+$/, '');
    const { protocol = '', username = '', password = '' } = URL.parse(this.url) ?? {};
    if (!/^https?:$/.test(protocol) || username + password !== '') {
      const shown = this.url.replace(/\/\/[^/]*@/, '//…@');
      throw usageError(
        `"${shown}" is no http or https address without a login: name that of the control plane`,
      );
    }
    this.#key = (processEnvironment[keyName] ?? '').trim();
    if (this.#key === '') {
      throw usageError(keyAdvice);
    }
    // What refuses it as a header would show it.
    if (!/^[!-~]+$/.test(this.#key)) {
      throw usageError(`${keyName} has characters that no key has, such as a line break within it`);
    }
  }

  /** Sends one request with the key. Events of a deployment trickle for as long as it takes. */
  async send(path: string, request: RequestInit & { headers: object }) {
    const headers = { ...request.headers, authorization: `Bearer ${this.#key}` };
    try {
      return await fetch(`${this.url}${path}`, { ...request, headers });
    } catch (error) {
      throw this.#unreachable('reach', error);
    }
  }

  /** The text of an answer. */
  async textOf(answer: Response): Promise<string> {
    try {
      const body = answer.body?.pipeThrough(notTrickling(() => performance.now())) ?? null;
      return await new Response(body).text();
    } catch (error) {
      throw this.#unreachable('read the answer of', error);
    }
  }

  #unreachable(what: string, error: unknown): UnreachableError {
    const cause = error instanceof Error && error.cause !== undefined ? error.cause : error;
    return new UnreachableError(
      `could not ${what} the control plane at ${this.url}: ${describeFailure(cause)}; start \`serve\`, or name another with --url`,
      { cause: error },
    );
  }

  async #call(method: string, path: string, body?: unknown): Promise<Answered> {
    for (let refusals = 0; ; refusals += 1) {
      const response = await this.send(path, {
        method,
        headers: body === undefined ? {} : { 'content-type': 'application/json' },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
      const text = await this.textOf(response);
      if (response.status === refusedByRate && refusals < longestRefusals) {
        const seconds = Number(response.headers.get('retry-after'));
        await delay(Math.max(1, Number.isFinite(seconds) ? seconds : 1) * 1000);
        continue;
      }
      try {
        return {
          status: response.status,
          body: text === '' ? null : (JSON.parse(text) as unknown),
        };
      } catch (error) {
        throw new OperatorError(
          `what answers at ${this.url} is no control plane: ${method} ${path} got status ${response.status} without JSON`,
          { cause: error },
        );
      }
    }
  }

  /** The body of a success; a refusal becomes an error that says what was tried. */
  async #succeed(what: string, method: string, path: string, body?: unknown): Promise<Answered> {
    const answer = await this.#call(method, path, body);
    if (answer.status < 300 || answer.status === goesOn) return answer;
    const parsed = refusal.safeParse(answer.body);
    const reason = parsed.success ? parsed.data.message : `status ${answer.status}`;
    const Refusal = refusedStatuses.includes(answer.status) ? RefusedError : AnsweredError;
    const next = answer.status === 401 ? `; ${keyAdvice}` : '';
    throw new Refusal(`could not ${what}: ${reason}${next}`, answer);
  }

  /** Waits for the end of a deployment that was answered so, and gives what changed. */
  async settle(what: string, project: string, first: Answered): Promise<ProjectChange> {
    const immediate = projectChange.safeParse(first.body);
    if (immediate.success) return immediate.data;
    // A project that does not exist is answered without a deployment.
    const parsed = deployment.safeParse(first.body);
    if (!parsed.success) return { project: null, diff: [] };
    let current = parsed.data;
    const path = `/v1/projects/${encodeURIComponent(project)}/deployments/${current.id}/completion?maxWaitSeconds=30`;
    for (let tries = 0; current.endedAt === null && tries < longestWaits; tries += 1) {
      const { status, body } = await this.#succeed(what, 'GET', path);
      if (status !== goesOn) current = deployment.parse(body);
    }
    if (current.status === 'SUCCEEDED' && current.result !== null) return current.result;
    const reason = current.error?.message ?? `it ended as ${current.status}`;
    throw new OperatorError(`could not ${what}: ${reason}; nothing was changed`);
  }

  /** The answer to any operation. */
  async call(what: string, method: string, path: string, body?: unknown): Promise<unknown> {
    return (await this.#succeed(what, method, path, body)).body;
  }

  async deploy(
    what: string,
    project: { project: { logicalId: string } },
    dryRun: boolean,
    options: Readonly<Record<string, string | boolean>> = {},
  ): Promise<ProjectChange> {
    const flags = Object.entries({ ...options, dryRun }).map(([name, value]): [string, string] => [
      name,
      String(value),
    ]);
    const path = `/v1/projects/deploy?${new URLSearchParams(flags).toString()}`;
    const first = await this.#succeed(what, 'POST', path, project);
    return this.settle(what, project.project.logicalId, first);
  }

  /** The account of the key. */
  async account(what: string): Promise<{ id: string; runtimeId: string | null }> {
    const { body } = await this.#succeed(what, 'GET', '/v1/accounts/me');
    return account.pick({ id: true, runtimeId: true }).parse(body);
  }

  async signatureOf(what: string, checkId: string): Promise<WorkSignature | null> {
    const { body } = await this.#succeed(what, 'GET', `/v1/checks/${checkId}`);
    return z.object({ signature: workSignature.nullable().default(null) }).parse(body).signature;
  }

  async sign(what: string, type: { pathPart: string }, checkId: string, signature: WorkSignature) {
    await this.#succeed(what, 'PUT', `/v1/checks/${type.pathPart}/${checkId}`, { signature });
  }

  /** What is to be signed, and whether what agents get is what was signed, by the word of the control plane. */
  async signedPart(
    what: string,
    checkId: string,
  ): Promise<{ text: string; state: SignatureState }> {
    const { body } = await this.#succeed(what, 'GET', `/v1/checks/${checkId}/signed-part`);
    return signedPart.parse(body);
  }

  /** Everything of the account; a name for the project comes with it. */
  async export(what: string, logicalId: string, name: string): Promise<ProjectBody> {
    const query = new URLSearchParams({ logicalId, name }).toString();
    const { body } = await this.#succeed(what, 'GET', `/v1/projects/export?${query}`);
    return projectBody.parse(body);
  }

  async destroy(what: string, project: string, dryRun: boolean): Promise<ProjectChange> {
    const path = `/v1/projects/${encodeURIComponent(project)}?dryRun=${dryRun}`;
    return this.settle(what, project, await this.#succeed(what, 'DELETE', path));
  }
}
