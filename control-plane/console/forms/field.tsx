/** Fields of forms, from their descriptions: an input each, with its label, help and problem. */
import type { ComponentType } from 'preact';
import type { Field as FieldFacts } from '../form-facts.ts';
import { inWords } from '../format.ts';
import { isAsked } from './conditions.ts';
import { schemaPath, useForm } from './context.ts';
import { Below, Labelled, useTies, type FieldProps, type Typed } from './labelled.tsx';
import { initialOf, isValues, type Values } from './values.ts';
import { widgets } from './widgets.tsx';

const manyCharacters = 3000;

function TextField({ field, path, value, onChange, label = field.label }: FieldProps) {
  const { min, max, isNullable, widget, help, example } = field;
  const ties = useTies(path, help);
  const isLong = widget === 'long' || (max ?? 0) > manyCharacters;
  const onInput = ({ currentTarget: { value: text } }: Typed) =>
    onChange(text === '' && isNullable ? null : text);
  const shared = {
    ...ties,
    value: String(value ?? ''),
    maxlength: max,
    required: (min ?? 0) > 0 && field.isRequired,
    placeholder: example,
    spellcheck: isLong && widget === 'long',
    autocomplete: 'off',
    onInput,
  };
  return (
    <Labelled path={path} label={label} field={field}>
      {isLong && widget !== 'text' ? (
        <textarea rows={String(value ?? '').length > 200 ? 8 : 3} {...shared} />
      ) : (
        <input
          type={widget === 'secret' ? 'password' : 'text'}
          {...shared}
          autocomplete={widget === 'secret' ? 'new-password' : 'off'}
        />
      )}
    </Labelled>
  );
}

function NumberField({ field, path, value, onChange, label = field.label }: FieldProps) {
  const { min, max, isWhole, help, isNullable } = field;
  const ties = useTies(path, help);
  const onInput = ({ currentTarget: { value: text } }: Typed) => {
    if (text === '') onChange(isNullable ? null : undefined);
    else onChange(Number.isFinite(Number(text)) ? Number(text) : text);
  };
  return (
    <Labelled path={path} label={label} field={field} kind="narrow">
      <input
        type="number"
        inputmode="decimal"
        {...ties}
        min={min}
        max={max}
        step={isWhole ? 1 : 'any'}
        value={String(value ?? '')}
        placeholder={isNullable ? 'Off' : undefined}
        onInput={onInput}
      />
    </Labelled>
  );
}

function FlagField({ field, path, value, onChange, label = field.label }: FieldProps) {
  return (
    <div class="field block">
      <label class="check-field">
        <input
          type="checkbox"
          {...useTies(path, field.help)}
          checked={value === true}
          onChange={(event) => onChange(event.currentTarget.checked)}
        />
        <span>{label}</span>
      </label>
      <Below path={path} help={field.help} />
    </div>
  );
}

/** Constants in words; numbers and names as they are. */
function wordOf(option: string | number, { isVerbatim = false, optionWords }: FieldFacts) {
  const word = optionWords?.[option];
  if (word !== undefined || isVerbatim) return word ?? option;
  return typeof option === 'string' && /^[A-Z_]{2,}$/.test(option) ? inWords(option) : option;
}

function ChoiceField({ field, path, value, onChange, label = field.label }: FieldProps) {
  const { options = [], isNullable, isRequired } = field;
  const isOpen = isNullable || (!isRequired && field.initial === undefined);
  const onPick = ({ currentTarget: { value: text } }: Typed) => {
    const option = options.find((one) => String(one) === text);
    onChange(option ?? (isNullable ? null : undefined));
  };
  return (
    <Labelled path={path} label={label} field={{ ...field, isRequired: true }} kind="narrow">
      <select {...useTies(path, field.help)} value={String(value ?? '')} onChange={onPick}>
        {isOpen && (
          <option value="" selected={value == null}>
            Off
          </option>
        )}
        {options.map((option) => (
          <option key={option} value={String(option)} selected={option === value}>
            {wordOf(option, field)}
          </option>
        ))}
      </select>
    </Labelled>
  );
}

/** The fields of a group, one below the other. */
export function Fields({
  fields,
  path,
  values,
  onChange,
}: {
  fields: Record<string, FieldFacts>;
  path: string;
  values: Values;
  onChange: (values: Values) => void;
}) {
  const { values: whole, hasIssueBelow } = useForm();
  const at = (name: string) => (path === '' ? name : `${path}.${name}`);
  const asked = Object.keys(fields).filter((name) => isAsked(schemaPath(at(name)), values, whole));
  const folded = asked.filter((name) => fields[name]?.isFolded === true);
  const show = (names: string[]) =>
    names.map((name) => {
      const field = fields[name];
      return (
        field && (
          <Field
            key={name}
            field={field}
            path={at(name)}
            value={values[name]}
            onChange={(value) => onChange({ ...values, [name]: value })}
          />
        )
      );
    });
  return (
    <>
      {show(asked.filter((name) => !folded.includes(name)))}
      {folded.length > 0 && (
        <details open={folded.some((name) => hasIssueBelow(at(name))) || undefined}>
          <summary>Advanced</summary>
          <div class="folded">{show(folded)}</div>
        </details>
      )}
    </>
  );
}

