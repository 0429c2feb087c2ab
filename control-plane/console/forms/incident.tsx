/** An incident with its updates, and the next update. */
import type { DataAt } from '../contract.ts';
import { useState } from 'preact/hooks';
import { forms, incidentUpdateForm } from '../form-facts.ts';
import { inWords, span } from '../format.ts';
import { State } from '../parts/icons.tsx';
import { Section, Tags } from '../parts/layout.tsx';
import { Answer } from '../parts/notices.tsx';
import { Time } from '../parts/time.tsx';
import { refresh, useQuery } from '../query.ts';
import { link } from '../router.ts';
import { Form } from './form.tsx';
import { RemoveButton, RevokeButton } from './remove.tsx';
import { newValues, type Values } from './values.ts';

type Incident = DataAt<`v1/status-pages/incidents/${string}`>;

/** What teams write most often; each begins an update. */
const templates = [
  ['INVESTIGATING', 'We are looking into reports of problems.'],
  ['IDENTIFIED', 'We have found the cause and are working on it.'],
  ['MONITORING', 'A fix is in place. We are watching the results.'],
  ['RESOLVED', 'This is resolved. We are sorry.'],
];

/** A template replaces another one, never a text of somebody's own. */
function Templates({ values, change }: { values: Values; change: (changes: Values) => void }) {
  const isOwn =
    values.description !== '' && !templates.some(([, text]) => text === values.description);
  return (
    <div class="actions">
      {templates.map(([status = '', description = '']) => (
        <button
          type="button"
          key={status}
          onClick={() => change(isOwn ? { status } : { status, description })}
        >
          {inWords(status)}
        </button>
      ))}
    </div>
  );
}

function NextUpdate({ incident }: { incident: Incident }) {
  const [count, setCount] = useState(0);
  const form = {
    ...incidentUpdateForm,
    create: `${forms.incident?.create}/${incident.id}/incident-updates`,
  };
  const again = () => setCount(count + 1);
  return (
    <Form
      key={count}
      form={form}
      draftKey={`update ${incident.id}`}
      initial={{ ...newValues(form), status: incident.lastUpdateStatus }}
      onSaved={async () => {
        await refresh();
        again();
      }}
      onCancel={again}
      asks={({ status }: Values) =>
        incident.lastUpdateStatus === 'RESOLVED' && status !== 'RESOLVED'
          ? `Re-open ${incident.name}?`
          : null
      }
      above={Templates}
    />
  );
}

function Update({
  incident,
  update,
}: {
  incident: Incident;
  update: Incident['incidentUpdates'][number];
}) {
  const remove = `${forms.incident?.create}/${incident.id}/incident-updates/{id}`;
  return (
    <li class="card">
      <div class="card-head">
        <b>{inWords(update.status)}</b>
        <span class="muted">
          <Time at={update.publicIncidentUpdateDate} />
        </span>
        {update.notifySubscribers && <span class="tag">subscribers notified</span>}
        {incident.incidentUpdates.length > 1 && (
          <RevokeButton
            form={{ ...incidentUpdateForm, remove }}
            id={update.id}
            title={inWords(update.status)}
            word="Delete"
          />
        )}
      </div>
      <p class="as-typed">{update.description}</p>
    </li>
  );
}

export function IncidentView({ id }: { id: string }) {
  const read = useQuery(`v1/status-pages/incidents/${id}`, { everyMs: 30_000 });
  return Answer({
    read,
    what: 'Loading the incident',
    isEmpty: () => false,
    children: (incident) => (
      <>
        <p class="crumbs">
          <a href={link('incidents')}>Incidents</a>
        </p>
        <div class="title-line">
          <h1>{incident.name}</h1>
          <State
            tone={incident.lastUpdateStatus === 'RESOLVED' ? 'good' : 'bad'}
            word={inWords(incident.lastUpdateStatus)}
          />
          <div class="actions">
            <a class="button" href={link('edit', 'incident', id)}>
              Edit
            </a>
            {forms.incident !== undefined && (
              <RemoveButton
                form={forms.incident}
                id={id}
                title={incident.name}
                onHeld={() => {
                  location.hash = link('incidents');
                }}
              />
            )}
          </div>
        </div>
        <p class="muted">
          {inWords(incident.severity)}
          {incident.duration !== null && `, ${span(incident.duration)}`}{' '}
          <Tags tags={incident.services.map(({ name }) => name)} />
        </p>
        <Section title="Next update">
          <NextUpdate incident={incident} />
        </Section>
        <Section title="Updates">
          <ul>
            {incident.incidentUpdates.map((update) => (
              <Update key={update.id} incident={incident} update={update} />
            ))}
          </ul>
        </Section>
      </>
    ),
  });
}
