/** Inputs for values that mean more than their kind says: references, schedules, assertions. */
/** @import { ComponentType } from 'preact' */
/** @import { AssertionGrammar } from '@monitor/shared/contract/assertion.ts' */
/** @import { FieldProps, Typed } from './labelled.js' */
/** @import { Values } from './values.js' */
import { call, toProblem } from '../api.js';
import { html, useState } from '../dom.js';
import { dataCenterLocations } from '../form-facts.js';
import { inWords, span } from '../format.js';
import { wordsOf } from '../parts/notices.js';
import { useQuery } from '../query.js';
import { link } from '../router.js';
import { Code } from './code.js';
import { useForm } from './context.js';
import { NextRuns } from './next-runs.js';
import { Below, Labelled, useTies } from './labelled.js';
import { isSame, isValues } from './values.js';

/** @typedef {{ value: string | number, word: string, note?: string }} Option */

/** Periods of checks within a minute, in seconds. */
const withinMinute = [10, 20, 30];

/**
 * Minutes, or for less than one the seconds in `frequencyOffset`.
 * @param {FieldProps} props
 */
function Frequency({ field, path, value }) {
  const { values, change } = useForm();
  const minutes = (field.options ?? []).filter((one) => one !== 0);
  const hasSeconds = field.options?.includes(0) === true;
  const current = value === 0 ? `${values.frequencyOffset} s` : String(value);
  const onPick = (/** @type {Typed} */ { currentTarget: { value: picked } }) => {
    const seconds = /^(\d+) s$/.exec(picked)?.[1];
    if (seconds === undefined) {
      change({ frequency: Number(picked), ...(value === 0 && { frequencyOffset: undefined }) });
    } else {
      change({ frequency: 0, frequencyOffset: Number(seconds) });
    }
  };
  return html`<${Labelled} path=${path} label=${field.label} field=${{ ...field, help: undefined, isRequired: true }}>
    <select ...${useTies(path, undefined)} onChange=${onPick}>
      ${
        hasSeconds &&
        withinMinute.map(
          (seconds) =>
            html`<option
              key=${seconds}
              value=${`${seconds} s`}
              selected=${current === `${seconds} s`}
            >
              ${seconds} s
            </option>`,
        )
      }
      ${minutes.map(
        (one) =>
          html`<option key=${one} value=${String(one)} selected=${current === String(one)}>
            ${span(Number(one) * 60_000)}
          </option>`,
      )}
    </select>
    <${NextRuns} />
  <//>`;
}

/**
 * One of the entries of another list, or none.
 * @param {FieldProps & { options: Option[] | undefined }} props
 */
function Reference({ field, path, value, onChange, options = [] }) {
  const isKnown = value == null || options.some((option) => option.value === value);
  const all = isKnown ? options : [...options, { value: String(value), word: String(value) }];
  return html`<${Labelled} path=${path} label=${field.label} field=${field}>
    <select
      ...${useTies(path, field.help)}
      onChange=${(/** @type {Typed} */ { currentTarget: { value: text } }) =>
        onChange(options.find((option) => String(option.value) === text)?.value ?? null)}
    >
      <option value="" selected=${value == null || value === ''}>none</option>
      ${all.map(
        (option) =>
          html`<option
            key=${option.value}
            value=${String(option.value)}
            selected=${option.value === value}
          >
            ${option.word}
          </option>`,
      )}
    </select>
  <//>`;
}

const many = { query: { limit: 100 } };

/** @param {FieldProps} props */
function Group(props) {
  const { data } = useQuery('v1/check-groups', many);
  return html`<${Reference} ...${props} options=${data?.map(({ id, name }) => ({ value: id, word: name }))} />`;
}

/** @param {FieldProps} props */
function Snippet(props) {
  const { data } = useQuery('v1/snippets', many);
  return html`<${Reference} ...${props} options=${data?.map(({ id, name }) => ({ value: id, word: name }))} />`;
}

/**
 * The words of a text with commas between them.
 * @param {string} text
 */
function wordsIn(text) {
  return text
    .split(',')
    .map((word) => word.trim())
    .filter((word) => word !== '');
}

