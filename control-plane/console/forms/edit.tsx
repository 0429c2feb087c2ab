/** The view of a form: a new entry, a copy of one, or a change. */
import type { DataAt } from '../contract.ts';
import { useEffect, useMemo, useState } from 'preact/hooks';
import { send } from '../api.ts';
import { toProblem, type Problem } from '../problem.ts';
import { checkTypes } from '../facts.ts';
import { forms } from '../form-facts.ts';
import { Choice, Select } from '../parts/layout.tsx';
import { Empty, Failure, Loading } from '../parts/notices.tsx';
import { useQuery } from '../query.ts';
import { choosing, link, type Query } from '../router.ts';
import { destinationOf } from '../views/channels.tsx';
import { afterSaving, listOf } from './after.ts';
import { adjustments, beginnings } from './adjust.ts';
import { belowForm } from './below.tsx';
import { placesOfNew, subscriptionsOfNew } from './create-line.ts';
import { besideForm } from './beside.tsx';
import { marksOf } from './code-marks.ts';
import { Form, type Entry } from './form.tsx';
import { usePageOfChecks } from './page-of-checks.tsx';
import { RemoveButton } from './remove.tsx';
import { askedOf, isValues, newValues, type Values } from './values.ts';

interface EditProps {
  name: string;
  id?: string | undefined;
  query: Query;
}

/** The type of a new check, before another one is chosen. */
const firstType = 'URL';

const go = (hash: string) => {
  location.hash = hash;
};

