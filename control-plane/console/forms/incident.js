/** An incident with its updates, and the next update. */
/** @import { DataAt } from '../contract.ts' */
/** @import { Values } from './values.js' */
import { html, useState } from '../dom.js';
import { forms, incidentUpdateForm } from '../form-facts.js';
import { inWords, span } from '../format.js';
import { State } from '../parts/icons.js';
import { Section, Tags } from '../parts/layout.js';
import { Answer } from '../parts/notices.js';
import { Time } from '../parts/time.js';
import { useQuery } from '../query.js';
import { link } from '../router.js';
import { Form } from './form.js';
import { RemoveButton, RevokeButton } from './remove.js';
import { newValues } from './values.js';

/** @typedef {DataAt<`v1/status-pages/incidents/${string}`>} Incident */

/** What teams write most often; each begins an update. */
const templates = [
  ['INVESTIGATING', 'We are looking into reports of problems.'],
  ['IDENTIFIED', 'We have found the cause and are working on it.'],
  ['MONITORING', 'A fix is in place. We are watching the results.'],
  ['RESOLVED', 'This is resolved. We are sorry.'],
];

/**
 * A template replaces another one, never a text of somebody's own.
 * @param {{ values: Values, change: (changes: Values) => void }} props
 */
function Templates({ values, change }) {
  const isOwn =
    values.description !== '' && !templates.some(([, text]) => text === values.description);
  return html`<div class="actions">
    ${templates.map(
      ([status = '', description = '']) =>
        html`<button
          type="button"
          key=${status}
          onClick=${() => change(isOwn ? { status } : { status, description })}
        >
          ${inWords(status)}
        </button>`,
    )}
  </div>`;
}

/** @param {{ incident: Incident, onAdded: () => unknown }} props */
function NextUpdate({ incident, onAdded }) {
  const [count, setCount] = useState(0);
  const form = {
    ...incidentUpdateForm,
    create: `${forms.incident?.create}/${incident.id}/incident-updates`,
  };
  const again = () => setCount(count + 1);
  return html`<${Form}
    key=${count}
    form=${form}
    draftKey=${`update ${incident.id}`}
    initial=${{ ...newValues(form), status: incident.lastUpdateStatus }}
    onSaved=${async () => {
      await onAdded();
      again();
    }}
    onCancel=${again}
    asks=${(/** @type {Values} */ { status }) =>
      incident.lastUpdateStatus === 'RESOLVED' && status !== 'RESOLVED'
        ? `Re-open ${incident.name}?`
        : null}
    above=${Templates}
  />`;
}

/** @param {{ incident: Incident, update: Incident['incidentUpdates'][number], reload: () => unknown }} props */
function Update({ incident, update, reload }) {
  const remove = `${forms.incident?.create}/${incident.id}/incident-updates/{id}`;
  return html`<li class="card">
    <div class="card-head">
      <b>${inWords(update.status)}</b>
      <span class="muted"><${Time} at=${update.publicIncidentUpdateDate} /></span>
      ${update.notifySubscribers && html`<span class="tag">subscribers notified</span>`}
      ${
        incident.incidentUpdates.length > 1 &&
        html`<${RevokeButton}
          form=${{ ...incidentUpdateForm, remove }}
          id=${update.id}
          title=${inWords(update.status)}
          word="Delete"
          onRemoved=${reload}
        />`
      }
    </div>
    <p class="as-typed">${update.description}</p>
  </li>`;
}

/** @param {{ id: string }} props */
export function IncidentView({ id }) {
  const read = useQuery(`v1/status-pages/incidents/${id}`, { everyMs: 30_000 });
  return Answer({
    read,
    what: 'Loading the incident',
    isEmpty: () => false,
    children: (incident) => html`<p class="crumbs"><a href=${link('incidents')}>Incidents</a></p>
      <div class="title-line">
        <h1>${incident.name}</h1>
        <${State}
          tone=${incident.lastUpdateStatus === 'RESOLVED' ? 'good' : 'bad'}
          word=${inWords(incident.lastUpdateStatus)}
        />
        <div class="actions">
          <a class="button" href=${link('edit', 'incident', id)}>Change</a>
          <${RemoveButton}
            form=${forms.incident}
            id=${id}
            title=${incident.name}
            onHeld=${() => {
              location.hash = link('incidents');
            }}
          />
        </div>
      </div>
      <p class="muted">
        ${inWords(incident.severity)}${incident.duration !== null && `, ${span(incident.duration)}`}${' '}
        <${Tags} tags=${incident.services.map(({ name }) => name)} />
      </p>
      <${Section} title="Next update">
        <${NextUpdate} incident=${incident} onAdded=${read.reload} />
      <//>
      <${Section} title="Updates">
        <ul>
          ${incident.incidentUpdates.map(
            (update) =>
              html`<${Update} key=${update.id} incident=${incident} update=${update} reload=${read.reload} />`,
          )}
        </ul>
      <//>`,
  });
}