const isSameOption =
  (/** @type {Option} */ { value }) =>
  (/** @type {Option} */ other) =>
    other.value === value;

function useServices() {
  const { data } = useQuery('v1/status-pages/services', { query: { paginated: false } });
  return data?.entries.map(({ id, name }) => ({ value: id, word: name }));
}

/** @param {FieldProps} props */
function Service(props) {
  return html`<${Reference} ...${props} options=${useServices()} />`;
}

/**
 * Some of a few options, each a checkbox.
 * @param {FieldProps & {
 *   options: Option[] | undefined,
 *   picked: (string | number)[],
 *   onPick: (picked: (string | number)[]) => void,
 *   none?: unknown,
 * }} props
 */
function Several({ field, path, options, picked, onPick, none, label = field.label }) {
  const unknown = picked.filter((one) => !options?.some(({ value }) => value === one));
  const all = [
    ...(options ?? []),
    ...(options === undefined
      ? []
      : unknown.map((one) => ({ value: one, word: `${one}`, note: 'gone' }))),
  ];
  return html`<fieldset class="group" ...${useTies(path, field.help)}>
    <legend>${label}</legend>
    ${all.map(
      ({ value, word, note }) =>
        html`<label class="check-field" key=${value}
          ><input
            type="checkbox"
            checked=${picked.includes(value)}
            onChange=${(/** @type {Typed} */ event) =>
              onPick(
                event.currentTarget.checked
                  ? [...picked, value]
                  : picked.filter((one) => one !== value),
              )}
          /><span>${word}${note !== undefined && html` <span class="muted">${note}</span>`}</span></label
        >`,
    )}
    ${options?.length === 0 && unknown.length === 0 && none}
    <${Below} path=${path} help=${field.help} />
  </fieldset>`;
}

/**
 * @param {unknown} value
 * @returns {string[]}
 */
function textsOf(value) {
  return Array.isArray(value) ? value.map(String) : [];
}

/** @param {FieldProps} props */
function PrivateLocations(props) {
  const { data } = useQuery('v1/private-locations');
  return html`<${Several}
    ...${props}
    options=${data?.map(({ slugName, name, agentCount }) => ({
      value: slugName,
      word: name,
      ...(agentCount === 0 && { note: 'without an agent' }),
    }))}
    picked=${textsOf(props.value)}
    onPick=${props.onChange}
    none=${html`<p class="muted">
      There is none. <a href=${link('new', 'location')}>Create one</a>, then start an agent for it.
    </p>`}
  />`;
}

/** @param {FieldProps} props */
function DataCenterLocations(props) {
  const picked = textsOf(props.value);
  return html`<details open=${picked.length > 0}>
    <summary>${props.field.label}</summary>
    <${Several}
      ...${props}
      options=${Object.entries(dataCenterLocations).map(([value, word]) => ({ value, word, note: value }))}
      picked=${picked}
      onPick=${props.onChange}
    />
  </details>`;
}

function useChannels() {
  const { data } = useQuery('v1/alert-channels', many);
  return data?.map(({ id, type, config }) => ({
    value: id,
    word: `${inWords(type)}: ${config.address ?? config.name ?? config.channel ?? config.serviceName ?? id}`,
  }));
}

const noChannel = html`<p class="muted">
  There is none: nobody is notified. <a href=${link('new', 'channel')}>Create one</a>.
</p>`;

/** @param {FieldProps} props */
function AlertChannels(props) {
  return html`<${Several}
    ...${props}
    options=${useChannels()}
    picked=${Array.isArray(props.value) ? props.value : []}
    onPick=${props.onChange}
    none=${noChannel}
  />`;
}

/** @param {FieldProps} props */
function EscalationPolicy(props) {
  const { data } = useQuery('v1/escalation-policies', many);
  return html`<${Reference} ...${props} options=${data?.map(({ id, name }) => ({ value: id, word: name }))} />`;
}

