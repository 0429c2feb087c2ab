/**
 * API check: setup scripts, a request of any kind, teardown scripts. Setup scripts change the request
 * and the variables first; templates are completed after them, with the variables as they then are.
 * `responseTime` is that of the request alone.
 */
import { randomBytes } from 'node:crypto';
import type { ApiRequest } from '@monitor/shared/contract/checks/api.ts';
import type { CheckDefinition, Failure } from '@monitor/shared/contract/checks/check-type.ts';
import type { ShownResponse } from '@monitor/shared/contract/shown-exchange.ts';
import { openProxySession } from './scripts/proxy-session.ts';
import { acceptedEncodings } from '../net/http/content-decoding.ts';
import { ConnectionTrail } from '../net/connection-trail.ts';
import { requestHttp, shownUrl, type HttpOutcome } from '../net/http/chain.ts';
import { storedText } from '../net/http/response-body.ts';
import { shownHeaders } from '../net/http/headers.ts';
import { evidenceOf, withEventsOf } from '../net/network-evidence.ts';
import { beginTrace, type RandomBytes, type TraceContext } from '../net/http/trace-context.ts';
import { tracedRequests } from '../net/http/traced-request.ts';
import type { ScriptedRequest } from '../script-host/request-scripts/messages.ts';
import type { RequestScripts } from '../script-host/request-scripts/request-scripts.ts';
import { runVariables } from '../script-host/run-variables.ts';
import { FieldProblem, type Completion } from '../templates/complete.ts';
import { inUrl } from '@monitor/shared/templates/places.ts';
import { render } from '../templates/render.ts';
import { templateValues, variablesOf } from '../templates/run-values.ts';
import { prepareRequest, scriptedRequest, type PreparedRequest } from './api/prepare-request.ts';
import { textOfResponse, usefulBytes, visibleBytes } from './api/response-text.ts';
import { hasScripts, openScripts, runSetup, runTeardown } from './api/script-phases.ts';
import type { Observation, RunnerContext } from './runner.ts';

/** What one run has learned by the time its request is made. */
interface Run {
  context: RunnerContext;
  request: ApiRequest;
  random: RandomBytes;
  trace: TraceContext;
  scripts: RequestScripts | null;
  /** Secrets of the run, also those that scripts assigned. */
  secrets: Set<string>;
  startedAt: number;
  trail: ConnectionTrail;
}

type Outcome = Omit<Observation, 'startedAt' | 'stoppedAt'>;

function withoutRequest(run: Run, failure: Failure, scripted: ScriptedRequest): Outcome {
  const { method, url, body } = scripted;
  const data = storedText(body, [...run.secrets]).stored;
  const request = { method, url, data, headers: {}, params: {} };
  return { responseTime: null, failure, request, response: null };
}

/** `REQUEST_URL` for setup scripts, as far as it is known before them. */
function requestUrlBefore(url: string, run: Run, variables: ReadonlyMap<string, string>): string {
  try {
    return render(url, templateValues(variables, run.context.clock, run.random), inUrl).text;
  } catch {
    return url;
  }
}

function prepare(scripted: ScriptedRequest, variables: ReadonlyMap<string, string>, run: Run) {
  const { context, random } = run;
  const warned = new Set<string>();
  const completionAt = (requestUrl: string | null): Completion => {
    const all = new Map(variables);
    if (requestUrl !== null) all.set('REQUEST_URL', requestUrl);
    return {
      values: templateValues(all, context.clock, random),
      warn(message) {
        if (!warned.has(message)) context.log(message, 'WARN', 'request');
        warned.add(message);
      },
    };
  };
  return prepareRequest(scripted, run.request, completionAt);
}

function shownRequest(prepared: PreparedRequest, outcome: HttpOutcome, run: Run) {
  return {
    method: prepared.http.method,
    url: shownUrl(prepared.http.url),
    data: storedText(prepared.data, [...run.secrets]).stored,
    headers: shownHeaders(outcome.sentHeaders),
    params: prepared.params,
  };
}

/** Assertions on a body read it whatever its type is. */
function isTextWanted({ assertions }: ApiRequest): boolean {
  return assertions.some(({ source }) => source === 'TEXT_BODY' || source === 'JSON_BODY');
}

/** The exchange is complete: teardown scripts see it, then it becomes what is judged and shown. */
async function withResponse(
  run: Run,
  outcome: HttpOutcome,
  scripted: ScriptedRequest,
): Promise<Pick<Observation, 'response' | 'wholeBody' | 'unread' | 'laterFailure'>> {
  const { context, request, scripts } = run;
  const { length: teardowns } = context.teardownScripts;
  if (teardowns > 0 && outcome.failure !== null) {
    context.log('left out, since there is no response', 'WARN', 'teardown');
  }
  if (outcome.response === null) return { response: null };
  const { bytes: _bytes, size: _size, isStopped, isCut: _isCut, ...received } = outcome.response;
  let { text, encoding, unread } = textOfResponse(outcome.response, isTextWanted(request));
  let laterFailure: Failure | null = null;
  if (scripts !== null && teardowns > 0 && outcome.failure === null) {
    const answer = {
      statusCode: received.status,
      statusText: received.statusText,
      headers: received.headers,
      body: text,
      ...outcome.timing,
    };
    const end = await runTeardown(scripts, teardowns, scripted, answer, (message) => {
      context.log(message, 'ERROR', 'teardown');
    });
    if (end.body !== text) {
      encoding = 'utf8';
      unread = undefined;
    }
    text = end.body;
    laterFailure = end.failure;
  }
  const { stored, whole } = storedText(text, [...run.secrets]);
  return {
    response: {
      ...received,
      body: stored,
      ...(encoding === 'base64' ? { bodyEncoding: encoding } : {}),
      truncated: isStopped || whole !== undefined,
      href: shownUrl(outcome.url),
      redirects: outcome.redirects,
      remoteAddress: outcome.remoteAddress,
      ipFamily: outcome.ipFamily,
      ...outcome.timing,
    } satisfies ShownResponse,
    ...(whole === undefined ? {} : { wholeBody: whole }),
    ...(unread === undefined ? {} : { unread }),
    ...(laterFailure === null ? {} : { laterFailure }),
  };
}

