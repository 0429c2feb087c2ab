/** Inputs for values that mean more than their kind says: references, schedules, assertions. */
import type { ComponentChildren, ComponentType } from 'preact';
import type { AssertionGrammar } from '@monitor/shared/contract/assertion.ts';
import { call } from '../api.ts';
import { toProblem } from '../problem.ts';
import { useState } from 'preact/hooks';
import { dataCenterLocations } from '../form-facts.ts';
import { inNumbers, inWords, span } from '../format.ts';
import { instantOf, localTime, timeZone, zones } from '../own-zone.ts';
import { wordsOf } from '../parts/notices.tsx';
import { useQuery } from '../query.ts';
import { link } from '../router.ts';
import { Code } from './code.tsx';
import { useForm } from './context.ts';
import { NextRuns } from './next-runs.tsx';
import { Below, Labelled, useTies, type FieldProps, type Typed } from './labelled.tsx';
import { isSame, isValues, textsOf, type Values } from './values.ts';

interface Option {
  value: string | number;
  word: string;
  note?: string;
}

/** Periods of checks within a minute, in seconds. */
const withinMinute = [10, 20, 30];

/** Minutes, or for less than one the seconds in `frequencyOffset`. */
function Frequency({ field, path, value }: FieldProps) {
  const { values, change } = useForm();
  const minutes = (field.options ?? []).filter((one) => one !== 0);
  const hasSeconds = field.options?.includes(0) === true;
  const current = value === 0 ? `${values.frequencyOffset} s` : String(value);
  const onPick = ({ currentTarget: { value: picked } }: Typed) => {
    const seconds = /^(\d+) s$/.exec(picked)?.[1];
    if (seconds === undefined) {
      change({ frequency: Number(picked), ...(value === 0 && { frequencyOffset: undefined }) });
    } else {
      change({ frequency: 0, frequencyOffset: Number(seconds) });
    }
  };
  return (
    <Labelled
      path={path}
      label={field.label}
      field={{ ...field, help: undefined, isRequired: true }}
    >
      <select {...useTies(path, undefined)} onChange={onPick}>
        {hasSeconds &&
          withinMinute.map((seconds) => (
            <option key={seconds} value={`${seconds} s`} selected={current === `${seconds} s`}>
              {seconds} s
            </option>
          ))}
        {minutes.map((one) => (
          <option key={one} value={String(one)} selected={current === String(one)}>
            {span(Number(one) * 60_000)}
          </option>
        ))}
      </select>
      <NextRuns />
    </Labelled>
  );
}

/** One of the entries of another list, or none. */
function Reference({
  field,
  path,
  value,
  onChange,
  options = [],
}: FieldProps & { options: Option[] | undefined }) {
  const isKnown = value == null || options.some((option) => option.value === value);
  const all = isKnown ? options : [...options, { value: String(value), word: String(value) }];
  return (
    <Labelled path={path} label={field.label} field={field}>
      <select
        {...useTies(path, field.help)}
        onChange={({ currentTarget: { value: text } }) =>
          onChange(options.find((option) => String(option.value) === text)?.value ?? null)
        }
      >
        <option value="" selected={value == null || value === ''}>
          None
        </option>
        {all.map((option) => (
          <option key={option.value} value={String(option.value)} selected={option.value === value}>
            {option.word}
          </option>
        ))}
      </select>
    </Labelled>
  );
}

const many = { query: { limit: 100 } };

/** One of the entries of a list. */
function oneOf(useOptions: () => Option[] | undefined) {
  return function One(props: FieldProps) {
    return <Reference {...props} options={useOptions()} />;
  };
}
const named = (all: readonly { id: string | number; name: string }[] | undefined) =>
  all?.map(({ id, name }) => ({ value: id, word: name }));
const Group = oneOf(() => named(useQuery('v1/check-groups', many).data));
const Snippet = oneOf(() => named(useQuery('v1/snippets', many).data));

/** The words of a text with commas between them. */
function wordsIn(text: string) {
  return text
    .split(',')
    .map((word) => word.trim())
    .filter((word) => word !== '');
}

const isSameOption =
  ({ value }: Option) =>
  (other: Option) =>
    other.value === value;

