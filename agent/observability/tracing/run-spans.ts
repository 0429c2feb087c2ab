/**
 * What became of an attempt, as spans: the attempt, below it what it did, and with the last attempt the
 * run itself. Made from the result as it is stored, so there is nothing in a span that is not in a
 * result, and nothing secret.
 */
import { randomBytes } from 'node:crypto';
import type { ResultSubmission } from '@monitor/shared/contract/agent-protocol.ts';
import {
  exchangeOf,
  type ScriptStep,
  type ScriptTest,
} from '@monitor/shared/contract/check-result.ts';
import { findAgentType } from '@monitor/shared/contract/checks/index.ts';
import { spanIdOf, traceIdOf, type RandomBytes } from '../../net/http/trace-context.ts';
import type { TracedRequest } from '../../net/http/traced-request.ts';
import type { Span } from './otlp.ts';

/** An attempt whose result stands in the outbox, without anything secret. */
export interface FinishedAttempt {
  submission: ResultSubmission;
  requests: readonly TracedRequest[];
  reason: string | null;
  faultCode: string | null;
  /** When the first attempt of the run began. */
  sequenceStartedAt: number;
}

/** Of a script that takes more steps, the first ones are shown. */
const maxSteps = 200;
const maxTextLength = 1_024;

const short = (text: string): string =>
  text.length > maxTextLength ? `${text.slice(0, maxTextLength)}…` : text;

/** Makes spans below a parent. */
interface Trace {
  traceId: string;
  nextId: () => string;
}

type SpanFields = Pick<Span, 'name' | 'startedAt' | 'endedAt'> & Partial<Span>;

function spanBelow(trace: Trace, parentSpanId: string | null, fields: SpanFields): Span {
  const { traceId, nextId } = trace;
  return {
    ...{ traceId, parentSpanId, kind: 'internal', attributes: {}, problem: null },
    ...fields,
    spanId: fields.spanId ?? nextId(),
  };
}

function isFailedStatus(status: number | null): status is number {
  return status !== null && status >= 400;
}

/** Semantic conventions of HTTP client spans; where there is no URL that parses, without its parts. */
function requestSpans(request: TracedRequest, parent: string, trace: Trace): Span[] {
  const { status, errorCode, httpVersion } = request;
  const url = URL.canParse(request.url) ? new URL(request.url) : null;
  const port = url?.port || (url?.protocol === 'https:' ? '443' : '80');
  const span = spanBelow(trace, parent, {
    ...(request.spanId === null ? {} : { spanId: request.spanId }),
    name: request.method,
    kind: 'client',
    startedAt: request.begunAt,
    endedAt: request.endedAt,
    attributes: {
      'http.request.method': request.method,
      'url.full': short(request.url),
      'server.address': url?.hostname ?? null,
      'server.port': url === null ? null : Number(port),
      'http.response.status_code': status,
      'network.protocol.name': 'http',
      'network.protocol.version': httpVersion,
      'network.transport': 'tcp',
      'network.type': request.ipFamily === 'IPv6' ? 'ipv6' : 'ipv4',
      'network.peer.address': request.remoteAddress,
      'error.type': errorCode ?? (isFailedStatus(status) ? String(status) : null),
      'user_agent.synthetic.type': 'test',
    },
    problem: errorCode ?? (isFailedStatus(status) ? `status ${status}` : null),
  });
  const { lookedUpAt, connectedAt, securedAt, answeredAt, endedAt, begunAt } = request;
  const phases: [name: string, from: number | null, to: number | null][] = [
    ['dns', begunAt, lookedUpAt],
    ['connect', lookedUpAt, connectedAt],
    ['tls', securedAt === null ? null : connectedAt, securedAt],
    ['first byte', securedAt ?? connectedAt, answeredAt],
    ['body', answeredAt, endedAt],
  ];
  const below = phases.flatMap(([name, startedAt, phaseEnd]) =>
    startedAt === null || phaseEnd === null
      ? []
      : [spanBelow(trace, span.spanId, { name, startedAt, endedAt: phaseEnd })],
  );
  return [span, ...below];
}

