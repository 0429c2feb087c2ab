/** The requests of a multi-step check. */
import type { MultiStepCheckResult } from '@monitor/shared/contract/check-result.ts';
import { duration } from '../format.ts';
import { Code, Pairs } from '../parts/code.tsx';
import { Section } from '../parts/layout.tsx';
import { Phases, Span } from '../parts/waterfall.tsx';

type StepRequest = MultiStepCheckResult['requests'][number];

function Request({
  request,
  number,
  start,
  end,
}: {
  request: StepRequest;
  number: number;
  start: number;
  end: number;
}) {
  const total = request.timingPhases['total'] ?? request.timings['end'] ?? 0;
  const isBad = request.error !== null || request.status === null || request.status >= 400;
  return (
    <details class="card">
      <summary class="step">
        <span class="muted">{number}</span>
        <strong class={isBad ? 'bad' : ''}>{request.status ?? 'failed'}</strong>
        <span class="mono">
          {request.method} {request.url}
        </span>
        <span class="muted">{duration(total)}</span>
        <Span from={request.startTime} ms={total} start={start} end={end} line={isBad ? 7 : 1} />
      </summary>
      {request.error !== null && <p class="notice failure">{request.error}</p>}
      <Phases phases={request.timingPhases} />
      <Pairs label="Headers sent" pairs={request.requestHeaders} />
      {request.requestBody && <Code label="Body sent" text={request.requestBody} />}
      <Pairs label="Headers received" pairs={request.headers} />
      {request.body && <Code label="Body" text={request.body} isTruncated={request.truncated} />}
    </details>
  );
}

export function Requests({ requests }: { requests: StepRequest[] }) {
  const start = Math.min(...requests.map(({ startTime }) => startTime));
  const end = Math.max(
    ...requests.map(({ startTime, timingPhases }) => startTime + (timingPhases['total'] ?? 0)),
  );
  return (
    <Section title="Requests">
      <div class="requests">
        {requests.map((request, index) => (
          <Request key={index} request={request} number={index + 1} start={start} end={end} />
        ))}
      </div>
    </Section>
  );
}