function useServices() {
  const { data } = useQuery('v1/status-pages/services', { query: { paginated: false } });
  return data?.entries.map(({ id, name }) => ({ value: id, word: name }));
}

const Service = oneOf(useServices);

/** Some of a few options, each a checkbox. */
/** Options of a list that are shown before somebody looks for one, beside those that are picked. */
const mostShown = 30;

function Several({
  field,
  path,
  options,
  picked,
  onPick,
  none,
  label = field.label,
}: FieldProps & {
  options: Option[] | undefined;
  picked: (string | number)[];
  onPick: (picked: (string | number)[]) => void;
  none?: ComponentChildren;
}) {
  const unknown = picked.filter((one) => !options?.some(({ value }) => value === one));
  const all = [
    ...(options ?? []),
    ...(options === undefined
      ? []
      : unknown.map((one) => ({ value: one, word: `${one}`, note: 'gone' }))),
  ];
  const [typed, setTyped] = useState('');
  const words = typed.toLowerCase().split(/\s+/);
  const found = all.filter(({ value, word }) => {
    const name = word.toLowerCase();
    return !picked.includes(value) && words.every((one) => name.includes(one));
  });
  const shown = new Set(found.slice(0, mostShown));
  return (
    <fieldset class="group" {...useTies(path, field.help)}>
      <legend>{label}</legend>
      {all.length > mostShown && (
        <input
          type="search"
          aria-label={`Search ${label.toLowerCase()}`}
          placeholder="Search"
          value={typed}
          onInput={(event) => setTyped(event.currentTarget.value)}
          onKeyDown={(event) => {
            if (event.key === 'Enter') event.preventDefault();
          }}
        />
      )}
      {all
        .filter((option) => shown.has(option) || picked.includes(option.value))
        .map(({ value, word, note }) => (
          <label class="check-field" key={value}>
            <input
              type="checkbox"
              checked={picked.includes(value)}
              onChange={(event) =>
                onPick(
                  event.currentTarget.checked
                    ? [...picked, value]
                    : picked.filter((one) => one !== value),
                )
              }
            />
            <span>
              {word}
              {note !== undefined && (
                <>
                  {' '}
                  <span class="muted">{note}</span>
                </>
              )}
            </span>
          </label>
        ))}
      {found.length > mostShown && (
        <p class="muted">and {inNumbers(found.length - mostShown)} more: search for their names</p>
      )}
      {options?.length === 0 && unknown.length === 0 && none}
      <Below path={path} help={field.help} />
    </fieldset>
  );
}

function PrivateLocations(props: FieldProps) {
  const { data } = useQuery('v1/private-locations');
  return (
    <Several
      {...props}
      options={data?.map(({ slugName, name, agentCount }) => ({
        value: slugName,
        word: name,
        ...(agentCount === 0 && { note: 'without an agent' }),
      }))}
      picked={textsOf(props.value)}
      onPick={props.onChange}
      none={
        <p class="muted">
          No locations yet. <a href={link('new', 'location')}>Create one</a>, then start an agent
          there.
        </p>
      }
    />
  );
}

function DataCenterLocations(props: FieldProps) {
  const picked = textsOf(props.value);
  return (
    <details open={picked.length > 0}>
      <summary>{props.field.label}</summary>
      <Several
        {...props}
        options={Object.entries(dataCenterLocations).map(([value, word]) => ({
          value,
          word,
          note: value,
        }))}
        picked={picked}
        onPick={props.onChange}
      />
    </details>
  );
}

function useChannels() {
  const { data } = useQuery('v1/alert-channels', many);
  return data?.map(({ id, type, config }) => ({
    value: id,
    word: `${inWords(type)}: ${config.address ?? config.name ?? config.channel ?? config.serviceName ?? id}`,
  }));
}

const noChannel = (
  <p class="muted">
    No alert channels yet: nobody is notified. <a href={link('new', 'channel')}>Create one</a>.
  </p>
);

function AlertChannels(props: FieldProps) {
  return (
    <Several
      {...props}
      options={useChannels()}
      picked={Array.isArray(props.value) ? props.value : []}
      onPick={props.onChange}
      none={noChannel}
    />
  );
}