/**
 * A group that may be absent is switched on and off; some have words for "as another place has it".
 */
function GroupField({ field, path, value, onChange, label = field.label }: FieldProps) {
  const { fields = {}, isNullable, isRequired, words = [] } = field;
  const isOff = !isValues(value);
  const isSwitched = isNullable || words.length > 0 || (!isRequired && isOff);
  const own = isOff && label === '' ? (initialOf(field, { isOn: true }) as Values) : value;
  const body = isValues(own) && (
    <Fields fields={fields} path={path} values={own} onChange={onChange} />
  );
  if (label === '')
    return (
      <>
        {body}
        <Below path={path} help={field.help} />
      </>
    );
  const switched = ({ currentTarget: { value: state } }: Typed) => {
    if (state === 'own') onChange(initialOf(field, { isOn: true }));
    else onChange(words.includes(state) ? state : isNullable ? null : undefined);
  };
  return (
    <fieldset class="group">
      <legend>{label}</legend>
      {isSwitched && (
        <label class="field">
          <span class="sr-only">{label}</span>
          <select {...useTies(path, undefined)} onChange={switched}>
            {words.map((word) => (
              <option key={word} value={word} selected={value === word}>
                {word === 'FALLBACK' ? "Use the monitor's settings" : inWords(word)}
              </option>
            ))}
            <option value="off" selected={value == null}>
              Off
            </option>
            <option value="own" selected={!isOff}>
              Custom
            </option>
          </select>
        </label>
      )}
      {body}
      <Below path={path} help={field.help} />
    </fieldset>
  );
}

function VariantField({ field, path, value, onChange }: FieldProps) {
  const { values } = useForm();
  const fields = field.variants?.[String(values[field.by ?? ''])] ?? {};
  return (
    <Fields fields={fields} path={path} values={isValues(value) ? value : {}} onChange={onChange} />
  );
}

function ListField({ field, path, value, onChange, label = field.label }: FieldProps) {
  const entries = (Array.isArray(value) ? value : []) as unknown[];
  const { item } = field;
  if (item === undefined) return null;
  const replace = (at: number, entry: unknown) => onChange(entries.with(at, entry));
  const isOne = field.max === 1 || (path === 'incidentUpdates' && entries.length === 1);
  const isTall = Object.values(item.fields ?? {}).some(({ kind }) => kind === 'list');
  return (
    <fieldset class="group rows">
      <legend>{label}</legend>
      {entries.map((entry, index) => (
        <div class="row" key={index}>
          <div class="row-fields" role="group" aria-label={`${label}, ${index + 1}`}>
            {isTall && field.entry !== undefined && (
              <strong>{inWords(`${field.entry} ${index + 1}`)}</strong>
            )}
            <Field
              field={item.kind === 'group' ? { ...item, label: '' } : item}
              label={item.kind === 'group' ? '' : `${label}, ${index + 1}`}
              path={`${path}.${index}`}
              value={entry}
              onChange={(next) => replace(index, next)}
            />
          </div>
          {!isOne && (
            <button
              type="button"
              class="plain-button"
              aria-label={`Remove ${label}, ${index + 1}`}
              onClick={() => onChange(entries.toSpliced(index, 1))}
            >
              Remove
            </button>
          )}
        </div>
      ))}
      {!isOne && (
        <button
          type="button"
          disabled={entries.length >= (field.max ?? Infinity)}
          onClick={() => onChange([...entries, initialOf(item, { isOn: true })])}
        >
          {field.entry === undefined ? 'Add' : `Add ${field.entry}`}
        </button>
      )}
      <Below path={path} help={field.help} />
    </fieldset>
  );
}

/** What has no fields of its own is asked for as JSON. */
function JsonField({ field, path, value, onChange, label = field.label }: FieldProps) {
  const onInput = ({ currentTarget: { value: text } }: Typed) => {
    try {
      onChange(text.trim() === '' ? null : JSON.parse(text));
    } catch {
      // The server says where it is wrong.
      onChange(text);
    }
  };
  const text = typeof value === 'string' ? value : JSON.stringify(value ?? null, null, 2);
  return (
    <Labelled path={path} label={label} field={field}>
      <textarea
        class="mono"
        rows={4}
        spellcheck={false}
        {...useTies(path, field.help)}
        value={text}
        onInput={onInput}
      />
    </Labelled>
  );
}

const byKind: Record<FieldFacts['kind'], ComponentType<FieldProps>> = {
  text: TextField,
  number: NumberField,
  flag: FlagField,
  choice: ChoiceField,
  group: GroupField,
  variant: VariantField,
  list: ListField,
  json: JsonField,
};

export function Field(props: FieldProps) {
  const { kind, widget } = props.field;
  const View = (widget !== undefined && widgets[widget]) || byKind[kind];
  return <View {...props} />;
}