/** @param {FieldProps} props */
function CalendarDay({ field, path, value, onChange }) {
  return html`<${Labelled} path=${path} label=${field.label} field=${field}>
    <input
      type="date"
      ...${useTies(path, field.help)}
      value=${value ?? ''}
      onInput=${(/** @type {Typed} */ { currentTarget: { value: text } }) => onChange(text)}
    />
  <//>`;
}

/** @param {FieldProps} props */
function Subscriptions(props) {
  const options = useChannels();
  const given = /** @type {{ alertChannelId: number, activated: boolean }[]} */ (
    Array.isArray(props.value) ? props.value : []
  );
  return html`<${Several}
    ...${props}
    options=${options}
    picked=${given.filter(({ activated }) => activated).map(({ alertChannelId }) => alertChannelId)}
    onPick=${(/** @type {number[]} */ picked) =>
      props.onChange([
        ...given.map((one) => ({ ...one, activated: picked.includes(one.alertChannelId) })),
        ...picked
          .filter((id) => !given.some(({ alertChannelId }) => alertChannelId === id))
          .map((id) => ({ alertChannelId: id, activated: true })),
      ])}
    none=${noChannel}
  />`;
}

/** @param {FieldProps} props */
function Services(props) {
  const options = useServices();
  const [made, setMade] = useState(/** @type {Option[]} */ ([]));
  const [typed, setTyped] = useState('');
  const [problem, setProblem] = useState('');
  const given = /** @type {{ id: string }[]} */ (Array.isArray(props.value) ? props.value : []);
  const picked = given.map(({ id }) => id);
  const pick = (/** @type {string[]} */ ids) =>
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
  const onKeyDown = (/** @type {KeyboardEvent} */ event) => {
    if (event.key !== 'Enter') return;
    // The form stays: Enter here ends the names.
    event.preventDefault();
    void create();
  };
  return html`<${Several}
      ...${props}
      field=${{ ...props.field, help: undefined }}
      options=${options && known}
      picked=${picked}
      onPick=${pick}
    />
    <div class="actions">
      <input
        aria-label="New services"
        aria-description="Names with commas between them"
        placeholder="New services: Shop, Checkout, Search"
        value=${typed}
        onInput=${(/** @type {Typed} */ { currentTarget: { value } }) => setTyped(value)}
        onKeyDown=${onKeyDown}
      />
      <button type="button" disabled=${wordsIn(typed).length === 0} onClick=${create}>
        Add services
      </button>
    </div>
    <p class="bad" role="alert">${problem}</p>`;
}

/**
 * Words with commas between them.
 * @param {FieldProps} props
 */
function TagsField({ field, path, value, onChange }) {
  const [typed, setTyped] = useState(textsOf(value).join(', '));
  // Spaces and commas stay while somebody types; tags from another place replace them.
  const text = isSame(wordsIn(typed), textsOf(value)) ? typed : textsOf(value).join(', ');
  const onInput = (/** @type {Typed} */ { currentTarget: { value: next } }) => {
    setTyped(next);
    onChange(wordsIn(next));
  };
  return html`<${Labelled} path=${path} label=${field.label} field=${field}>
    <input
      ...${useTies(path, field.help)}
      value=${text}
      placeholder="with commas between them"
      autocomplete="off"
      onInput=${onInput}
    />
  <//>`;
}

/**
 * `2026-11-23T20:15` in the time zone of the browser.
 * @param {unknown} value
 */
function localTime(value) {
  const instant = Date.parse(String(value));
  if (value == null || Number.isNaN(instant)) return '';
  const shifted = instant - new Date(instant).getTimezoneOffset() * 60_000;
  return new Date(shifted).toISOString().slice(0, 16);
}

/** @param {FieldProps} props */
function Instant({ field, path, value, onChange }) {
  const { timeZone } = Intl.DateTimeFormat().resolvedOptions();
  const help = `Your time (${timeZone})`;
  return html`<${Labelled} path=${path} label=${field.label} field=${{ ...field, help }}>
    <input
      type="datetime-local"
      ...${useTies(path, help)}
      value=${localTime(value)}
      onInput=${(/** @type {Typed} */ { currentTarget: { value: text } }) => {
        const instant = Date.parse(text);
        if (!Number.isNaN(instant)) onChange(new Date(instant).toISOString());
        else onChange(field.isNullable ? null : '');
      }}
    />
  <//>`;
}

