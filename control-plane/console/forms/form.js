/** A form of the contract: it creates or changes one entry, and loses nothing that was typed. */
/** @import { ComponentChildren } from 'preact' */
/** @import { Problem } from '../api.js' */
/** @import { Form as FormFacts } from '../form-facts.ts' */
/** @import { CodeMark } from './code-marks.js' */
/** @import { Values } from './values.js' */
import { html, useEffect, useMemo, useRef, useState } from '../dom.js';
import { send, toProblem } from '../api.js';
import { roles } from '../facts.js';
import { useMe } from '../me.js';
import { Ask } from '../parts/ask.js';
import { Icon } from '../parts/icons.js';
import { wordsOf } from '../parts/notices.js';
import { isAsked } from './conditions.js';
import { FormContext, idOf } from './context.js';
import { draftOf, dropDraft, keepDraft } from './drafts.js';
import { Field } from './field.js';
import { askedOf, changesOf, isSame, merge, valueAt } from './values.js';

/**
 * An entry as it was read.
 * @typedef {{ data: Values, etag: string | null }} Entry
 */

/** @type {CodeMark[]} */
const noMarks = [];

/**
 * The refused fields that this form shows nowhere.
 * @param {Problem} problem
 * @param {FormFacts} form
 */
function unplaced({ issues }, form) {
  return issues.filter(({ path }) => !Object.hasOwn(form.fields, path.split('.')[0] ?? ''));
}

/**
 * @param {Problem} problem
 * @param {FormFacts} form
 */
function summaryOf(problem, form) {
  if (problem.issues.length === 0) return wordsOf(problem);
  const lost = unplaced(problem, form).map(({ path, message }) => `${path} ${message}`);
  const places = new Set(problem.issues.map(({ path }) => path)).size - lost.length;
  const marked = places === 1 ? 'One field is marked below' : `${places} fields are marked below`;
  return `${[...(places > 0 ? [marked] : []), ...lost].join('; ')}.`;
}

/**
 * What a colleague changed meanwhile, where both changed the same.
 * @param {{ form: FormFacts, names: string[], theirs: Values, take: (name: string) => void }} props
 */
function Conflict({ form, names, theirs, take }) {
  return html`<div class="notice warning" role="alert">
    <p>
      <${Icon} tone="warn" /> Somebody else saved this meanwhile. Their other changes are in the form
      now. You both changed:
    </p>
    <ul>
      ${names.map(
        (name) =>
          html`<li key=${name}>
            <b>${form.fields[name]?.label || name}</b>: theirs is${' '}
            <code>${JSON.stringify(theirs[name]).slice(0, 200)}</code>${' '}
            <button type="button" class="plain-button" onClick=${() => take(name)}>
              Take theirs
            </button>
          </li>`,
      )}
    </ul>
    <p>Save again to keep yours.</p>
  </div>`;
}

/**
 * What was typed before, on top of what the entry is now. A new entry is nobody else's.
 * @param {string} draftKey
 * @param {Values} initial
 * @param {boolean} isNew
 */
function restore(draftKey, initial, isNew) {
  const draft = draftOf(draftKey);
  if (draft === undefined) return { values: initial, conflicts: [] };
  const joined = merge(draft.base, draft.values, initial);
  return isNew ? { ...joined, conflicts: [] } : joined;
}

/**
 * @param {{
 *   form: FormFacts,
 *   draftKey: string,
 *   initial: Values,
 *   entry?: Entry | null,
 *   id?: string,
 *   onSaved: (saved: Values) => unknown,
 *   onCancel: () => void,
 *   adjust?: (values: Values, changed: Values) => Values,
 *   above?: (typed: { values: Values, change: (changes: Values) => void }) => ComponentChildren,
 *   beside?: (values: Values) => ComponentChildren,
 *   create?: (values: Values, post: (values: Values) => Promise<any>) => Promise<any>,
 *   asks?: (values: Values) => string | null,
 *   marked?: CodeMark[],
 * }} props
 * `adjust` may change other values with a change; `create` may write more than the entry; `asks` gives a question
 * before saving.
 */
