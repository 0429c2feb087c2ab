/** The pages that a browser visited: timings, console, requests, screenshots. */
/** @import { BrowserCheckResult } from '@monitor/shared/contract/check-result.ts' */
import { html } from '../dom.js';
import { bytes, count, duration } from '../format.js';
import { Section, Table } from '../parts/layout.js';
import { Log } from '../parts/log.js';
import { Shots } from '../parts/shots.js';

/** @typedef {BrowserCheckResult['pages'][number]} VisitedPage */

const scores = {
  GOOD: { tone: 'good', word: 'good' },
  NEEDS_IMPROVEMENT: { tone: 'warn', word: 'could be better' },
  POOR: { tone: 'bad', word: 'poor' },
};
const requestsShown = 200;

/** @param {{ vitals: VisitedPage['webVitals'] }} props */
function Vitals({ vitals }) {
  const entries = Object.entries(vitals);
  if (entries.length === 0) return null;
  return html`<dl class="facts">
    ${entries.map(
      ([name, { score, value }]) =>
        html`<div key=${name}>
          <dt>${name}</dt>
          <dd>
            ${name === 'CLS' ? value.toFixed(3) : duration(value)}
            <span class=${scores[score].tone}> ${scores[score].word}</span>
          </dd>
        </div>`,
    )}
  </dl>`;
}

/** @param {VisitedPage['network'][number]} request */
function hasFailed({ failure, status }) {
  return failure !== null || (status ?? 0) >= 400;
}

/** @param {{ requests: VisitedPage['network'] }} props */
function Network({ requests }) {
  if (requests.length === 0) return null;
  const failed = requests.filter(hasFailed);
  const shown = requests.slice(0, requestsShown);
  return html`<details open=${failed.length > 0}>
    <summary>
      ${count(requests.length, 'request')}${failed.length > 0 && `, ${failed.length} failed`}
    </summary>
    <${Table}
      label="Requests of the page"
      columns=${['Status', 'Request', 'Kind', ['Size', 'right'], ['Time', 'right']]}
    >
      ${shown.map((request, index) => {
        return html`<tr key=${index}>
          <td class=${hasFailed(request) ? 'bad' : ''}>${request.failure ?? request.status}</td>
          <td class="mono">${request.method} ${request.url}</td>
          <td>${request.resourceType}</td>
          <td class="right">${bytes(request.sizeBytes)}</td>
          <td class="right">${duration(request.durationMs)}</td>
        </tr>`;
      })}
    <//>
    ${
      shown.length < requests.length &&
      html`<p class="muted">The first ${shown.length}; the trace has them all.</p>`
    }
  </details>`;
}

/** @param {{ page: VisitedPage }} props */
function Page({ page }) {
  const lines = page.console.map(({ time, type, text, location }) => ({
    time,
    level: type,
    msg: location === null ? text : `${text}\n${location}`,
  }));
  return html`<div class="card">
    <div class="card-head"><h3>${page.title || 'Page without a title'}</h3></div>
    <p class="mono">${page.url}</p>
    <${Vitals} vitals=${page.webVitals} />
    <${Shots} links=${page.screenshots} name=${page.title || page.url} />
    <${Log} label="Console of the page" lines=${lines} />
    <${Network} requests=${page.network} />
  </div>`;
}

/** @param {{ pages: VisitedPage[] }} props */
export function Pages({ pages }) {
  return html`<${Section} title="Pages">
    ${pages.map((page, index) => html`<${Page} key=${index} page=${page} />`)}
  <//>`;
}
