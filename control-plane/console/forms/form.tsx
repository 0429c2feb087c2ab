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
import { isAsked } from './conditions.ts';
import { FormContext, idOf } from './context.ts';
import { draftOf, dropDraft, keepDraft } from './drafts.ts';
import { Field } from './field.tsx';
import { askedOf, changesOf, isSame, merge, valueAt, type Values } from './values.ts';

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
  asks?: (values: Values) => string | null;
  marked?: CodeMark[] | undefined;
}

/**
 * `adjust` may change other values with a change; `create` may write more than the entry; `asks` gives a question
 * before saving.
 */
export function Form(props: FormProps) {
  const { form, draftKey, initial, entry = null, id, onSaved, onCancel } = props;
  const { adjust, above, beside, create, asks, marked = noMarks } = props;
  const isNew = entry === null;
  const { mayAct } = useMe();
  const [restored] = useState(() => restore(draftKey, initial, entry === null));
  const [base, setBase] = useState(initial);
  const [values, setValues] = useState(restored.values);
  const [etag, setEtag] = useState(entry?.etag ?? null);
  const [problem, setProblem] = useState<Problem | null>(null);
  const [refused, setRefused] = useState(values);
  const [conflict, setConflict] = useState<{ names: string[]; theirs: Values } | null>(
    restored.conflicts.length === 0 ? null : { names: restored.conflicts, theirs: initial },
  );
  const [isBusy, setBusy] = useState(false);
  const [question, setQuestion] = useState<string | null>(null);
  const [marks, setMarks] = useState(marked);
  useEffect(() => setMarks(marked), [marked]);
  const element = useRef<HTMLFormElement | null>(null);

  const change = (changes: Values) =>
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

  const put = async (ifMatch: string | null) => {
    const { method = '', path = '' } = form.update ?? {};
    return send<Values>(path.replace('{id}', encodeURIComponent(id ?? '')), {
      method,
      body: changesOf(form, base, values),
      ifMatch,
    });
  };

  /** Joins the newer entry with the form; true when nothing was changed on both sides. */
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

  const submit = async (event: Event) => {
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
    issueAt: (path: string) =>
      isSame(valueAt(values, path), valueAt(refused, path)) ? issues.get(path) : undefined,
    hasIssueBelow: (path: string) =>
      issues.has(path) || [...issues.keys()].some((one) => one.startsWith(`${path}.`)),
    refuse: (refusal: Problem) => {
      setProblem(refusal);
      setRefused(values);
    },
    id,
    isNew,
    isLocked: isBusy || !may,
    marks,
    mark: setMarks,
  };
  const shown = (names: string[]) =>
    names.filter(
      (name) => (isNew || !form.onlyNew.includes(name)) && isAsked(name, values, values),
    );
  const fieldsOf = (names: string[]) =>
    names.map((name) => {
      const field = form.fields[name];
      return (
        field && (
          <Field
            key={name}
            field={field}
            path={name}
            value={values[name]}
            onChange={(value) => change({ [name]: value })}
          />
        )
      );
    });

  return (
    <FormContext.Provider value={context}>
      <div class={beside === undefined ? 'form-page' : 'form-page two'}>
        <form class="form" ref={element} onSubmit={(event) => void submit(event)} novalidate>
          {above?.({ values, change })}
          {conflict !== null && (
            <Conflict
              form={form}
              names={conflict.names}
              theirs={conflict.theirs}
              take={(name) => {
                change({ [name]: conflict.theirs[name] });
                setConflict({ ...conflict, names: conflict.names.filter((one) => one !== name) });
              }}
            />
          )}
          {problem !== null && (
            <p class="notice failure form-problem" role="alert" tabindex={-1}>
              <Icon tone="bad" /> {summaryOf(problem, form)}
              {problem.status === 0 && ' What you typed is kept.'}
            </p>
          )}
          <fieldset class="plain-set" disabled={isBusy || !may}>
            {form.sections.map(({ title, fields, isFolded }) => {
              const names = shown(fields);
              if (names.length === 0) return null;
              if (isFolded === true) {
                return (
                  <details
                    class="card"
                    key={title}
                    open={fields.some(context.hasIssueBelow) || undefined}
                  >
                    <summary>{title}</summary>
                    {fieldsOf(names)}
                  </details>
                );
              }
              return (
                <section class="card" key={title}>
                  {title !== '' && <h2>{title}</h2>} {fieldsOf(names)}
                </section>
              );
            })}
          </fieldset>
          <div class="form-end">
            <button type="submit" class="primary" disabled={isBusy || !may}>
              {isBusy ? 'Saving …' : isNew ? 'Create' : 'Save'}
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
          <Ask title={question} yes="Yes" onYes={store} onNo={() => setQuestion(null)} />
        )}
      </div>
    </FormContext.Provider>
  );
}
