/** A form of the contract: it creates or changes one entry, and loses nothing that was typed. */
import type { ComponentChildren } from 'preact';
import type { Form as FormFacts } from '../form-facts.ts';
import type { Answer } from '../contract.ts';
import type { CodeMark } from './code-marks.ts';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { send } from '../api.ts';
import { toProblem, type Problem } from '../problem.ts';
import { roles } from '../facts.ts';
import { useMe } from '../me.ts';
import { Ask } from '../parts/ask.tsx';
import { Icon } from '../parts/icons.tsx';
import { wordsOf } from '../parts/notices.tsx';
import { contradictions, isAsked } from './conditions.ts';
import { FormContext, idOf, useForm } from './context.ts';
import { draftOf, dropDraft, keepDraft } from './drafts.ts';
import { Field } from './field.tsx';
import { said } from './said.ts';
import {
  askedOf,
  changesOf,
  fieldAt,
  isSame,
  merge,
  parentOf,
  valueAt,
  withValueAt,
  type Values,
} from './values.ts';

/** An entry as it was read. */
export interface Entry<Data = Values> {
  data: Data;
  etag: string | null;
}

const noMarks: CodeMark[] = [];

/** The refused fields that this form shows nowhere. */
function unplaced({ issues }: Problem, form: FormFacts) {
  return issues.filter(({ path }) => !Object.hasOwn(form.fields, path.split('.')[0] ?? ''));
}

function summaryOf(problem: Problem, form: FormFacts) {
  if (problem.issues.length === 0) return wordsOf(problem);
  const lost = unplaced(problem, form).map(({ path, message }) => `${path} ${message}`);
  const places = new Set(problem.issues.map(({ path }) => path)).size - lost.length;
  const marked = places === 1 ? 'One field is marked below' : `${places} fields are marked below`;
  return `${[...(places > 0 ? [marked] : []), ...lost].join('; ')}.`;
}

/** What a colleague changed meanwhile, where both changed the same. */
function Conflict({
  form,
  names,
  theirs,
  take,
}: {
  form: FormFacts;
  names: string[];
  theirs: Values;
  take: (name: string) => void;
}) {
  return (
    <div class="notice warning" role="alert">
      <p>
        <Icon tone="warn" /> Somebody else saved this meanwhile. Their other changes are in the form
        now. You both changed:
      </p>
      <ul>
        {names.map((name) => (
          <li key={name}>
            <b>{form.fields[name]?.label || name}</b>: theirs is{' '}
            <code>{JSON.stringify(theirs[name]).slice(0, 200)}</code>{' '}
            <button type="button" class="plain-button" onClick={() => take(name)}>
              Take theirs
            </button>
          </li>
        ))}
      </ul>
      <p>Save again to keep yours.</p>
    </div>
  );
}

/** What was typed before, on top of what the entry is now. A new entry is nobody else's. */
function restore(draftKey: string, initial: Values, isNew: boolean) {
  const draft = draftOf(draftKey);
  if (draft === undefined) return { values: initial, conflicts: [] };
  const joined = merge(draft.base, draft.values, initial);
  return isNew ? { ...joined, conflicts: [] } : joined;
}

/** Writes a new entry; `post` saves it as the form does by itself. */
export type Create = (
  values: Values,
  post: (values: Values) => Promise<Answer<Values>>,
) => Promise<Answer<Values>>;

interface FormProps {
  form: FormFacts;
  draftKey: string;
  initial: Values;
  entry?: Entry | null;
  id?: string | undefined;
  onSaved: (saved: Values) => unknown;
  onCancel: () => void;
  adjust?: ((values: Values, changed: Values) => Values) | undefined;
  above?:
    | ((typed: { values: Values; change: (changes: Values) => void }) => ComponentChildren)
    | undefined;
  beside?: ((values: Values) => ComponentChildren) | undefined;
  create?: Create | undefined;
  /** On the button. */
  word?: string;
  asks?: (values: Values) => string | null;
  marked?: CodeMark[] | undefined;
}

