/** Inputs with their labels, help and problems. */
/** @import { ComponentChildren } from 'preact' */
/** @import { Field as FieldFacts } from '../form-facts.ts' */
import { html } from '../dom.js';
import { idOf, useForm } from './context.js';

/**
 * @typedef {{
 *   field: FieldFacts,
 *   path: string,
 *   value: unknown,
 *   onChange: (value: unknown) => void,
 *   label?: string,
 * }} FieldProps
 */
/** @typedef {Event & { currentTarget: HTMLInputElement & HTMLTextAreaElement & HTMLSelectElement }} Typed */

/**
 * Problems of an input: the server's message, read with the input.
 * @param {{ path: string, help: string | undefined }} props
 */
export function Below({ path, help }) {
  const { issueAt } = useForm();
  const issue = issueAt(path);
  return html`${
    issue !== undefined &&
    html`<span class="issue" id=${`${idOf(path)}-issue`} role="alert">${issue}</span>`
  }${help !== undefined && html`<span class="help" id=${`${idOf(path)}-help`}>${help}</span>`}`;
}

/**
 * Attributes that tie an input to its problem and help.
 * @param {string} path
 * @param {string | undefined} help
 */
export function useTies(path, help) {
  const { issueAt } = useForm();
  const hasIssue = issueAt(path) !== undefined;
  const tied = [hasIssue && `${idOf(path)}-issue`, help !== undefined && `${idOf(path)}-help`];
  return {
    id: idOf(path),
    'aria-invalid': hasIssue ? 'true' : undefined,
    'aria-describedby': tied.filter(Boolean).join(' ') || undefined,
  };
}

/**
 * A labelled input. The code editor is none that a label would give the focus to by itself.
 * @param {{ path: string, label: string, field: FieldFacts, children: ComponentChildren }} props
 */
export function Labelled({ path, label, field, children }) {
  const { isRequired, initial, help } = field;
  const isOptional = !isRequired && (initial ?? '') === '';
  return html`<div class="field block">
    <label
      for=${idOf(path)}
      id=${`${idOf(path)}-label`}
      onClick=${() => document.getElementById(idOf(path))?.focus()}
    >
      ${label}${isOptional && html` <i>(optional)</i>`}
    </label>
    ${children}
    <${Below} path=${path} help=${help} />
  </div>`;
}