/** Some of a list that may be long: closed until one is picked. */
function someOf(useOptions: () => Option[] | undefined) {
  return function Some(props: FieldProps) {
    const picked = Array.isArray(props.value) ? props.value : [];
    const options = useOptions();
    return (
      <details open={picked.length > 0}>
        <summary>{props.field.label}</summary>
        <Several {...props} options={options} picked={picked} onPick={props.onChange} />
      </details>
    );
  };
}

const SomeChecks = someOf(() => named(useQuery('v1/check-overview', { query: { runs: 0 } }).data));
const SomeGroups = someOf(() => named(useQuery('v1/check-groups', many).data));
const SomeServices = someOf(useServices);
const SomePages = someOf(() => named(useQuery('v1/status-pages', many).data?.entries));

const EscalationPolicy = oneOf(() => named(useQuery('v1/escalation-policies', many).data));

function CalendarDay({ field, path, value, onChange }: FieldProps) {
  return (
    <Labelled path={path} label={field.label} field={field}>
      <input
        type="date"
        {...useTies(path, field.help)}
        value={String(value ?? '')}
        onInput={({ currentTarget: { value: text } }) => onChange(text)}
      />
    </Labelled>
  );
}

function Subscriptions(props: FieldProps) {
  const options = useChannels();
  const given = (Array.isArray(props.value) ? props.value : []) as {
    alertChannelId: number;
    activated: boolean;
  }[];
  return (
    <Several
      {...props}
      options={options}
      picked={given
        .filter(({ activated }) => activated)
        .map(({ alertChannelId }) => alertChannelId)}
      onPick={(picked) =>
        props.onChange([
          ...given.map((one) => ({ ...one, activated: picked.includes(one.alertChannelId) })),
          ...picked
            .filter((id) => !given.some(({ alertChannelId }) => alertChannelId === id))
            .map((id) => ({ alertChannelId: id, activated: true })),
        ])
      }
      none={noChannel}
    />
  );
}

function Services(props: FieldProps) {
  const options = useServices();
  const [made, setMade] = useState<Option[]>([]);
  const [typed, setTyped] = useState('');
  const [problem, setProblem] = useState('');
  const given = (Array.isArray(props.value) ? props.value : []) as { id: string }[];
  const picked = given.map(({ id }) => id);
  const pick = (ids: (string | number)[]) =>
    props.onChange([...new Set(ids)].map((id) => ({ id })));
  const known = [...(options ?? []), ...made.filter((one) => !options?.some(isSameOption(one)))];
  const create = async () => {
    const added = [...picked];
    const fresh = [...made];
    const left = wordsIn(typed);
    setProblem('');
    try {
      for (let [name] = left; name !== undefined; [name] = left) {
        const found = [...known, ...fresh].find(({ word }) => word === name);
        if (found === undefined) {
          const { data } = await call('v1/status-pages/services', {
            method: 'POST',
            body: { name },
          });
          fresh.push({ value: data.id, word: data.name });
        }
        added.push(String((found ?? fresh.at(-1))?.value));
        left.shift();
      }
    } catch (error) {
      setProblem(wordsOf(toProblem(error)));
    }
    setMade(fresh);
    setTyped(left.join(', '));
    pick(added);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key !== 'Enter') return;
    // The form stays: Enter here ends the names.
    event.preventDefault();
    void create();
  };
  return (
    <>
      <Several
        {...props}
        field={{ ...props.field, help: undefined }}
        options={options && known}
        picked={picked}
        onPick={pick}
      />
      <div class="actions">
        <input
          aria-label="New services"
          aria-description="Comma-separated names"
          placeholder="New services: Shop, Checkout, Search"
          value={typed}
          onInput={({ currentTarget: { value } }) => setTyped(value)}
          onKeyDown={onKeyDown}
        />
        <button type="button" disabled={wordsIn(typed).length === 0} onClick={() => void create()}>
          Add services
        </button>
      </div>
      <p class="bad" role="alert">
        {problem}
      </p>
    </>
  );
}

