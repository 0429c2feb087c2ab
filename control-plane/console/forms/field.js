/** Fields of forms, from their descriptions: an input each, with its label, help and problem. */
/** @import { ComponentType } from 'preact' */
/** @import { Field as FieldFacts } from '../form-facts.ts' */
/** @import { FieldProps, Typed } from './labelled.js' */
/** @import { Values } from './values.js' */
import { html } from '../dom.js';
import { inWords } from '../format.js';
import { isAsked } from './conditions.js';
import { schemaPath, useForm } from './context.js';
import { Below, Labelled, useTies } from './labelled.js';
import { initialOf, isValues } from './values.js';
import { widgets } from './widgets.js';

const manyCharacters = 3000;

/** @param {FieldProps} props */
function TextField({ field, path, value, onChange, label = field.label }) {
  const { min, max, isNullable, widget, help, example } = field;
  const ties = useTies(path, help);
  const isLong = widget === 'long' || (max ?? 0) > manyCharacters;
  const onInput = (/** @type {Typed} */ { currentTarget: { value: text } }) =>
    onChange(text === '' && isNullable ? null : text);
  const shared = {
    ...ties,
    value: value ?? '',
    maxlength: max,
    required: (min ?? 0) > 0 && field.isRequired,
    placeholder: example,
    spellcheck: isLong && widget === 'long',
    autocomplete: 'off',
    onInput,
  };
  return html`<${Labelled} path=${path} label=${label} field=${field}>
    ${
      isLong && widget !== 'text'
        ? html`<textarea rows=${String(value ?? '').length > 200 ? 8 : 3} ...${shared}></textarea>`
        : html`<input
            type=${widget === 'secret' ? 'password' : 'text'}
            ...${shared}
            autocomplete=${widget === 'secret' ? 'new-password' : 'off'}
          />`
    }
  <//>`;
}

/** @param {FieldProps} props */
function NumberField({ field, path, value, onChange, label = field.label }) {
  const { min, max, isWhole, help, isNullable } = field;
  const ties = useTies(path, help);
  const onInput = (/** @type {Typed} */ { currentTarget: { value: text } }) => {
    if (text === '') onChange(isNullable ? null : undefined);
    else onChange(Number.isFinite(Number(text)) ? Number(text) : text);
  };
  return html`<${Labelled} path=${path} label=${label} field=${field}>
    <input
      type="number"
      inputmode="decimal"
      ...${ties}
      min=${min}
      max=${max}
      step=${isWhole ? 1 : 'any'}
      value=${value ?? ''}
      placeholder=${isNullable ? 'none' : undefined}
      onInput=${onInput}
    />
  <//>`;
}

/** @param {FieldProps} props */
function FlagField({ field, path, value, onChange, label = field.label }) {
  return html`<div class="field block">
    <label class="check-field"
      ><input
        type="checkbox"
        ...${useTies(path, field.help)}
        checked=${value === true}
        onChange=${(/** @type {Typed} */ event) => onChange(event.currentTarget.checked)}
      /><span>${label}</span></label
    >
    <${Below} path=${path} help=${field.help} />
  </div>`;
}

/**
 * Constants in words; numbers and names as they are.
 * @param {string | number} option
 */
function wordOf(option) {
  return typeof option === 'string' && /^[A-Z_]{2,}$/.test(option) ? inWords(option) : option;
}

/** @param {FieldProps} props */
function ChoiceField({ field, path, value, onChange, label = field.label }) {
  const { options = [], isNullable, isRequired } = field;
  const isOpen = isNullable || (!isRequired && field.initial === undefined);
  const onPick = (/** @type {Typed} */ { currentTarget: { value: text } }) => {
    const option = options.find((one) => String(one) === text);
    onChange(option ?? (isNullable ? null : undefined));
  };
  return html`<${Labelled} path=${path} label=${label} field=${{ ...field, isRequired: true }}>
    <select ...${useTies(path, field.help)} value=${String(value ?? '')} onChange=${onPick}>
      ${isOpen && html`<option value="" selected=${value == null}>none</option>`}
      ${options.map(
        (option) =>
          html`<option key=${option} value=${String(option)} selected=${option === value}>
            ${field.isVerbatim ? option : wordOf(option)}
          </option>`,
      )}
    </select>
  <//>`;
}

/**
 * The fields of a group, one below the other.
 * @param {{ fields: Record<string, FieldFacts>, path: string, values: Values, onChange: (values: Values) => void }} props
 */
export function Fields({ fields, path, values, onChange }) {
  const { values: whole, hasIssueBelow } = useForm();
  const at = (/** @type {string} */ name) => (path === '' ? name : `${path}.${name}`);
  const asked = Object.keys(fields).filter((name) => isAsked(schemaPath(at(name)), values, whole));
  const folded = asked.filter((name) => fields[name]?.isFolded === true);
  const show = (/** @type {string[]} */ names) =>
    names.map(
      (name) =>
        html`<${Field}
          key=${name}
          field=${fields[name]}
          path=${at(name)}
          value=${values[name]}
          onChange=${(/** @type {unknown} */ value) => onChange({ ...values, [name]: value })}
        />`,
    );
  return html`${show(asked.filter((name) => !folded.includes(name)))}
  ${
    folded.length > 0 &&
    html`<details open=${folded.some((name) => hasIssueBelow(at(name))) || undefined}>
      <summary>More of it</summary>
      <div class="folded">${show(folded)}</div>
    </details>`
  }`;
}

