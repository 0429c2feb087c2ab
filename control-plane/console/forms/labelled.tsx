/** Inputs with their labels, help and problems. */
import type { ComponentChildren } from 'preact';
import type { Field as FieldFacts } from '../form-facts.ts';
import { idOf, useForm } from './context.ts';

export interface FieldProps {
  field: FieldFacts;
  path: string;
  value: unknown;
  onChange: (value: unknown) => void;
  label?: string;
}

/** An event of any input with a text. */
export interface Typed {
  currentTarget: { value: string };
}

/** Problems of an input: the server's message, read with the input. */
export function Below({ path, help }: { path: string; help: string | undefined }) {
  const { issueAt } = useForm();
  const issue = issueAt(path);
  return (
    <>
      {issue !== undefined && (
        <span class="issue" id={`${idOf(path)}-issue`} role="alert">
          {issue}
        </span>
      )}
      {help !== undefined && (
        <span class="help" id={`${idOf(path)}-help`}>
          {help}
        </span>
      )}
    </>
  );
}

/** Attributes that tie an input to its problem and help. */
export function useTies(path: string, help: string | undefined) {
  const { issueAt } = useForm();
  const hasIssue = issueAt(path) !== undefined;
  const tied = [hasIssue && `${idOf(path)}-issue`, help !== undefined && `${idOf(path)}-help`];
  return {
    id: idOf(path),
    'aria-invalid': hasIssue || undefined,
    'aria-describedby': tied.filter(Boolean).join(' ') || undefined,
  };
}

/** A labelled input. The code editor is none that a label would give the focus to by itself. */
export function Labelled({
  path,
  label,
  field,
  kind = '',
  children,
}: {
  path: string;
  label: string;
  field: FieldFacts;
  kind?: 'narrow' | '';
  children: ComponentChildren;
}) {
  const { isRequired, initial, help, unit } = field;
  const isOptional = !isRequired && kind === '' && (initial ?? '') === '';
  return (
    <div class={`field block ${kind}`}>
      <label
        for={idOf(path)}
        id={`${idOf(path)}-label`}
        onClick={() => document.getElementById(idOf(path))?.focus()}
      >
        {label}
        {isOptional && (
          <>
            {' '}
            <i>(optional)</i>
          </>
        )}
      </label>
      {unit === undefined ? (
        children
      ) : (
        <span class="with-unit">
          {children}
          <span>{unit}</span>
        </span>
      )}
      <Below path={path} help={help} />
    </div>
  );
}