/** Words with commas between them. */
function TagsField({ field, path, value, onChange }: FieldProps) {
  const [typed, setTyped] = useState(textsOf(value).join(', '));
  // Spaces and commas stay while somebody types; tags from another place replace them.
  const text = isSame(wordsIn(typed), textsOf(value)) ? typed : textsOf(value).join(', ');
  const onInput = ({ currentTarget: { value: next } }: Typed) => {
    setTyped(next);
    onChange(wordsIn(next));
  };
  return (
    <Labelled path={path} label={field.label} field={field}>
      <input
        {...useTies(path, field.help)}
        value={text}
        placeholder="Comma-separated"
        autocomplete="off"
        onInput={onInput}
      />
    </Labelled>
  );
}

function Instant({ field, path, value, onChange }: FieldProps) {
  const help = `Your time (${timeZone})`;
  return (
    <Labelled path={path} label={field.label} field={{ ...field, help }}>
      <input
        type="datetime-local"
        {...useTies(path, help)}
        value={localTime(value)}
        onInput={({ currentTarget: { value: text } }) => {
          const instant = instantOf(text);
          if (!Number.isNaN(instant)) onChange(new Date(instant).toISOString());
          else onChange(field.isNullable ? null : '');
        }}
      />
    </Labelled>
  );
}

function TimeZone({ field, path, value, onChange }: FieldProps) {
  const { help } = field;
  return (
    <Labelled path={path} label={field.label} field={field}>
      <input
        list="time-zones"
        {...useTies(path, help)}
        value={String(value ?? '')}
        placeholder={timeZone}
        autocomplete="off"
        onInput={({ currentTarget: { value: text } }) =>
          onChange(text === '' && field.isNullable ? null : text)
        }
      />
      <datalist id="time-zones">
        {zones.map((name) => (
          <option key={name} value={name} />
        ))}
      </datalist>
    </Labelled>
  );
}

function Colors({ field, path, value, onChange }: FieldProps) {
  const values = isValues(value) ? value : {};
  return (
    <fieldset class="group colors">
      <legend>{field.label}</legend>
      {Object.entries(field.fields ?? {}).map(([name, { label }]) => (
        <label class="check-field" key={name}>
          <input
            type="color"
            {...useTies(`${path}.${name}`, undefined)}
            value={String(values[name] ?? '#000000')}
            onInput={(event) =>
              onChange({ ...values, [name]: event.currentTarget.value.toUpperCase() })
            }
          />
          <span>{label}</span>
        </label>
      ))}
      <Below path={path} help={undefined} />
    </fieldset>
  );
}

/** Comparisons without a target. */
const unary = new Set(['IS_EMPTY', 'NOT_EMPTY', 'IS_NULL', 'NOT_NULL']);
/** Sources that read a part of the answer, and what names the part. */
const properties: Record<string, string> = {
  JSON_BODY: 'JSONPath',
  JSON_ANSWER: 'JSONPath',
  JSON_RESPONSE: 'JSONPath',
  TEXT_BODY: 'Regular expression',
  TEXT_ANSWER: 'Regular expression',
  TEXT_RESPONSE: 'Regular expression',
  RESPONSE_DATA: 'Regular expression',
  HEADERS: 'Header',
};

function rulesOf(grammar: AssertionGrammar, { source, property }: Values) {
  const rules = grammar[String(source)];
  const names = rules?.properties ?? (rules?.byProperty && Object.keys(rules.byProperty));
  const comparisons = rules?.byProperty?.[String(property)] ?? rules?.comparisons ?? [];
  return { names, comparisons };
}

/** An assertion that follows the grammar of its source. */
function corrected(grammar: AssertionGrammar, assertion: Values): Values {
  const { names } = rulesOf(grammar, assertion);
  const property =
    names?.includes(String(assertion.property)) === false ? names[0] : assertion.property;
  const next: Values = { ...assertion, property };
  const { comparisons } = rulesOf(grammar, next);
  const isAllowed = comparisons.some((one) => one === next.comparison);
  return { ...next, comparison: isAllowed ? next.comparison : comparisons[0] };
}

interface PickProps {
  label: string;
  path: string;
  value: unknown;
  options: readonly string[];
  onPick: (value: string) => void;
}

function Pick({ label, path, value, options, onPick }: PickProps) {
  return (
    <select
      aria-label={label}
      {...useTies(path, undefined)}
      onChange={(event) => onPick(event.currentTarget.value)}
    >
      {options.map((option) => (
        <option key={option} value={option} selected={option === value}>
          {/^[A-Z_]+$/.test(option) ? inWords(option) : option}
        </option>
      ))}
    </select>
  );
}

