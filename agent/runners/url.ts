/** URL monitor: a GET request, redirects followed or not. */
import type { CheckDefinition, Failure } from '@monitor/shared/contract/checks/check-type.ts';
import type { UrlRequest } from '@monitor/shared/contract/checks/url.ts';
import { HttpUrl } from '@monitor/shared/http-url.ts';
import type { ShownResponse } from '@monitor/shared/contract/shown-exchange.ts';
import { ConnectionTrail } from '../net/connection-trail.ts';
import { requestHttp, shownUrl, type HttpOutcome } from '../net/http/chain.ts';
import { shownHeaders } from '../net/http/headers.ts';
import { evidenceOf, withEventsOf } from '../net/network-evidence.ts';
import { beginningOf, decodeText, isTextual } from '../net/http/response-body.ts';
import { beginTrace } from '../net/http/trace-context.ts';
import { tracedRequests } from '../net/http/traced-request.ts';
import type { Observation, RunnerContext } from './runner.ts';

const keptBytes = 8_192;
/** Read beyond what is kept, so that a secret across the end is recognised and left out. */
const spareBytes = 4_096;
const stopBytes = 25_000_000;

/** The address with its variables; what reads templates is loaded with the first that needs it. */
async function completeAddress(
  template: string,
  context: RunnerContext,
): Promise<URL | { failure: Failure }> {
  if (!template.includes('{{') && HttpUrl.canParse(template)) return new HttpUrl(template);
  const [{ complete, completeUrl, FieldProblem }, { inUrl }, { templateValues, variablesOf }] =
    await Promise.all([
      import('../templates/complete.ts'),
      import('@monitor/shared/templates/places.ts'),
      import('../templates/run-values.ts'),
    ]);
  try {
    const values = templateValues(variablesOf(context.environment), context.clock);
    const warn = (message: string): void => context.log(message, 'WARN', 'request');
    return completeUrl(complete('the URL', template, inUrl, { values, warn }));
  } catch (error) {
    if (error instanceof FieldProblem) return { failure: error.failure };
    throw error;
  }
}

function shownResponse(outcome: HttpOutcome, secrets: readonly string[]) {
  if (outcome.response === null) return null;
  const { bytes, size, isStopped, isCut: _isCut, ...received } = outcome.response;
  const contentType = received.headers['content-type'];
  const isText = isTextual(contentType);
  const isLonger = isStopped || (isText && size > keptBytes);
  const text = isText ? decodeText(bytes, contentType) : null;
  const body = text === null || !isLonger ? text : beginningOf(text, keptBytes, secrets);
  return {
    ...received,
    body,
    truncated: isLonger,
    href: shownUrl(outcome.url),
    redirects: outcome.redirects,
    remoteAddress: outcome.remoteAddress,
    ipFamily: outcome.ipFamily,
    ...outcome.timing,
  } satisfies ShownResponse;
}

export async function runUrl(
  definition: CheckDefinition<UrlRequest>,
  context: RunnerContext,
): Promise<Observation> {
  const request = definition.request;
  const startedAt = context.clock.now();
  const trail = new ConnectionTrail(context.clock);
  const url = await completeAddress(request.url, context);
  if ('failure' in url) {
    return {
      ...{ startedAt, stoppedAt: startedAt, responseTime: null, response: null },
      failure: url.failure,
      request: { method: 'GET', url: request.url, data: '', headers: {}, params: {} },
    };
  }
  const trace = beginTrace(context.run);
  const outcome = await withEventsOf(trail, context, () =>
    requestHttp(
      {
        ...{ method: 'GET', url, headers: {}, body: null, stopBytes },
        followRedirects: request.followRedirects,
        isHttp2: request.httpVersion === 'HTTP/2',
        skipSsl: request.skipSSL,
        ipFamily: request.ipFamily,
        headersOfEach: () => ({
          traceparent: trace.nextTraceparent(),
          tracestate: trace.tracestate,
        }),
        trail,
        keepBytes: (headers) => (isTextual(headers['content-type']) ? keptBytes + spareBytes : 0),
      },
      context,
    ),
  );
  const secrets = context.environment.filter(({ secret }) => secret).map(({ value }) => value);
  return {
    startedAt,
    stoppedAt: startedAt + Math.ceil(outcome.durationMs),
    responseTime: outcome.timing.timingPhases.total,
    failure: outcome.failure,
    request: {
      method: 'GET',
      url: shownUrl(url),
      data: '',
      headers: shownHeaders(outcome.sentHeaders),
      params: {},
    },
    response: shownResponse(outcome, secrets),
    requests: tracedRequests(outcome),
    unexplainedMs: outcome.unexplainedMs,
    ...evidenceOf(outcome.failure, trail, context),
  };
}