/** @param {FieldProps} props */
function TimeZone({ field, path, value, onChange }) {
  const { timeZone } = Intl.DateTimeFormat().resolvedOptions();
  const { help } = field;
  return html`<${Labelled} path=${path} label=${field.label} field=${field}>
    <input
      list="time-zones"
      ...${useTies(path, help)}
      value=${value ?? ''}
      placeholder=${timeZone}
      autocomplete="off"
      onInput=${(/** @type {Typed} */ { currentTarget: { value: text } }) =>
        onChange(text === '' && field.isNullable ? null : text)}
    />
    <datalist id="time-zones">
      ${Intl.supportedValuesOf('timeZone').map((name) => html`<option key=${name} value=${name} />`)}
    </datalist>
  <//>`;
}

/** @param {FieldProps} props */
function Colors({ field, path, value, onChange }) {
  const values = isValues(value) ? value : {};
  return html`<fieldset class="group colors">
    <legend>${field.label}</legend>
    ${Object.entries(field.fields ?? {}).map(
      ([name, { label }]) =>
        html`<label class="check-field" key=${name}
          ><input
            type="color"
            ...${useTies(`${path}.${name}`, undefined)}
            value=${values[name] ?? '#000000'}
            onInput=${(/** @type {Typed} */ event) =>
              onChange({ ...values, [name]: event.currentTarget.value.toUpperCase() })}
          /><span>${label}</span></label
        >`,
    )}
    <${Below} path=${path} help=${undefined} />
  </fieldset>`;
}

/** Comparisons without a target. */
const unary = new Set(['IS_EMPTY', 'NOT_EMPTY', 'IS_NULL', 'NOT_NULL']);
/** Sources that read a part of the answer, and what names the part. @type {Record<string, string>} */
const properties = {
  JSON_BODY: 'JSONPath',
  JSON_ANSWER: 'JSONPath',
  JSON_RESPONSE: 'JSONPath',
  TEXT_BODY: 'Regular expression',
  TEXT_ANSWER: 'Regular expression',
  TEXT_RESPONSE: 'Regular expression',
  RESPONSE_DATA: 'Regular expression',
  HEADERS: 'Header',
};

/**
 * @param {AssertionGrammar} grammar
 * @param {Values} assertion
 */
function rulesOf(grammar, { source, property }) {
  const rules = grammar[String(source)];
  const names = rules?.properties ?? (rules?.byProperty && Object.keys(rules.byProperty));
  const comparisons = rules?.byProperty?.[String(property)] ?? rules?.comparisons ?? [];
  return { names, comparisons };
}

/**
 * An assertion that follows the grammar of its source.
 * @param {AssertionGrammar} grammar
 * @param {Values} assertion
 * @returns {Values}
 */
function corrected(grammar, assertion) {
  const { names } = rulesOf(grammar, assertion);
  const property =
    names?.includes(String(assertion.property)) === false ? names[0] : assertion.property;
  /** @type {Values} */
  const next = { ...assertion, property };
  const { comparisons } = rulesOf(grammar, next);
  const isAllowed = comparisons.some((one) => one === next.comparison);
  return { ...next, comparison: isAllowed ? next.comparison : comparisons[0] };
}

/**
 * @param {{
 *   label: string,
 *   path: string,
 *   value: unknown,
 *   options: readonly string[],
 *   onPick: (value: string) => void,
 * }} props
 */
function Pick({ label, path, value, options, onPick }) {
  return html`<select
    aria-label=${label}
    ...${useTies(path, undefined)}
    onChange=${(/** @type {Typed} */ event) => onPick(event.currentTarget.value)}
  >
    ${options.map(
      (option) =>
        html`<option key=${option} value=${option} selected=${option === value}>
          ${/^[A-Z_]+$/.test(option) ? inWords(option) : option}
        </option>`,
    )}
  </select>`;
}

/**
 * @param {{ label: string, path: string, value: unknown, onInput: (value: string) => void }} props
 */