/** The values with what was typed before, and what others have saved since. */
function useTyped({ form, draftKey, initial, entry = null, id, adjust }: FormProps) {
  const isNew = entry === null;
  const [restored] = useState(() => restore(draftKey, initial, isNew));
  const [base, setBase] = useState(initial);
  const [values, setValues] = useState(restored.values);
  const [etag, setEtag] = useState(entry?.etag ?? null);
  const [conflict, setConflict] = useState<{ names: string[]; theirs: Values } | null>(
    restored.conflicts.length === 0 ? null : { names: restored.conflicts, theirs: initial },
  );

  const change = (changes: Values) =>
    setValues((before) => {
      const next = { ...before, ...changes };
      const adjusted = adjust === undefined ? next : adjust(next, changes);
      if (isSame(adjusted, base)) dropDraft(draftKey);
      else keepDraft(draftKey, { base, values: adjusted });
      return adjusted;
    });

  // What a new entry begins with may follow from something that changes meanwhile, or is read again after saving.
  const start = JSON.stringify(initial);
  useEffect(() => {
    if (!isNew || isSame(initial, base)) return;
    setBase(initial);
    setValues((mine) => merge(base, mine, initial).values);
  }, [start]);

  /** Joins the newer entry with the form. Gives its tag when nothing was changed on both sides. */
  const join = async () => {
    const path = (form.read ?? '').replace('{id}', encodeURIComponent(id ?? ''));
    const { data, etag: newer } = await send<Values>(path);
    const theirs = askedOf(form, data);
    const joined = merge(base, values, theirs);
    setBase(theirs);
    setValues(joined.values);
    setEtag(newer);
    if (isSame(theirs, base)) return newer;
    setConflict({ names: joined.conflicts, theirs });
    return null;
  };
  const take = (name: string) => {
    if (conflict === null) return;
    change({ [name]: conflict.theirs[name] });
    setConflict({ ...conflict, names: conflict.names.filter((one) => one !== name) });
  };
  return { isNew, values, base, etag, change, join, conflict, setConflict, take };
}

