/** Fields of the forms about people, with the server's message at each. */
/** @import { ComponentChildren } from 'preact' */
/** @import { Issue } from '../session.js' */
import { html, useRef, useState } from '../dom.js';
import { toProblem } from '../api.js';
import { roles } from '../facts.js';

/** @typedef {{ status: number, message: string, issues: Issue[] }} Refused */
/** @typedef {SubmitEvent & { currentTarget: HTMLFormElement }} Submitted */

/** @type {Record<string, string>} */
export const roleWords = {
  OWNER: 'Owner: everything, and other owners',
  ADMIN: 'Admin: everything, people and keys too',
  READ_WRITE: 'Editor: reads and changes everything but people and keys',
  READ_RUN: 'Runner: reads everything and runs checks',
  READ_ONLY: 'Reader: reads everything',
};

/** @param {string} role */
export const roleName = (role) => roleWords[role]?.split(':', 1)[0] ?? role;

/**
 * The roles that somebody with the role `held` may grant.
 * @param {string} held
 */
export function grantable(held) {
  const from = roles.findIndex((role) => role === held);
  return from === -1 ? [] : roles.slice(from);
}

/** @param {string} text */
const sentence = (text) => `${text.charAt(0).toUpperCase()}${text.slice(1).replace(/\.$/, '')}.`;

/**
 * What a form says about a refusal that belongs to none of its fields.
 * @param {Refused} refusal
 */
export function wordsOfRefusal({ status, message, issues }) {
  if (status === 0) return 'The control plane cannot be reached. Try again in a moment.';
  return issues.length > 0 ? '' : sentence(message);
}

/**
 * A labelled input. What was typed stays in it when the server refuses it.
 * @param {{
 *   label: string,
 *   name: string,
 *   issues: Issue[],
 *   help?: ComponentChildren,
 *   [attribute: string]: unknown,
 * }} props
 */
export function Field({ label, name, issues, help, ...attributes }) {
  const issue = issues.find(({ path }) => path === name);
  const described = [issue && `${name}-issue`, help && `${name}-help`].filter(Boolean).join(' ');
  return html`<div>
    <label class="field block"
      ><span>${label}</span
      ><input
        name=${name}
        spellcheck="false"
        aria-invalid=${issue ? 'true' : undefined}
        aria-describedby=${described === '' ? undefined : described}
        ...${attributes}
    /></label>
    ${issue && html`<p class="issue" id=${`${name}-issue`}>${sentence(`${label.toLowerCase()} ${issue.message}`)}</p>`}
    ${help && html`<p class="help" id=${`${name}-help`}>${help}</p>`}
  </div>`;
}

/**
 * The password that a person has, or that they choose.
 * @param {{
 *   issues: Issue[],
 *   label?: string,
 *   name?: string,
 *   isNew?: boolean,
 *   help?: ComponentChildren,
 *   autofocus?: boolean,
 * }} props
 */
export function PasswordField({ isNew = false, ...props }) {
  return html`<${Field}
    label=${isNew ? 'New password' : 'Password'}
    name="password"
    type="password"
    autocomplete=${isNew ? 'new-password' : 'current-password'}
    ...${props}
  />`;
}

/**
 * Sends a form and keeps its refusal. `work` gives null when it has succeeded; its `button` is the value of
 * the one that sent the form.
 * @param {(fields: Record<string, string>, button: string) => Promise<Refused | null>} work
 */
export function useForm(work) {
  const [refusal, setRefusal] = useState(/** @type {Refused | null} */ (null));
  const [isBusy, setBusy] = useState(false);
  const form = useRef(/** @type {HTMLFormElement | null} */ (null));
  const onSubmit = async (/** @type {Submitted} */ event) => {
    event.preventDefault();
    const element = event.currentTarget;
    form.current = element;
    setBusy(true);
    const fields = Object.fromEntries(
      [...new FormData(element)].map(([name, value]) => [name, String(value)]),
    );
    const { submitter } = event;
    const button = submitter instanceof HTMLButtonElement ? submitter.value : '';
    const refused = await work(fields, button);
    setRefusal(refused);
    setBusy(false);
    const [first] = refused?.issues ?? [];
    const input = first && element.elements.namedItem(first.path);
    if (input instanceof HTMLElement) input.focus();
  };
  const message = refusal === null ? '' : wordsOfRefusal(refusal);
  return {
    onSubmit,
    isBusy,
    refusal,
    issues: refusal?.issues ?? [],
    notice: message !== '' && html`<p class="notice failure" role="alert">${message}</p>`,
  };
}

/**
 * Gives null, or the problem.
 * @param {() => Promise<unknown>} work
 */
export async function problemOf(work) {
  try {
    await work();
    return null;
  } catch (error) {
    return toProblem(error);
  }
}

/** @param {{ codes: string[] }} props */
export function RecoveryCodes({ codes }) {
  return html`<div class="notice warning" role="status">
    <p>
      Keep these recovery codes where your devices are not. Each works once in place of a code or a
      passkey. They are shown this once.
    </p>
    <pre class="mono">${codes.join('\n')}</pre>
  </div>`;
}

/** The mark above the forms of people who are not signed in. */
export function Mark() {
  return html`<svg class="mark" viewBox="0 0 32 32" aria-hidden="true">
    <rect width="32" height="32" rx="8" />
    <path d="M5 17h5l3-8 5 15 3.500-9.500 1.500 2.500H27" />
  </svg>`;
}

export function KeepSignedIn() {
  return html`<label class="check-field"
    ><input name="kept" type="checkbox" /><span>Keep me signed in on this machine</span></label
  >`;
}
