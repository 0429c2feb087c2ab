/**
 * What `control-plane sign` does: an existing client deploys through an API of this machine, which signs the checks
 * on the way.
 */
import { spawn } from 'node:child_process';
import { createHash, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { constants } from 'node:os';
import { Readable, Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import express, { type NextFunction, type Request, type Response as Reply } from 'express';
import { digestOfBundle } from '@monitor/shared/contract/code-bundle.ts';
import { projectBody, type ProjectBody } from '@monitor/shared/contract/compatibility/projects.ts';
import { endServer, openServer } from '@monitor/shared/open-server.ts';
import { commandDoors } from '../../core/doors.ts';
import { isSame, makeKey } from '../../core/keys.ts';
import { ApiError, badToken, invalidField, notFound } from '../../errors/api-error.ts';
import { describeFailure, OperatorError } from '../../errors/operator-error.ts';
import { AccountApi, AnsweredError, foreignEnvironment, UnreachableError } from './account-api.ts';
import { note, printJson } from './output.ts';
import { Signer } from './sign-checks.ts';

interface SignOptions {
  signWith: string;
  url?: string;
  json?: boolean;
}

interface Signed {
  count: number;
  problem: OperatorError | null;
}

/** An upload takes as long as it does. */
const limits = { headersTimeout: 5_000, requestTimeout: 0 };
const storage = '/next/checkly-storage';
/** They are about one connection. */
const ofConnection = new Set([
  ...['connection', 'content-length', 'host', 'keep-alive', 'te', 'trailer'],
  ...['transfer-encoding', 'upgrade', 'accept-encoding', 'authorization', 'expect'],
]);

/** `isDecoded` where the body is no longer in the encoding that it came in. */
function forwardedHeaders(
  headers: Iterable<[string, unknown]>,
  { isDecoded = true } = {},
): Record<string, string> {
  const kept = [...headers].filter(
    ([name, value]) =>
      !ofConnection.has(name) && !(isDecoded && name === 'content-encoding') && value != null,
  );
  return Object.fromEntries(kept.map(([name, value]) => [name, String(value)]));
}

/** A client tries again what is only not available. */
function codeOf(error: unknown): 'VALIDATION' | 'PAYLOAD_TOO_LARGE' | 'UNAVAILABLE' {
  if (error instanceof UnreachableError) return 'UNAVAILABLE';
  return error instanceof Error && error.name === 'PayloadTooLargeError'
    ? 'PAYLOAD_TOO_LARGE'
    : 'VALIDATION';
}

const asProblem = (error: unknown): OperatorError =>
  error instanceof OperatorError
    ? error
    : new OperatorError(`could not sign what was deployed: ${describeFailure(error)}`, {
        cause: error,
      });

const isSet = (query: URLSearchParams, name: string): boolean =>
  ['true', '1'].includes(query.get(name) ?? '');

/** The API that a client speaks with. It takes one key, and signs each deployment that changes something. */
class SigningApi {
  readonly key = makeKey('cu').rawKey;
  readonly #api: AccountApi;
  readonly #keyFile: string;
  /** SHA-256 of the code bundles of this client: what the control plane calls them may be a lie. */
  readonly #bundles = new Set<string>();
  /** Deployments follow each other: one that is signed meanwhile changes what the next has to sign. */
  #last: Promise<unknown> = Promise.resolve();
  readonly #deployments: Promise<{ end: Promise<Signed> } | null>[] = [];

  constructor(api: AccountApi, keyFile: string) {
    this.#api = api;
    this.#keyFile = keyFile;
  }

  handler() {
    const app = express();
    app.use((request: Request, _reply: Reply, next: NextFunction) => {
      const isKnown = isSame(request.get('authorization') ?? '', `Bearer ${this.key}`);
      next(isKnown ? undefined : badToken());
    });
    app.post(
      ['/v1/projects/deploy', '/next-v2/projects/deploy'],
      express.json({ limit: commandDoors.sign.reads.projectBytes }),
      this.#deploy,
    );
    app.post(`${storage}/upload-code-bundle`, this.#upload);
    app.post('/v1/code-bundles', this.#upload);
    app.post(`${storage}/peek-code-bundle`, express.json(), this.#peek);
    app.use((request: Request, reply: Reply) => {
      const hasBody = !['GET', 'HEAD'].includes(request.method);
      return this.#forward(request, reply, hasBody ? request : undefined);
    });
    app.use((error: unknown, _request: Request, reply: Reply, _next: NextFunction) => {
      const answer = error instanceof AnsweredError ? error.answer : null;
      // Advice about the key of the account is for who started this.
      if (answer !== null && answer.status !== 401 && !reply.headersSent) {
        reply.status(answer.status).json(answer.body);
        return;
      }
      const refusal =
        error instanceof ApiError ? error : new ApiError(codeOf(error), describeFailure(error));
      if (reply.headersSent) reply.destroy();
      else reply.status(refusal.statusCode).json(refusal.toBody(randomUUID()));
    });
    return app;
  }

  #send({ method, headers }: Request, path: string, body?: Readable | string) {
    return this.#api.send(path, {
      ...{ method, redirect: 'manual' },
      headers: forwardedHeaders(Object.entries(headers), { isDecoded: typeof body === 'string' }),
      ...(body !== undefined && { body, duplex: 'half' }),
    });
  }

  async #forward(request: Request, reply: Reply, body?: Readable | string): Promise<void> {
    const answer = await this.#send(request, request.originalUrl, body);
    reply.writeHead(answer.status, forwardedHeaders(answer.headers));
    if (answer.body === null) reply.end();
    else await pipeline(Readable.fromWeb(answer.body), reply);
  }

  readonly #upload = async (request: Request, reply: Reply): Promise<void> => {
    const digest = createHash('sha256');
    const hashed = new Transform({
      transform(chunk: Buffer, _encoding, done) {
        digest.update(chunk);
        done(null, chunk);
      },
      flush: (done) => {
        this.#bundles.add(digest.digest('hex'));
        done();
      },
    });
    request.on('error', (error) => hashed.destroy(error)).pipe(hashed);
    await this.#forward(request, reply, hashed);
  };

  /** A bundle from before is uploaded again: only then is it known what is signed. */
  readonly #peek = async (request: Request, reply: Reply): Promise<void> => {
    const { key } = request.body as { key?: unknown };
    const digest = digestOfBundle(String(key));
    if (digest === undefined || !this.#bundles.has(digest))
      throw notFound('code bundle', String(key));
    await this.#forward(request, reply, JSON.stringify(request.body));
  };

  readonly #deploy = async (request: Request, reply: Reply): Promise<void> => {
    const parsed = projectBody.safeParse(request.body);
    const query = new URLSearchParams(new URL(request.originalUrl, 'http://client').search);
    // The control plane refuses what is none, in its words.
    if (!parsed.success || isSet(query, 'dryRun')) {
      await this.#forward(request, reply, JSON.stringify(request.body));
      return;
    }
    const begun = this.#last.then(() => this.#signAndSend(request, reply, parsed.data, query));
    this.#last = begun.then(
      (made) => made?.end,
      () => undefined,
    );
    this.#deployments.push(begun);
    await begun;
  };

  /** Gives what there is to wait for once the client has its answer; null where nothing was deployed. */
  async #signAndSend(
    request: Request,
    reply: Reply,
    asked: ProjectBody,
    query: URLSearchParams,
  ): Promise<{ end: Promise<Signed> } | null> {
    const { project, resources } = asked;
    for (const { payload, logicalId } of resources) {
      const path = payload?.['codeBundlePath'];
      if (path === undefined || this.#bundles.has(digestOfBundle(String(path)) ?? '')) continue;
      throw invalidField(
        'codeBundlePath',
        `of "${logicalId}" is of a bundle that this client has not uploaded, so that nobody can sign it`,
      );
    }
    const what = `deploy ${project.logicalId}`;
    const signer = await Signer.open(this.#api, what, asked, this.#keyFile);
    // With every option: one such as `adopt` decides which checks are there already.
    const options = Object.fromEntries(query);
    const signed = await signer.signKnown(asked, (each) =>
      this.#api.deploy(what, each, true, options),
    );
    // A new check is signed once it has an id, and should not run before.
    query.set('scheduleOnDeploy', 'false');
    const given = request.body as { resources: { payload?: object | null }[] };
    const body = {
      ...given,
      resources: given.resources.map((each, index) => ({
        ...each,
        ...(each.payload != null && { payload: signed.resources[index]?.payload }),
      })),
    };
    // A client that was stopped meanwhile does not wait for it, and nobody would say how it ended.
    if (reply.destroyed) return null;
    const path = `${request.path}?${query.toString()}`;
    const answer = await this.#send(request, path, JSON.stringify(body));
    const text = await this.#api.textOf(answer);
    reply.writeHead(answer.status, forwardedHeaders(answer.headers)).end(text);
    if (!answer.ok) return null;
    const signNew = async () => {
      const first = { status: answer.status, body: JSON.parse(text) as unknown };
      return signer.signNew(await this.#api.settle(what, project.logicalId, first));
    };
    return { end: signNew().catch((error: unknown) => ({ count: 0, problem: asProblem(error) })) };
  }

  /** Once all that was deployed is signed; null where nothing was. */
  async signed(): Promise<Signed | null> {
    const begun = await Promise.allSettled(this.#deployments);
    const made = begun.flatMap((each) => (each.status === 'fulfilled' ? (each.value ?? []) : []));
    const all = await Promise.all(made.map(({ end }) => end));
    if (all.length === 0) return null;
    return {
      count: all.reduce((sum, { count }) => sum + count, 0),
      problem: all.find(({ problem }) => problem !== null)?.problem ?? null,
    };
  }
}

/** Its exit code; that of a signal is said as shells say it. */
async function runClient(
  [file = '', ...args]: readonly string[],
  env: NodeJS.ProcessEnv,
  isJson: boolean,
): Promise<number> {
  const child = spawn(file, args, { env, stdio: ['inherit', isJson ? 2 : 'inherit', 'inherit'] });
  // A terminal interrupts both; the client may still cancel what it deploys, through this process.
  const wait = (): void => undefined;
  const stop = (): void => void child.kill('SIGTERM');
  process.on('SIGINT', wait).on('SIGTERM', stop);
  try {
    const [code, signal] = (await once(child, 'close')) as [number | null, NodeJS.Signals | null];
    return code ?? 128 + (signal === null ? 0 : constants.signals[signal]);
  } catch (error) {
    throw new OperatorError(
      `could not start ${file}: ${describeFailure(error)}; name the client and its arguments after --`,
      { cause: error },
    );
  } finally {
    process.off('SIGINT', wait).off('SIGTERM', stop);
  }
}

/** Clients take proxies from the environment, which would get the key and could not reach this machine. */
function withoutProxy(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const names = ['NO_PROXY', 'no_proxy'] as const;
  const before = env['no_proxy'] ?? env['NO_PROXY'] ?? '';
  const value = ['127.0.0.1', ...(before === '' ? [] : [before])].join(',');
  return { ...env, ...Object.fromEntries(names.map((name) => [name, value])) };
}

export async function signDeployments(command: string[], options: SignOptions): Promise<void> {
  const api = new AccountApi(options.url);
  const { id } = await api.account('sign');
  const signing = new SigningApi(api, options.signWith);
  const server = openServer(limits, signing.handler()).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  try {
    const env = {
      ...withoutProxy(foreignEnvironment()),
      ...{ CHECKLY_ENV: 'local', CHECKLY_API_URL: `http://127.0.0.1:${port}` },
      ...{ CHECKLY_API_KEY: signing.key, CHECKLY_ACCOUNT_ID: id },
    };
    const exitCode = await runClient(command, env, options.json === true);
    const signed = await signing.signed();
    if (signed === null) note('warning: the client deployed nothing, so nothing is signed');
    if (options.json === true) printJson({ signed: signed?.count ?? 0, exitCode });
    else if (signed !== null) note(`${signed.count} checks are signed`);
    if (signed?.problem != null) throw signed.problem;
    process.exitCode = exitCode;
  } finally {
    await endServer(server);
  }
}