/** Saving, its refusals, and the question before it. */
function useSaving(props: FormProps, typed: ReturnType<typeof useTyped>) {
  const { form, draftKey, id, create, asks, onSaved } = props;
  const { isNew, values, base, etag, join, setConflict } = typed;
  const [problem, setProblem] = useState<Problem | null>(null);
  const [refused, setRefused] = useState(values);
  const [isBusy, setBusy] = useState(false);
  const [question, setQuestion] = useState<string | null>(null);

  const put = async (ifMatch: string | null) => {
    const { method = '', path = '' } = form.update ?? {};
    return send<Values>(path.replace('{id}', encodeURIComponent(id ?? '')), {
      method,
      body: changesOf(form, base, values),
      ifMatch,
    });
  };
  const save = async () => {
    if (isNew) {
      const body = { ...form.always, ...values };
      const post = (body: Values) =>
        send<Values>(form.create, { method: 'POST', query: form.createQuery, body });
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
  const refuse = (refusal: Problem) => {
    setProblem(refusal);
    setRefused(values);
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
      refuse(toProblem(error));
    } finally {
      setBusy(false);
    }
  };
  const submit = async (event: Event) => {
    event.preventDefault();
    const asked = asks?.(values) ?? null;
    setQuestion(asked);
    if (asked === null) await store();
  };
  return { problem, refused, refuse, isBusy, question, setQuestion, store, submit };
}

/** What the fields share: values, and what is wrong with them. */
function useFormState(
  { form, id, marked = noMarks }: FormProps,
  { values, change, isNew }: ReturnType<typeof useTyped>,
  { problem, refused, refuse, isBusy }: ReturnType<typeof useSaving>,
) {
  const { mayAct } = useMe();
  const [marks, setMarks] = useState(marked);
  useEffect(() => setMarks(marked), [marked]);
  const issues = useMemo(
    () =>
      // The first one of a field explains the others.
      new Map((problem?.issues ?? []).toReversed().map(({ path, message }) => [path, message])),
    [problem],
  );
  const wrong = contradictions(values);
  return {
    values,
    change,
    // A field that was changed since is not marked any more.
    issueAt: (path: string) =>
      (isSame(valueAt(values, path), valueAt(refused, path)) ? issues.get(path) : undefined) ??
      wrong.get(path),
    hasIssueBelow: (path: string) =>
      [...issues.keys(), ...wrong.keys()].some((one) => `${one}.`.startsWith(`${path}.`)),
    refuse,
    id,
    isNew,
    isLocked: isBusy || !mayAct(form.role),
    marks,
    mark: setMarks,
  };
}

/** The fields of one section; none of them is always there. */
function SectionFields({ form, names }: { form: FormFacts; names: string[] }) {
  const { values, change } = useForm();
  return (
    <div class="form-fields">
      {names.map((path) => {
        const field = fieldAt(form.fields, path);
        const [root = ''] = path.split('.');
        return (
          field && (
            <Field
              key={path}
              field={field}
              path={path}
              value={valueAt(values, path)}
              onChange={(value) => change({ [root]: withValueAt(values, path, value)[root] })}
            />
          )
        );
      })}
    </div>
  );
}

function Sections({ form }: { form: FormFacts }) {
  const { values, isNew, hasIssueBelow } = useForm();
  const sections = form.sections.flatMap(({ fields, ...section }) => {
    const names = fields.filter(
      (path) =>
        (isNew || !form.onlyNew.includes(path)) &&
        (hasIssueBelow(path) || isAsked(path, valueAt(values, parentOf(path)) as Values, values)),
    );
    return names.length === 0 ? [] : [{ ...section, names }];
  });
  const folded = sections.filter(({ isFolded }) => isFolded === true);
  return (
    <>
      {sections
        .filter(({ isFolded }) => isFolded !== true)
        .map(({ title, names }) => (
          <section class="card" key={title}>
            {title !== '' && <h2>{title}</h2>} <SectionFields form={form} names={names} />
          </section>
        ))}
      {folded.length > 0 && (
        <section class="card advanced" aria-label="Advanced">
          {folded.length > 1 && <h2>Advanced</h2>}
          {folded.map(({ title, names }) => (
            <details key={title} open={names.some(hasIssueBelow) || undefined}>
              <summary>
                <b>{title}</b> <span class="said">{said(form, names, values)}</span>
              </summary>
              <SectionFields form={form} names={names} />
            </details>
          ))}
        </section>
      )}
    </>
  );
}

/**
 * `adjust` may change other values with a change; `create` may write more than the entry; `asks` gives a question
 * before saving.
 */
export function Form(props: FormProps) {
  const { form, draftKey, onCancel, above, beside } = props;
  const typed = useTyped(props);
  const saving = useSaving(props, typed);
  const state = useFormState(props, typed, saving);
  const { values, change, conflict, take } = typed;
  const { problem, isBusy, question } = saving;
  const { mayAct } = useMe();
  const may = mayAct(form.role);
  const element = useRef<HTMLFormElement | null>(null);

  // The first refused field, for the keyboard and for screen readers.
  useEffect(() => {
    const [first] = problem?.issues ?? [];
    const at = first && element.current?.querySelector(`#${CSS.escape(idOf(first.path))}`);
    const place = at ?? element.current?.querySelector('.form-problem');
    if (problem !== null && place instanceof HTMLElement) place.focus();
  }, [problem]);

  const cancel = () => {
    dropDraft(draftKey);
    onCancel();
  };
  return (
    <FormContext.Provider value={state}>
      <div class={beside === undefined ? 'form-page' : 'form-page two'}>
        <form
          class={`form ${isSame(values, typed.base) ? '' : 'changed'}`}
          ref={element}
          onSubmit={(event) => void saving.submit(event)}
          novalidate
        >
          {above?.({ values, change })}
          {conflict !== null && <Conflict form={form} {...conflict} take={take} />}
          {problem !== null && (
            <p class="notice failure form-problem" role="alert" tabindex={-1}>
              <Icon tone="bad" /> {summaryOf(problem, form)}
              {problem.status === 0 && ' What you typed is kept.'}
            </p>
          )}
          <fieldset class="plain-set" disabled={isBusy || !may}>
            <Sections form={form} />
          </fieldset>
          <div class="form-end">
            <button type="submit" class="primary" disabled={isBusy || !may}>
              {isBusy ? 'Saving …' : (props.word ?? (typed.isNew ? 'Create' : 'Save'))}
            </button>
            <button type="button" onClick={cancel}>
              Cancel
            </button>
            {!may && (
              <span class="muted">
                This needs the role {form.role} or {roles[0]}.
              </span>
            )}
          </div>
        </form>
        {beside?.(values)}
        {question !== null && (
          <Ask
            title={question}
            yes="Yes"
            onYes={saving.store}
            onNo={() => saving.setQuestion(null)}
          />
        )}
      </div>
    </FormContext.Provider>
  );
}
