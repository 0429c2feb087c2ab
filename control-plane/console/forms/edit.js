/** The view of a form: a new entry, a copy of one, or a change. */
/** @import { DataAt } from '../contract.ts' */
/** @import { Query } from '../router.js' */
/** @import { Entry } from './form.js' */
/** @import { Values } from './values.js' */
import { html, useEffect, useMemo, useState } from '../dom.js';
import { send, toProblem } from '../api.js';
import { checkTypes } from '../facts.js';
import { forms } from '../form-facts.js';
import { Select } from '../parts/layout.js';
import { Empty, Failure, Loading } from '../parts/notices.js';
import { useQuery } from '../query.js';
import { choosing, link } from '../router.js';
import { afterSaving, listOf } from './after.js';
import { adjustments, beginnings } from './adjust.js';
import { belowForm } from './below.js';
import { placesOfNew, subscriptionsOfNew } from './create-line.js';
import { besideForm } from './beside.js';
import { marksOf } from './code-marks.js';
import { Form } from './form.js';
import { usePageOfChecks } from './page-of-checks.js';
import { RemoveButton } from './remove.js';
import { askedOf, newValues } from './values.js';

/** @typedef {{ name: string, id?: string, query: Query }} EditProps */

/** The type of a new check, before another one is chosen. */
const firstType = 'URL';

/** @param {string} hash */
const go = (hash) => {
  location.hash = hash;
};

/**
 * The entry that is changed or copied; null while it is read.
 * @param {string | null} path
 */
function useEntry(path) {
  const [entry, setEntry] = useState(/** @type {Entry | null} */ (null));
  const [problem, setProblem] = useState(/** @type {import('../api.js').Problem | null} */ (null));
  const [tries, setTries] = useState(0);
  useEffect(() => {
    if (path === null) return undefined;
    const stop = new AbortController();
    send(path, { signal: stop.signal }).then(
      ({ data, etag }) => setEntry({ data, etag }),
      (error) => {
        if (!stop.signal.aborted) setProblem(toProblem(error));
      },
    );
    return () => stop.abort();
  }, [path, tries]);
  const reload = () => {
    setProblem(null);
    setTries(tries + 1);
  };
  return { entry, problem, reload };
}

/**
 * Checks have a form for each type.
 * @param {string} name
 * @param {string | undefined} type
 */
function formNameOf(name, type) {
  return name === 'check' ? `check-${type}` : name;
}

/**
 * @param {string} name
 * @param {string} id
 */
function readPath(name, id) {
  const form = forms[formNameOf(name, firstType)];
  return form?.read?.replace('{id}', encodeURIComponent(id)) ?? null;
}

/** @param {{ type: string, onPick: (type: string) => void }} props */
function TypeChoice({ type, onPick }) {
  return html`<${Select}
    label="Type"
    value=${type}
    options=${Object.entries(checkTypes).map(([one]) => [one, forms[`check-${one}`]?.title ?? one])}
    onChange=${onPick}
  />`;
}

/**
 * @param {EditProps & {
 *   from: Entry | null,
 *   places: DataAt<'v1/private-locations'>,
 *   channels: DataAt<'v1/alert-channels'>,
 * }} props
 */
function NewEntry({ name, query, from, places, channels }) {
  const ofChecks = usePageOfChecks(name === 'page' ? query.checks : undefined);
  const type = String(query.type?.toUpperCase() ?? from?.data.checkType ?? firstType);
  const formName = formNameOf(name, type);
  const form = forms[formName];
  if (form === undefined) return html`<${Empty} title="There is no such form" />`;
  const fresh = newValues(form);
  const initial = {
    ...fresh,
    ...beginnings[name]?.(query),
    ...('privateLocations' in fresh && { privateLocations: placesOfNew(places) }),
    ...('alertChannelSubscriptions' in fresh && {
      alertChannelSubscriptions: subscriptionsOfNew(channels),
    }),
    ...(from !== null && copyOf(askedOf(form, from.data))),
  };
  return html`<h1>${from === null ? 'New' : 'Copy of'} ${from === null ? form.noun : String(from.data.name)}</h1>
    <${Form}
      key=${formName}
      form=${form}
      draftKey=${`new ${formName} ${query.from ?? ''}${query.checks ?? ''}`}
      initial=${initial}
      adjust=${adjustments[name]}
      onSaved=${(/** @type {Values} */ saved) => afterSaving(name, saved, go)}
      onCancel=${() => go(listOf(name))}
      beside=${besideForm(name, type)}
      above=${
        name === 'check'
          ? () => html`<${TypeChoice} type=${type} onPick=${choosing('type')} />`
          : ofChecks.above
      }
      create=${ofChecks.create}
    />`;
}