export function Form(props) {
  const { form, draftKey, initial, entry = null, id, onSaved, onCancel } = props;
  const { adjust, above, beside, create, asks, marked = noMarks } = props;
  const isNew = entry === null;
  const { mayAct } = useMe();
  const [restored] = useState(() => restore(draftKey, initial, entry === null));
  const [base, setBase] = useState(initial);
  const [values, setValues] = useState(restored.values);
  const [etag, setEtag] = useState(entry?.etag ?? null);
  const [problem, setProblem] = useState(/** @type {Problem | null} */ (null));
  const [refused, setRefused] = useState(values);
  const [conflict, setConflict] = useState(
    /** @type {{ names: string[], theirs: Values } | null} */ (
      restored.conflicts.length === 0 ? null : { names: restored.conflicts, theirs: initial }
    ),
  );
  const [isBusy, setBusy] = useState(false);
  const [question, setQuestion] = useState(/** @type {string | null} */ (null));
  const [marks, setMarks] = useState(marked);
  useEffect(() => setMarks(marked), [marked]);
  const element = useRef(/** @type {HTMLFormElement | null} */ (null));

  const change = (/** @type {Values} */ changes) =>
    setValues((before) => {
      const next = { ...before, ...changes };
      const adjusted = adjust === undefined ? next : adjust(next, changes);
      if (isSame(adjusted, base)) dropDraft(draftKey);
      else keepDraft(draftKey, { base, values: adjusted });
      return adjusted;
    });

  // The first refused field, for the keyboard and for screen readers.
  useEffect(() => {
    const [first] = problem?.issues ?? [];
    const at = first && element.current?.querySelector(`#${CSS.escape(idOf(first.path))}`);
    const place = at ?? element.current?.querySelector('.form-problem');
    if (problem !== null && place instanceof HTMLElement) place.focus();
  }, [problem]);

  // What a new entry begins with may follow from something that changes meanwhile, or is read again after saving.
  const start = JSON.stringify(initial);
  useEffect(() => {
    if (!isNew || isSame(initial, base)) return;
    setBase(initial);
    setValues((mine) => merge(base, mine, initial).values);
  }, [start]);

  const put = async (/** @type {string | null} */ ifMatch) => {
    const { method = '', path = '' } = form.update ?? {};
    return send(path.replace('{id}', encodeURIComponent(id ?? '')), {
      method,
      body: changesOf(form, base, values),
      ifMatch,
    });
  };

  /** Joins the newer entry with the form; true when nothing was changed on both sides. */
  const join = async () => {
    const path = (form.read ?? '').replace('{id}', encodeURIComponent(id ?? ''));
    const { data, etag: newer } = await send(path);
    const theirs = askedOf(form, data);
    const joined = merge(base, values, theirs);
    setBase(theirs);
    setValues(joined.values);
    setEtag(newer);
    if (isSame(theirs, base)) return newer;
    setConflict({ names: joined.conflicts, theirs });
    return null;
  };

  const save = async () => {
    if (isNew) {
      const body = { ...form.always, ...values };
      const post = (/** @type {Values} */ body) =>
        send(form.create, { method: 'POST', query: form.createQuery, body });
      return create === undefined ? post(body) : create(body, post);
    }
    try {
      return await put(etag);
    } catch (error) {
      if (toProblem(error).status !== 412) throw error;
    }
    // What changed may be only what is not edited here: when an agent was last seen.
    const newer = await join();
    return newer === null ? null : put(newer);
  };

  const submit = async (/** @type {Event} */ event) => {
    event.preventDefault();
    const question = asks?.(values) ?? null;
    setQuestion(question);
    if (question === null) await store();
  };

  const store = async () => {
    setQuestion(null);
    setBusy(true);
    setProblem(null);
    setConflict(null);
    try {
      const saved = await save();
      if (saved !== null) {
        dropDraft(draftKey);
        await onSaved(saved.data ?? values);
      }
    } catch (error) {
      setProblem(toProblem(error));
      setRefused(values);
    } finally {
      setBusy(false);
    }
  };

  const cancel = () => {
    dropDraft(draftKey);
    onCancel();
  };

  const issues = useMemo(
    () =>
      // The first one of a field explains the others.
      new Map((problem?.issues ?? []).toReversed().map(({ path, message }) => [path, message])),
    [problem],
  );
  const may = mayAct(form.role);
  const context = {
    values,
    change,
    // A field that was changed since is not marked any more.
    issueAt: (/** @type {string} */ path) =>
      isSame(valueAt(values, path), valueAt(refused, path)) ? issues.get(path) : undefined,
    hasIssueBelow: (/** @type {string} */ path) =>
      issues.has(path) || [...issues.keys()].some((one) => one.startsWith(`${path}.`)),
    refuse: (/** @type {Problem} */ refusal) => {
      setProblem(refusal);
      setRefused(values);
    },
    id,
    isNew,
    isLocked: isBusy || !may,
    marks,
    mark: setMarks,
  };
  const shown = (/** @type {string[]} */ names) =>
    names.filter(
      (name) => (isNew || !form.onlyNew.includes(name)) && isAsked(name, values, values),
    );
  const fieldsOf = (/** @type {string[]} */ names) =>
    names.map(
      (name) =>
        html`<${Field}
          key=${name}
          field=${form.fields[name]}
          path=${name}
          value=${values[name]}
          onChange=${(/** @type {unknown} */ value) => change({ [name]: value })}
        />`,
    );

  return html`<${FormContext.Provider} value=${context}>
    <div class=${beside === undefined ? 'form-page' : 'form-page two'}>
      <form class="form" ref=${element} onSubmit=${submit} novalidate>
        ${above?.({ values, change })}
        ${
          conflict !== null &&
          html`<${Conflict}
            form=${form}
            names=${conflict.names}
            theirs=${conflict.theirs}
            take=${(/** @type {string} */ name) => {
              change({ [name]: conflict.theirs[name] });
              setConflict({ ...conflict, names: conflict.names.filter((one) => one !== name) });
            }}
          />`
        }
        ${
          problem !== null &&
          html`<p class="notice failure form-problem" role="alert" tabindex="-1">
            <${Icon} tone="bad" /> ${summaryOf(problem, form)}
            ${problem.status === 0 && ' What you typed is kept.'}
          </p>`
        }
        <fieldset class="plain-set" disabled=${isBusy || !may}>
          ${form.sections.map(({ title, fields, isFolded }) => {
            const names = shown(fields);
            if (names.length === 0) return null;
            if (isFolded === true) {
              return html`<details
                class="card"
                key=${title}
                open=${fields.some(context.hasIssueBelow) || undefined}
              >
                <summary>${title}</summary>
                ${fieldsOf(names)}
              </details>`;
            }
            return html`<section class="card" key=${title}>
              ${title !== '' && html`<h2>${title}</h2>`} ${fieldsOf(names)}
            </section>`;
          })}
        </fieldset>
        <div class="form-end">
          <button type="submit" class="primary" disabled=${isBusy || !may}>
            ${isBusy ? 'Saving …' : isNew ? 'Create' : 'Save'}
          </button>
          <button type="button" onClick=${cancel}>Cancel</button>
          ${!may && html`<span class="muted">This needs the role ${form.role} or ${roles[0]}.</span>`}
        </div>
      </form>
      ${beside?.(values)}
      ${
        question !== null &&
        html`<${Ask} title=${question} yes="Yes" onYes=${store} onNo=${() => setQuestion(null)} />`
      }
    </div>
  <//>`;
}
