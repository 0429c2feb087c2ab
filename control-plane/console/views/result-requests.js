/** The requests of a multi-step check. */
/** @import { MultiStepCheckResult } from '@monitor/shared/contract/check-result.ts' */
import { html } from '../dom.js';
import { duration } from '../format.js';
import { Code, Pairs } from '../parts/code.js';
import { Section } from '../parts/layout.js';
import { Phases, Span } from '../parts/waterfall.js';

/** @typedef {MultiStepCheckResult['requests'][number]} StepRequest */

/** @param {{ request: StepRequest, number: number, start: number, end: number }} props */
function Request({ request, number, start, end }) {
  const total = request.timingPhases['total'] ?? request.timings['end'] ?? 0;
  const isBad = request.error !== null || request.status === null || request.status >= 400;
  return html`<details class="card">
    <summary class="step">
      <span class="muted">${number}</span>
      <strong class=${isBad ? 'bad' : ''}>${request.status ?? 'failed'}</strong>
      <span class="mono">${request.method} ${request.url}</span>
      <span class="muted">${duration(total)}</span>
      <${Span}
        from=${request.startTime}
        ms=${total}
        start=${start}
        end=${end}
        tone=${isBad ? 'line-7' : 'line-1'}
      />
    </summary>
    ${request.error !== null && html`<p class="notice failure">${request.error}</p>`}
    <${Phases} phases=${request.timingPhases} />
    <${Pairs} label="Headers sent" pairs=${request.requestHeaders} />
    ${request.requestBody && html`<${Code} label="Body sent" text=${request.requestBody} />`}
    <${Pairs} label="Headers received" pairs=${request.headers} />
    ${
      request.body &&
      html`<${Code} label="Body" text=${request.body} isTruncated=${request.truncated} />`
    }
  </details>`;
}

/** @param {{ requests: StepRequest[] }} props */
export function Requests({ requests }) {
  const start = Math.min(...requests.map(({ startTime }) => startTime));
  const end = Math.max(
    ...requests.map(({ startTime, timingPhases }) => startTime + (timingPhases['total'] ?? 0)),
  );
  return html`<${Section} title="Requests">
    <div class="requests">
      ${requests.map(
        (request, index) =>
          html`<${Request}
            key=${index}
            request=${request}
            number=${index + 1}
            start=${start}
            end=${end}
          />`,
      )}
    </div>
  <//>`;
}