/** The entry that is changed or copied; null while it is read. */
function useEntry<Data = Values>(path: string | null) {
  const [entry, setEntry] = useState<Entry<Data> | null>(null);
  const [problem, setProblem] = useState<Problem | null>(null);
  const [tries, setTries] = useState(0);
  useEffect(() => {
    if (path === null) return undefined;
    const stop = new AbortController();
    send<Data>(path, { signal: stop.signal }).then(
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

/** Checks have a form for each type. */
function formNameOf(name: string, type: string | undefined) {
  return name === 'check' ? `check-${type}` : name;
}

function readPath(name: string, id: string) {
  const form = forms[formNameOf(name, firstType)];
  return form?.read?.replace('{id}', encodeURIComponent(id)) ?? null;
}

/** Types that most checks have, each a click away. */
const usualTypes = ['URL', 'API', 'BROWSER', 'ICMP', 'TCP'];

function TypeChoice({ type, onPick }: { type: string; onPick: (type: string) => void }) {
  const named = (types: string[]) =>
    types.map((one) => [one, forms[`check-${one}`]?.title ?? one] as const);
  const others = Object.keys(checkTypes).filter((one) => !usualTypes.includes(one));
  return (
    <div class="type-choice">
      <Choice label="Type" value={type} options={named(usualTypes)} onChange={onPick} />
      <Select
        label="Other types"
        value={others.includes(type) ? type : ''}
        options={[['', 'Other types'], ...named(others)]}
        onChange={(picked) => onPick(picked || firstType)}
      />
    </div>
  );
}

function NewEntry({
  name,
  query,
  from,
  places,
  channels,
}: EditProps & {
  from: Entry | null;
  places: DataAt<'v1/private-locations'>;
  channels: DataAt<'v1/alert-channels'>;
}) {
  const ofChecks = usePageOfChecks(name === 'page' ? query.checks : undefined);
  const type = String(query.type?.toUpperCase() ?? from?.data.checkType ?? firstType);
  const formName = formNameOf(name, type);
  const form = forms[formName];
  if (form === undefined) return <Empty title="Not found" />;
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
  return (
    <>
      <h1>
        {from === null ? 'New' : 'Copy of'} {from === null ? form.noun : String(from.data.name)}
      </h1>
      <Form
        key={formName}
        form={form}
        draftKey={`new ${formName} ${query.from ?? ''}${query.checks ?? ''}`}
        initial={initial}
        adjust={adjustments[name]}
        onSaved={(saved: Values) => afterSaving(name, saved, go)}
        onCancel={() => go(listOf(name))}
        beside={besideForm(name, type)}
        above={
          name === 'check'
            ? () => <TypeChoice type={type} onPick={choosing('type')} />
            : ofChecks.above
        }
        create={ofChecks.create}
      />
    </>
  );
}

function copyOf(values: Values): Values {
  return { ...values, ...(typeof values.name === 'string' && { name: `${values.name} (copy)` }) };
}

/** The lines at which the run of a result failed, when the address of a check names one. */
function useMarks(id: string, { result }: Query) {
  const { data } = useQuery(
    result === undefined || result === ''
      ? null
      : `v1/check-results/${encodeURIComponent(id)}/${encodeURIComponent(result)}`,
  );
  // A result is read again without having changed.
  return useMemo(() => (data === undefined ? undefined : marksOf(data)), [data?.id]);
}

/** A channel has no name of its own. */
function titleOf({ name, key, type, config }: Values) {
  if (!isValues(config)) return name ?? key;
  return destinationOf({ type, config } as Parameters<typeof destinationOf>[0]) || undefined;
}

function ExistingEntry({ name, id, query, entry }: EditProps & { entry: Entry; id: string }) {
  const marked = useMarks(id, query);
  const formName = formNameOf(name, String(entry.data.checkType));
  const form = forms[formName];
  if (form === undefined) return <Empty title="Not found" />;
  const title = titleOf(entry.data) ?? form.title;
  return (
    <>
      <div class="title-line">
        <h1>{title === form.title ? title : `${form.title}: ${String(title)}`}</h1>
        <div class="actions">
          {name !== 'variable' && form.remove !== null && (
            <a class="button" href={`${link('new', name)}?from=${encodeURIComponent(id)}`}>
              Copy
            </a>
          )}
          {form.remove !== null && (
            <RemoveButton form={form} id={id} title={title} onHeld={() => go(listOf(name))} />
          )}
        </div>
      </div>
      {form.update === null ? (
        <Empty title="This cannot be edited">Delete it and create another one.</Empty>
      ) : (
        <Form
          form={form}
          draftKey={`edit ${formName} ${id}`}
          initial={askedOf(form, entry.data)}
          entry={entry}
          id={id}
          onSaved={(saved: Values) => afterSaving(name, saved, go)}
          onCancel={() => go(name === 'check' ? link('checks', id) : listOf(name))}
          beside={besideForm(name, String(entry.data.checkType), id)}
          marked={marked}
        />
      )}
      <div class="form below">{belowForm(name, id, entry.data)}</div>
    </>
  );
}

export function EditView({ name, id, query }: EditProps) {
  const readId = id ?? query.from;
  const { entry, problem, reload } = useEntry(
    readId === undefined || readId === '' ? null : readPath(name, readId),
  );
  // Not those that a view has read before: the one that was just made is wanted most.
  const hasChoices = id === undefined && (name === 'check' || name === 'group');
  const places = useEntry<DataAt<'v1/private-locations'>>(
    hasChoices ? 'v1/private-locations' : null,
  );
  const channels = useEntry<DataAt<'v1/alert-channels'>>(
    hasChoices ? 'v1/alert-channels?limit=100' : null,
  );
  for (const failed of [{ problem, reload }, places, channels]) {
    if (failed.problem === null) continue;
    return (
      <>
        <h1>Not found</h1>
        <Failure problem={failed.problem} reload={failed.reload} />
      </>
    );
  }
  const isReading = hasChoices && (places.entry === null || channels.entry === null);
  if ((readId !== undefined && readId !== '' && entry === null) || isReading) {
    return (
      <>
        <h1>{id === undefined ? 'New' : 'Edit'}</h1>
        <Loading />
      </>
    );
  }
  return id !== undefined && entry !== null ? (
    <ExistingEntry name={name} id={id} query={query} entry={entry} />
  ) : (
    <NewEntry
      name={name}
      query={query}
      from={entry}
      places={places.entry?.data ?? []}
      channels={channels.entry?.data ?? []}
    />
  );
}
