/** Incidents, status pages and maintenance windows. */
import type { DataAt } from '../contract.ts';
import type { Tone } from '../state.ts';
import { useState } from 'preact/hooks';
import { besideConsole } from '../api.ts';
import { count, inWords, span } from '../format.ts';
import { useMe } from '../me.ts';
import { State } from '../parts/icons.tsx';
import { Section, Tags } from '../parts/layout.tsx';
import { List } from '../parts/list.tsx';
import { Empty } from '../parts/notices.tsx';
import { Time } from '../parts/time.tsx';
import { takeOnce } from '../forms/shown-once.ts';
import { useQuery } from '../query.ts';
import { link } from '../router.ts';

type IncidentEntry = DataAt<'v1/status-pages/incidents'>['entries'][number];
type StatusPageEntry = DataAt<'v1/status-pages'>['entries'][number];
type MaintenanceWindow = DataAt<'v1/maintenance-windows'>[number];

const severityTones: Record<IncidentEntry['severity'], Tone> = {
  CRITICAL: 'bad',
  MAJOR: 'bad',
  MEDIUM: 'warn',
  MINOR: 'warn',
};
const refreshMs = 30_000;

function Incident({ incident }: { incident: IncidentEntry }) {
  const status = incident.lastUpdateStatus;
  const tone = status === 'RESOLVED' ? 'good' : severityTones[incident.severity];
  return (
    <tr>
      <td>
        <State tone={tone} word={inWords(status)} />
      </td>
      <th scope="row">
        <a href={link('incidents', incident.id)}>{incident.name}</a>
        <span class="under">
          <span>{inWords(incident.severity)}</span>
          <Tags tags={incident.services.map(({ name }) => name)} />
        </span>
      </th>
      <td>
        <Time at={incident.created_at} />
      </td>
      <td class="right">{incident.duration === null ? '' : span(incident.duration)}</td>
    </tr>
  );
}

function StatusPage({ page }: { page: StatusPageEntry }) {
  const { name, url, customDomain, customDomainChallenge, isPrivate, cards } = page;
  const isProven = page.customDomainStatus === 'VERIFIED';
  const address = isProven
    ? `https://${customDomain}/`
    : besideConsole(`status/${encodeURIComponent(url)}`);
  const services = cards.flatMap((card) => card.services).length;
  return (
    <tr>
      <th scope="row">
        <a href={link('edit', 'page', page.id)}>{name}</a>{' '}
        {isPrivate && <span class="tag">private</span>}
      </th>
      <td>
        <a href={address} rel="noopener" target="_blank">
          {isProven ? customDomain : `/status/${url}`}
        </a>
        {customDomain && !isProven && (
          <p class="muted">
            Not served at {customDomain} before a TXT record
            <code>{customDomainChallenge?.name}</code> says{' '}
            <code>{customDomainChallenge?.txt}</code>.
          </p>
        )}
      </td>
      <td>
        {count(cards.length, 'card')}, {count(services, 'service')}
      </td>
    </tr>
  );
}

function repeatOf({ repeatUnit, repeatInterval, repeatEndsAt }: MaintenanceWindow) {
  if (repeatUnit === null) return 'once';
  const unit = repeatUnit.toLowerCase();
  const how = (repeatInterval ?? 1) === 1 ? `every ${unit}` : `every ${repeatInterval} ${unit}s`;
  return (
    <>
      {how}
      {repeatEndsAt !== null && (
        <>
          {' '}
          until <Time at={repeatEndsAt} />
        </>
      )}
    </>
  );
}

function Window({ window }: { window: MaintenanceWindow }) {
  const [next = window] = window.nextOccurrences ?? [];
  const [from, to] = [Date.parse(next.startsAt), Date.parse(next.endsAt)];
  const isNow = from <= Date.now() && Date.now() < to;
  const word = isNow ? 'In effect' : to <= Date.now() ? 'Over' : 'Planned';
  return (
    <tr>
      <td>
        <State tone={isNow ? 'warn' : 'quiet'} word={word} />
      </td>
      <th scope="row">
        <a href={link('edit', 'window', window.id)}>{window.name}</a>
        <span class="under">
          {window.pauseAllChecks ? 'all checks' : <Tags tags={window.tags} />}
        </span>
      </th>
      <td>
        <Time at={next.startsAt} />
      </td>
      <td class="nowrap">{span(to - from)}</td>
      <td>{repeatOf(window)}</td>
    </tr>
  );
}

export function IncidentsView() {
  const incidents = useQuery('v1/status-pages/incidents', {
    query: { limit: 20 },
    everyMs: refreshMs,
  });
  const pages = useQuery('v1/status-pages', { query: { limit: 50 } });
  const windows = useQuery('v1/maintenance-windows', { query: { limit: 100 }, everyMs: refreshMs });
  const { mayWrite } = useMe();
  const [refused] = useState(() => takeOnce('page'));
  const adding = (name: string, word: string, kind = '') =>
    mayWrite && (
      <a class={`button ${kind}`} href={link('new', name)}>
        {word}
      </a>
    );
  return (
    <>
      <div class="title-line">
        <h1>Incidents</h1>
        <div class="actions">{adding('incident', 'New incident', 'primary')}</div>
      </div>
      {refused !== null && (
        <p class="notice failure" role="alert">
          {refused}
        </p>
      )}
      {List({
        read: incidents,
        label: 'Incidents',
        columns: ['Status', 'Incident', 'Began', ['Lasted', 'right']],
        pick: ({ entries }) => entries,
        row: (one) => <Incident key={one.id} incident={one} />,
        empty: (
          <Empty title="No incidents">
            A check can open one by itself: see “Opens an incident” in its settings.
          </Empty>
        ),
      })}
      <Section title="Status pages" aside={adding('page', 'New status page')}>
        {List({
          read: pages,
          label: 'Status pages',
          columns: ['Page', 'Address', 'Shows'],
          pick: ({ entries }) => entries,
          row: (page) => <StatusPage key={page.id} page={page} />,
          empty: <Empty title="No status pages" />,
        })}
      </Section>
      <Section title="Maintenance" aside={adding('window', 'New maintenance window')}>
        {List({
          read: windows,
          label: 'Maintenance windows',
          columns: ['State', 'Window', 'Next begins', 'Lasts', 'Repeats'],
          pick: (all) => all,
          row: (window) => <Window key={window.id} window={window} />,
          empty: (
            <Empty title="No maintenance is planned">
              During maintenance checks with its tags do not run on schedule, and nobody is
              notified.
            </Empty>
          ),
        })}
      </Section>
    </>
  );
}