/**
 * @param {Values} values
 * @returns {Values}
 */
function copyOf(values) {
  return { ...values, ...(typeof values.name === 'string' && { name: `${values.name} (copy)` }) };
}

/**
 * The lines at which the run of a result failed, when the address names one.
 * @param {string} id of a check
 * @param {Query} query
 */
function useMarks(id, { result }) {
  const { data } = useQuery(
    result === undefined || result === ''
      ? null
      : `v1/check-results/${encodeURIComponent(id)}/${encodeURIComponent(result)}`,
  );
  // A result is read again without having changed.
  return useMemo(() => (data === undefined ? undefined : marksOf(data)), [data?.id]);
}

/** @param {EditProps & { entry: Entry, id: string }} props */
function ExistingEntry({ name, id, query, entry }) {
  const marked = useMarks(id, query);
  const formName = formNameOf(name, String(entry.data.checkType));
  const form = forms[formName];
  if (form === undefined) return html`<${Empty} title="There is no such form" />`;
  const title = entry.data.name ?? entry.data.key ?? form.title;
  return html`<div class="title-line">
      <h1>${form.title}: ${title}</h1>
      <div class="actions">
        ${name !== 'variable' && html`<a class="button" href=${`${link('new', name)}?from=${encodeURIComponent(id)}`}>Copy</a>`}
        <${RemoveButton}
          form=${form}
          id=${id}
          title=${title}
          onHeld=${() => go(listOf(name))}
        />
      </div>
    </div>
    ${
      form.update === null
        ? html`<${Empty} title="It cannot be changed">Delete it and create another one.<//>`
        : html`<${Form}
            form=${form}
            draftKey=${`edit ${formName} ${id}`}
            initial=${askedOf(form, entry.data)}
            entry=${entry}
            id=${id}
            adjust=${undefined}
            onSaved=${(/** @type {Values} */ saved) => afterSaving(name, saved, go)}
            onCancel=${() => go(name === 'check' ? link('checks', id) : listOf(name))}
            beside=${besideForm(name, String(entry.data.checkType), id)}
            marked=${marked}
          />`
    }
    <div class="form below">${belowForm(name, id, entry.data)}</div>`;
}

/** @param {EditProps} props */
export function EditView({ name, id, query }) {
  const readId = id ?? query.from;
  const { entry, problem, reload } = useEntry(
    readId === undefined || readId === '' ? null : readPath(name, readId),
  );
  // Not those that a view has read before: the one that was just made is wanted most.
  const hasChoices = id === undefined && (name === 'check' || name === 'group');
  const places = useEntry(hasChoices ? 'v1/private-locations' : null);
  const channels = useEntry(hasChoices ? 'v1/alert-channels?limit=100' : null);
  const failed = [{ problem, reload }, places, channels].find((one) => one.problem !== null);
  if (failed !== undefined) {
    return html`<h1>Not found</h1><${Failure} problem=${failed.problem} reload=${failed.reload} />`;
  }
  const isReading = hasChoices && (places.entry === null || channels.entry === null);
  if ((readId !== undefined && readId !== '' && entry === null) || isReading) {
    return html`<h1>${id === undefined ? 'New' : 'Change'}</h1><${Loading} />`;
  }
  return id !== undefined && entry !== null
    ? html`<${ExistingEntry} name=${name} id=${id} query=${query} entry=${entry} />`
    : html`<${NewEntry}
        name=${name}
        query=${query}
        from=${entry}
        places=${places.entry?.data ?? []}
        channels=${channels.entry?.data ?? []}
      />`;
}