async function observe(
  run: Run,
  scripted: ScriptedRequest,
  variables: ReadonlyMap<string, string>,
): Promise<Outcome> {
  const { context, request, trace } = run;
  let prepared: PreparedRequest;
  try {
    prepared = prepare(scripted, variables, run);
  } catch (error) {
    if (error instanceof FieldProblem) return withoutRequest(run, error.failure, scripted);
    throw error;
  }
  for (const secret of prepared.secrets) {
    context.addSecret(secret);
    run.secrets.add(secret);
  }
  const outcome = await withEventsOf(run.trail, context, () =>
    requestHttp(
      {
        ...prepared.http,
        followRedirects: request.followRedirects,
        isHttp2: request.httpVersion === 'HTTP/2',
        skipSsl: request.skipSSL,
        ipFamily: request.ipFamily,
        trail: run.trail,
        keepBytes: (headers) => usefulBytes(headers, isTextWanted(request)),
        stopBytes: visibleBytes,
        headersOfEach: () => ({
          'Accept-Encoding': acceptedEncodings,
          traceparent: trace.nextTraceparent(),
          tracestate: trace.tracestate,
        }),
      },
      context,
    ),
  );
  const sent: ScriptedRequest = {
    method: prepared.http.method,
    url: prepared.http.url.href,
    body: prepared.data,
    headers: Object.entries(outcome.sentHeaders),
    queryParameters: Object.entries(prepared.params).flatMap(([key, value]) =>
      [value].flat().map((one): [string, string] => [key, one]),
    ),
  };
  return {
    responseTime: outcome.timing.timingPhases.total,
    failure: outcome.failure,
    request: shownRequest(prepared, outcome, run),
    requests: tracedRequests(outcome),
    unexplainedMs: outcome.unexplainedMs,
    ...evidenceOf(outcome.failure, run.trail, context),
    ...(await withResponse(run, outcome, sent)),
  };
}

async function observeWithScripts(run: Run, below: RunVariablesOf): Promise<Outcome> {
  const { context, request, secrets } = run;
  const runtime = await context.scripting().runtime(context.runtimeId);
  const variables = variablesOf(context.environment, below(runtime.id));
  const scripted = scriptedRequest(request);
  const given = new Map(variables);
  given.set('REQUEST_URL', requestUrlBefore(scripted.url, run, variables));
  const addSecret = (value: string): void => {
    if (!secrets.has(value)) context.addSecret(value);
    secrets.add(value);
  };
  let phase: 'setup' | 'teardown' = 'setup';
  await using proxySession = await openProxySession(context, (sentence) => {
    context.log(sentence, 'WARN', phase);
  });
  await using scripts = await openScripts(context, runtime, given, addSecret, proxySession);
  const setup = await runSetup(scripts, context.setupScripts.length, scripted);
  phase = 'teardown';
  // Awaited here: the scripts close when this function is left.
  const outcome =
    'failure' in setup
      ? withoutRequest(run, setup.failure, scripted)
      : await observe({ ...run, scripts }, setup.request, scripts.environment);
  const isOfScript = outcome.failure?.phase === 'setup' || outcome.failure?.phase === 'teardown';
  if (isOfScript && proxySession?.agentError) throw proxySession.agentError;
  return outcome;
}

type RunVariablesOf = (runtimeId: string | null) => Record<string, string>;

/** Runs an API check. `random` is for identifiers and for templates. */
export async function runApi(
  definition: CheckDefinition<ApiRequest>,
  context: RunnerContext,
  random: RandomBytes = randomBytes,
): Promise<Observation> {
  const { clock } = context;
  const trace = beginTrace(context.run, random);
  const begunAt = clock.monotonic();
  const run: Run = {
    ...{ context, random, trace, scripts: null },
    request: definition.request,
    secrets: new Set(context.environment.filter(({ secret }) => secret).map(({ value }) => value)),
    startedAt: clock.now(),
    trail: new ConnectionTrail(clock, begunAt),
  };
  const below: RunVariablesOf = (runtimeId) => runVariables(context.run, runtimeId, trace);
  const outcome = hasScripts(context)
    ? await observeWithScripts(run, below)
    : await observe(
        run,
        scriptedRequest(run.request),
        variablesOf(context.environment, below(context.runtimeId)),
      );
  const { startedAt } = run;
  return { startedAt, stoppedAt: startedAt + Math.ceil(clock.monotonic() - begunAt), ...outcome };
}