/** The phases of monitors without HTTP, from the times in their results. */
function monitorSpans(
  { submission }: FinishedAttempt,
  parent: string,
  trace: Trace,
): { spans: Span[]; attributes: Span['attributes'] } {
  const { checkType, startedAt, stoppedAt } = submission;
  const seen = exchangeOf(submission);
  const facts = findAgentType(checkType)?.trace?.({
    request: seen?.request ?? {},
    response: seen?.response ?? null,
    durationMs: stoppedAt - startedAt,
  });
  if (facts === undefined) return { attributes: {}, spans: [] };
  const spans = facts.phases.flatMap(([name, from, to]) =>
    typeof from !== 'number' || typeof to !== 'number'
      ? []
      : [spanBelow(trace, parent, { name, startedAt: startedAt + from, endedAt: startedAt + to })],
  );
  return { attributes: facts.attributes, spans };
}

function stepSpans(steps: readonly ScriptStep[], parent: string, trace: Trace, room: number) {
  const spans: Span[] = [];
  for (const step of steps) {
    if (spans.length >= room) break;
    const span = spanBelow(trace, parent, {
      name: short(step.title),
      startedAt: step.startTime,
      endedAt: step.startTime + step.durationMs,
      attributes: { 'monitor.step.category': step.category },
      problem: step.error === null ? null : short(step.error),
    });
    spans.push(span);
    spans.push(...stepSpans(step.steps, span.spanId, trace, room - spans.length));
  }
  return spans;
}

function scriptTestsOf({ submission }: FinishedAttempt): readonly ScriptTest[] {
  const { browserCheckResult, multiStepCheckResult, playwrightCheckResult } = submission;
  return (browserCheckResult ?? multiStepCheckResult ?? playwrightCheckResult)?.tests ?? [];
}

function outcomeOf({
  hasErrors,
  hasFailures,
  isDegraded,
  isCancelled,
}: FinishedAttempt['submission']) {
  if (isCancelled) return 'cancelled';
  if (hasErrors) return 'error';
  if (hasFailures) return 'failed';
  return isDegraded ? 'degraded' : 'passed';
}

/** The spans of an attempt; with a FINAL one also that of its run. */
export function spansOf(attempt: FinishedAttempt, random: RandomBytes = randomBytes): Span[] {
  const { submission, requests, faultCode, reason, sequenceStartedAt } = attempt;
  const trace: Trace = {
    traceId: traceIdOf(submission.runId),
    nextId: () => random(8).toString('hex'),
  };
  const [runSpanId, attemptSpanId] = [spanIdOf(submission.runId), spanIdOf(submission.id)];
  const outcome = outcomeOf(submission);
  const endedAt = Math.max(submission.stoppedAt, ...requests.map((request) => request.endedAt));
  const isProblem = outcome === 'error' || outcome === 'failed';
  const monitor = monitorSpans(attempt, attemptSpanId, trace);
  const common: Span['attributes'] = {
    'monitor.check.id': submission.checkId,
    'monitor.check.name': short(submission.name),
    'monitor.check.type': submission.checkType,
    'monitor.run.id': submission.runId,
    'monitor.location': submission.runLocation,
    'monitor.outcome': outcome,
  };
  const problem = isProblem ? short(reason ?? outcome) : null;
  const own = spanBelow(trace, runSpanId, {
    spanId: attemptSpanId,
    name: `${submission.checkType} attempt`,
    startedAt: submission.startedAt,
    endedAt,
    attributes: {
      ...common,
      ...monitor.attributes,
      'monitor.result.id': submission.id,
      'monitor.attempt': submission.attempt,
      'monitor.under_load': submission.underLoad,
      'error.type': isProblem ? (faultCode ?? outcome) : null,
    },
    problem,
  });
  const run =
    submission.resultType !== 'FINAL'
      ? []
      : [
          spanBelow(trace, null, {
            spanId: runSpanId,
            name: `${submission.checkType} run`,
            startedAt: Math.min(sequenceStartedAt, submission.startedAt),
            endedAt,
            attributes: { ...common, 'monitor.attempts': submission.attempt },
            problem,
          }),
        ];
  const tests = scriptTestsOf(attempt).flatMap(({ steps }) => steps);
  return [
    ...run,
    own,
    ...requests.flatMap((request) => requestSpans(request, attemptSpanId, trace)),
    ...monitor.spans,
    ...stepSpans(tests, attemptSpanId, trace, maxSteps),
  ];
}
