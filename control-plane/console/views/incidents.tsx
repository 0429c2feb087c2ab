/** Incidents and maintenance windows. */
import type { DataAt } from '../contract.ts';
import type { Tone } from '../state.ts';
import { inWords, span } from '../format.ts';
import { State } from '../parts/icons.tsx';
import { NewLink, Section, Tags } from '../parts/layout.tsx';
import { List } from '../parts/list.tsx';
import { Empty } from '../parts/notices.tsx';
import { Time } from '../parts/time.tsx';
import { useState } from 'preact/hooks';
import { publishForm } from '../form-facts.ts';
import { Form } from '../forms/form.tsx';
import { RevokeButton } from '../forms/remove.tsx';
import type { Values } from '../forms/values.ts';
import { useQuery } from '../query.ts';
import { link } from '../router.ts';

type IncidentEntry = DataAt<'v1/status-pages/incidents'>['entries'][number];
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
  const word = isNow ? 'Active' : to <= Date.now() ? 'Ended' : 'Planned';
  return (
    <tr>
      <td>
        <State tone={isNow ? 'warn' : 'quiet'} word={word} />
      </td>
      <th scope="row">
        <a href={link('edit', 'window', window.id)}>{window.name}</a>
        <span class="under">
          {window.pauseAllChecks ? 'all monitors' : <Tags tags={window.tags} />}
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

function Windows() {
  const read = useQuery('v1/maintenance-windows', { query: { limit: 100 }, everyMs: refreshMs });
  return List({
    read,
    label: 'Maintenance windows',
    columns: ['State', 'Window', 'Next start', 'Duration', 'Repeats'],
    pick: (all) => all,
    row: (window) => <Window key={window.id} window={window} />,
    empty: (
      <Empty title="No maintenance planned">
        During maintenance, monitors with its tags do not run on schedule and nobody is notified.
      </Empty>
    ),
  });
}

const places = [
  ['incidents', 'Incidents'],
  ['maintenance', 'Maintenance'],
] as const;

function Places({ current }: { current: string }) {
  return (
    <nav class="choice" aria-label="Incidents and maintenance">
      {places.map(([name, word]) => (
        <a
          key={name}
          class="button"
          href={link(name)}
          aria-current={name === current ? 'page' : undefined}
        >
          {word}
        </a>
      ))}
    </nav>
  );
}

export function MaintenanceView() {
  return (
    <>
      <Places current="maintenance" />
      <div class="title-line">
        <h1>Maintenance</h1>
        <div class="actions">
          <NewLink name="window" word="New maintenance window" kind="primary" />
        </div>
      </div>
      <Windows />
    </>
  );
}

type Draft = DataAt<'v1/status-pages/incident-drafts'>[number];

/** An incident that services would open; a person decides. */
function DraftCard({ draft }: { draft: Draft }) {
  const [isOpen, setOpen] = useState(false);
  const { id, name, severity, description, notifySubscribers } = draft;
  const at = (path: string | null) => (path ?? '').replace('{draftId}', id);
  return (
    <li class="card">
      <div class="card-head">
        <b>{name}</b>
        <Tags tags={draft.services.map((service) => service.name)} />
        <span class="muted">
          since <Time at={draft.created_at} />
        </span>
      </div>
      <p>{draft.cause === null ? 'Cause not known yet' : `Cause, for you alone: ${draft.cause}`}</p>
      <div class="actions">
        <button type="button" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
          Review and publish
        </button>
        <RevokeButton
          form={{ ...publishForm, remove: at(publishForm.remove) }}
          id={id}
          title={name}
          word="Dismiss"
        />
      </div>
      {isOpen && (
        <Form
          form={{ ...publishForm, create: at(publishForm.create) }}
          draftKey={`publish ${id}`}
          initial={{ name, severity, description, notifySubscribers }}
          word="Publish"
          onSaved={({ id: incidentId }: Values) => {
            location.hash = link('incidents', String(incidentId));
          }}
          onCancel={() => setOpen(false)}
        />
      )}
    </li>
  );
}

function Drafts() {
  const { data = [] } = useQuery('v1/status-pages/incident-drafts', {
    everyMs: refreshMs,
  });
  if (data.length === 0) return null;
  return (
    <Section title="Drafts">
      <p class="muted">Opened by services whose monitors fail. No visitor sees them.</p>
      <ul>
        {data.map((draft) => (
          <DraftCard key={draft.id} draft={draft} />
        ))}
      </ul>
    </Section>
  );
}

export function IncidentsView() {
  const incidents = useQuery('v1/status-pages/incidents', {
    query: { limit: 20 },
    everyMs: refreshMs,
  });
  return (
    <>
      <Places current="incidents" />
      <div class="title-line">
        <h1>Incidents</h1>
        <div class="actions">
          <NewLink name="incident" word="New incident" kind="primary" />
        </div>
      </div>
      <Drafts />
      {List({
        read: incidents,
        label: 'Incidents',
        columns: ['Status', 'Incident', 'Started', ['Duration', 'right']],
        pick: ({ entries }) => entries,
        row: (one) => <Incident key={one.id} incident={one} />,
        empty: (
          <Empty title="No incidents">
            A monitor or a service can open one itself: see “Open an incident” in their settings.
          </Empty>
        ),
      })}
    </>
  );
}
