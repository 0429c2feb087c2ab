/** The pages that a browser visited: timings, console, requests, screenshots. */
import type {
  BrowserCheckResult,
  PlaywrightCheckResult,
} from '@monitor/shared/contract/check-result.ts';
import { bytes, count, duration } from '../format.ts';
import { Section, Table } from '../parts/layout.tsx';
import { Log } from '../parts/log.tsx';
import { Shots } from '../parts/shots.tsx';

type VisitedPage = BrowserCheckResult['pages'][number];
type SuitePage = NonNullable<PlaywrightCheckResult['pages']>[number];

const scores = {
  GOOD: { tone: 'good', word: 'good' },
  NEEDS_IMPROVEMENT: { tone: 'warn', word: 'could be better' },
  POOR: { tone: 'bad', word: 'poor' },
};
const requestsShown = 200;

function Vitals({ vitals }: { vitals: VisitedPage['webVitals'] }) {
  const entries = Object.entries(vitals);
  if (entries.length === 0) return null;
  return (
    <dl class="facts">
      {entries.map(([name, { score, value }]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>
            {name === 'CLS' ? value.toFixed(3) : duration(value)}
            <span class={scores[score].tone}> {scores[score].word}</span>
          </dd>
        </div>
      ))}
    </dl>
  );
}

function hasFailed({ failure, status }: VisitedPage['network'][number]) {
  return failure !== null || (status ?? 0) >= 400;
}

function Network({ requests }: { requests: VisitedPage['network'] }) {
  if (requests.length === 0) return null;
  const failed = requests.filter(hasFailed);
  const shown = requests.slice(0, requestsShown);
  return (
    <details open={failed.length > 0}>
      <summary>
        {count(requests.length, 'request')}
        {failed.length > 0 && `, ${failed.length} failed`}
      </summary>
      <Table
        label="Requests of the page"
        columns={['Status', 'Request', 'Kind', ['Size', 'right'], ['Time', 'right']]}
      >
        {shown.map((request, index) => {
          return (
            <tr key={index}>
              <td class={hasFailed(request) ? 'bad' : ''}>{request.failure ?? request.status}</td>
              <td class="mono">
                {request.method} {request.url}
              </td>
              <td>{request.resourceType}</td>
              <td class="right">{bytes(request.sizeBytes)}</td>
              <td class="right">{duration(request.durationMs)}</td>
            </tr>
          );
        })}
      </Table>
      {shown.length < requests.length && (
        <p class="muted">The first {shown.length}; the trace has them all.</p>
      )}
    </details>
  );
}

function Page({ page }: { page: VisitedPage }) {
  const lines = page.console.map(({ time, type, text, location }) => ({
    time,
    level: type,
    msg: location === null ? text : `${text}\n${location}`,
  }));
  return (
    <div class="card">
      <div class="card-head">
        <h3>{page.title || 'Page without a title'}</h3>
      </div>
      <p class="mono">{page.url}</p>
      <Vitals vitals={page.webVitals} />
      <Shots links={page.screenshots} name={page.title || page.url} />
      <Log label="Console of the page" lines={lines} />
      <Network requests={page.network} />
    </div>
  );
}

function SuitePageCard({ page }: { page: SuitePage }) {
  const { visits, requests } = page;
  return (
    <div class="card">
      <p class="mono">{page.url}</p>
      <p class="muted">
        {[
          count(visits, 'visit'),
          count(requests, 'request'),
          `${bytes(page.bytes)} transferred`,
          visits > 1 && 'web vitals: median of the visits',
        ]
          .filter(Boolean)
          .join(', ')}
      </p>
      <Vitals vitals={page.webVitals} />
    </div>
  );
}

export function Pages({ pages }: { pages: readonly (VisitedPage | SuitePage)[] }) {
  return (
    <Section title="Pages">
      {pages.map((page, index) =>
        'visits' in page ? (
          <SuitePageCard key={index} page={page} />
        ) : (
          <Page key={index} page={page} />
        ),
      )}
    </Section>
  );
}