/**
 * A group that may be absent is switched on and off; some have words for "as another place has it".
 * @param {FieldProps} props
 */
function GroupField({ field, path, value, onChange, label = field.label }) {
  const { fields = {}, isNullable, isRequired, words = [] } = field;
  const isOff = !isValues(value);
  const isSwitched = isNullable || words.length > 0 || (!isRequired && isOff);
  const body =
    !isOff &&
    html`<${Fields} fields=${fields} path=${path} values=${value} onChange=${onChange} />`;
  if (label === '') return html`${body}<${Below} path=${path} help=${field.help} />`;
  const switched = (/** @type {Typed} */ { currentTarget: { value: state } }) => {
    if (state === 'own') onChange(initialOf(field, { isOn: true }));
    else onChange(words.includes(state) ? state : isNullable ? null : undefined);
  };
  return html`<fieldset class="group">
    <legend>${label}</legend>
    ${
      isSwitched &&
      html`<label class="field"
        ><span class="sr-only">${label}</span
        ><select ...${useTies(path, undefined)} onChange=${switched}>
          ${words.map(
            (word) =>
              html`<option key=${word} value=${word} selected=${value === word}>
                ${word === 'FALLBACK' ? 'as each check has it' : inWords(word)}
              </option>`,
          )}
          <option value="off" selected=${value == null}>none</option>
          <option value="own" selected=${!isOff}>as follows</option>
        </select></label
      >`
    }
    ${body}
    <${Below} path=${path} help=${field.help} />
  </fieldset>`;
}

/** @param {FieldProps} props */
function VariantField({ field, path, value, onChange }) {
  const { values } = useForm();
  const fields = field.variants?.[String(values[field.by ?? ''])] ?? {};
  return html`<${Fields}
    fields=${fields}
    path=${path}
    values=${isValues(value) ? value : {}}
    onChange=${onChange}
  />`;
}

/** @param {FieldProps} props */
function ListField({ field, path, value, onChange, label = field.label }) {
  const entries = /** @type {unknown[]} */ (Array.isArray(value) ? value : []);
  const { item } = field;
  if (item === undefined) return null;
  const replace = (/** @type {number} */ at, /** @type {unknown} */ entry) =>
    onChange(entries.with(at, entry));
  const isOne = field.max === 1 || (path === 'incidentUpdates' && entries.length === 1);
  return html`<fieldset class="group rows">
    <legend>${label}</legend>
    ${entries.map(
      (entry, index) =>
        html`<div class="row" key=${index}>
          <div class="row-fields" role="group" aria-label=${`${label}, ${index + 1}`}>
            <${Field}
              field=${item.kind === 'group' ? { ...item, label: '' } : item}
              label=${item.kind === 'group' ? '' : `${label}, ${index + 1}`}
              path=${`${path}.${index}`}
              value=${entry}
              onChange=${(/** @type {unknown} */ next) => replace(index, next)}
            />
          </div>
          ${
            !isOne &&
            html`<button
              type="button"
              class="plain-button"
              aria-label=${`Remove ${label}, ${index + 1}`}
              onClick=${() => onChange(entries.toSpliced(index, 1))}
            >
              Remove
            </button>`
          }
        </div>`,
    )}
    ${
      !isOne &&
      html`<button
        type="button"
        disabled=${entries.length >= (field.max ?? Infinity)}
        onClick=${() => onChange([...entries, initialOf(item, { isOn: true })])}
      >
        Add
      </button>`
    }
    <${Below} path=${path} help=${field.help} />
  </fieldset>`;
}

/**
 * What has no fields of its own is asked for as JSON.
 * @param {FieldProps} props
 */
function JsonField({ field, path, value, onChange, label = field.label }) {
  const onInput = (/** @type {Typed} */ { currentTarget: { value: text } }) => {
    try {
      onChange(text.trim() === '' ? null : JSON.parse(text));
    } catch {
      // The server says where it is wrong.
      onChange(text);
    }
  };
  const text = typeof value === 'string' ? value : JSON.stringify(value ?? null, null, 2);
  return html`<${Labelled} path=${path} label=${label} field=${field}>
    <textarea
      class="mono"
      rows="4"
      spellcheck="false"
      ...${useTies(path, field.help)}
      value=${text}
      onInput=${onInput}
    ></textarea>
  <//>`;
}

/** @type {Record<FieldFacts['kind'], ComponentType<FieldProps>>} */
const byKind = {
  text: TextField,
  number: NumberField,
  flag: FlagField,
  choice: ChoiceField,
  group: GroupField,
  variant: VariantField,
  list: ListField,
  json: JsonField,
};

/** @param {FieldProps} props */
export function Field(props) {
  const { kind, widget } = props.field;
  const view = (widget !== undefined && widgets[widget]) || byKind[kind];
  return html`<${view} ...${props} />`;
}