function Typing({ label, path, value, onInput }) {
  return html`<input
    aria-label=${label}
    placeholder=${label}
    autocomplete="off"
    spellcheck="false"
    ...${useTies(path, undefined)}
    value=${value ?? ''}
    onInput=${(/** @type {Typed} */ event) => onInput(event.currentTarget.value)}
  />`;
}

/** @param {FieldProps} props */
function Assertions({ field, path, value, onChange }) {
  const entries = /** @type {Values[]} */ (Array.isArray(value) ? value : []);
  const grammar = field.item?.grammar ?? {};
  const sources = Object.keys(grammar);
  const replace = (/** @type {number} */ at, /** @type {Values} */ changes) =>
    onChange(entries.with(at, corrected(grammar, { ...entries[at], ...changes })));
  const add = () =>
    onChange([
      ...entries,
      corrected(grammar, { source: sources[0], comparison: 'EQUALS', property: '', target: '' }),
    ]);
  return html`<fieldset class="group rows">
    <legend>${field.label}</legend>
    ${entries.map((assertion, index) => {
      const at = `${path}.${index}`;
      const name = `Assertion ${index + 1}`;
      const source = String(assertion.source);
      const { names, comparisons } = rulesOf(grammar, assertion);
      const part = properties[source];
      return html`<div class="row" key=${index} role="group" aria-label=${name}>
        <div class="row-fields inline">
          <${Pick}
            label="Source"
            path=${`${at}.source`}
            value=${source}
            options=${sources}
            onPick=${(/** @type {string} */ picked) => replace(index, { source: picked, property: '' })}
          />
          ${
            names !== undefined
              ? html`<${Pick}
                  label="Property"
                  path=${`${at}.property`}
                  value=${assertion.property}
                  options=${names}
                  onPick=${(/** @type {string} */ property) => replace(index, { property })}
                />`
              : part !== undefined &&
                html`<${Typing}
                  label=${part}
                  path=${`${at}.property`}
                  value=${assertion.property}
                  onInput=${(/** @type {string} */ property) => replace(index, { property })}
                />`
          }
          <${Pick}
            label="Comparison"
            path=${`${at}.comparison`}
            value=${assertion.comparison}
            options=${comparisons}
            onPick=${(/** @type {string} */ comparison) => replace(index, { comparison })}
          />
          ${
            !unary.has(String(assertion.comparison)) &&
            html`<${Typing}
              label="Target"
              path=${`${at}.target`}
              value=${assertion.target}
              onInput=${(/** @type {string} */ target) => replace(index, { target })}
            />`
          }
          ${
            source === 'HEADERS' &&
            html`<${Typing}
              label="Regular expression, optional"
              path=${`${at}.regex`}
              value=${assertion.regex}
              onInput=${(/** @type {string} */ regex) => replace(index, { regex: regex === '' ? null : regex })}
            />`
          }
        </div>
        <button
          type="button"
          class="plain-button"
          aria-label=${`Remove ${name.toLowerCase()}`}
          onClick=${() => onChange(entries.toSpliced(index, 1))}
        >
          Remove
        </button>
        ${['', '.source', '.property', '.comparison', '.target', '.regex'].map(
          (part) => html`<${Below} key=${part} path=${at + part} help=${undefined} />`,
        )}
      </div>`;
    })}
    <button type="button" disabled=${entries.length >= (field.max ?? Infinity)} onClick=${add}>
      Add an assertion
    </button>
    <${Below} path=${path} help=${field.help} />
  </fieldset>`;
}

/** By name, as `form-words.ts` gives them. @type {Record<string, ComponentType<FieldProps>>} */
export const widgets = {
  frequency: Frequency,
  group: Group,
  snippet: Snippet,
  service: Service,
  services: Services,
  privateLocations: PrivateLocations,
  dataCenterLocations: DataCenterLocations,
  subscriptions: Subscriptions,
  alertChannels: AlertChannels,
  escalationPolicy: EscalationPolicy,
  day: CalendarDay,
  tags: TagsField,
  instant: Instant,
  timeZone: TimeZone,
  colors: Colors,
  code: Code,
  assertions: Assertions,
};