function Typing({
  label,
  path,
  value,
  onInput,
}: {
  label: string;
  path: string;
  value: unknown;
  onInput: (value: string) => void;
}) {
  return (
    <input
      aria-label={label}
      placeholder={label}
      autocomplete="off"
      spellcheck={false}
      {...useTies(path, undefined)}
      value={String(value ?? '')}
      onInput={(event) => onInput(event.currentTarget.value)}
    />
  );
}

function Assertions({ field, path, value, onChange }: FieldProps) {
  const entries = (Array.isArray(value) ? value : []) as Values[];
  const grammar = field.item?.grammar ?? {};
  const sources = Object.keys(grammar);
  const replace = (at: number, changes: Values) =>
    onChange(entries.with(at, corrected(grammar, { ...entries[at], ...changes })));
  const add = () =>
    onChange([
      ...entries,
      corrected(grammar, { source: sources[0], comparison: 'EQUALS', property: '', target: '' }),
    ]);
  return (
    <fieldset class="group rows">
      <legend>{field.label}</legend>
      {entries.map((assertion, index) => {
        const at = `${path}.${index}`;
        const name = `Assertion ${index + 1}`;
        const source = String(assertion.source);
        const { names, comparisons } = rulesOf(grammar, assertion);
        const part = properties[source];
        return (
          <div class="row" key={index} role="group" aria-label={name}>
            <div class="row-fields inline">
              <Pick
                label="Source"
                path={`${at}.source`}
                value={source}
                options={sources}
                onPick={(picked: string) => replace(index, { source: picked, property: '' })}
              />
              {names !== undefined ? (
                <Pick
                  label="Property"
                  path={`${at}.property`}
                  value={assertion.property}
                  options={names}
                  onPick={(property: string) => replace(index, { property })}
                />
              ) : (
                part !== undefined && (
                  <Typing
                    label={part}
                    path={`${at}.property`}
                    value={assertion.property}
                    onInput={(property: string) => replace(index, { property })}
                  />
                )
              )}
              <Pick
                label="Comparison"
                path={`${at}.comparison`}
                value={assertion.comparison}
                options={comparisons}
                onPick={(comparison: string) => replace(index, { comparison })}
              />
              {!unary.has(String(assertion.comparison)) && (
                <Typing
                  label="Target"
                  path={`${at}.target`}
                  value={assertion.target}
                  onInput={(target: string) => replace(index, { target })}
                />
              )}
              {source === 'HEADERS' && (
                <Typing
                  label="Regular expression, optional"
                  path={`${at}.regex`}
                  value={assertion.regex}
                  onInput={(regex: string) =>
                    replace(index, { regex: regex === '' ? null : regex })
                  }
                />
              )}
            </div>
            <button
              type="button"
              class="plain-button"
              aria-label={`Remove ${name.toLowerCase()}`}
              onClick={() => onChange(entries.toSpliced(index, 1))}
            >
              Remove
            </button>
            {['', '.source', '.property', '.comparison', '.target', '.regex'].map((part) => (
              <Below key={part} path={at + part} help={undefined} />
            ))}
          </div>
        );
      })}
      <button type="button" disabled={entries.length >= (field.max ?? Infinity)} onClick={add}>
        Add an assertion
      </button>
      <Below path={path} help={field.help} />
    </fieldset>
  );
}

/** By name, as `form-words.ts` gives them. */
export const widgets: Record<string, ComponentType<FieldProps>> = {
  frequency: Frequency,
  group: Group,
  snippet: Snippet,
  service: Service,
  services: Services,
  privateLocations: PrivateLocations,
  dataCenterLocations: DataCenterLocations,
  subscriptions: Subscriptions,
  alertChannels: AlertChannels,
  someChecks: SomeChecks,
  someGroups: SomeGroups,
  someServices: SomeServices,
  somePages: SomePages,
  escalationPolicy: EscalationPolicy,
  day: CalendarDay,
  tags: TagsField,
  instant: Instant,
  timeZone: TimeZone,
  colors: Colors,
  code: Code,
  assertions: Assertions,
};
