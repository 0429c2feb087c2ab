/** Fields of the forms about people, with the server's message at each. */
import { Refusal } from '../parts/notices.tsx';
import type { ComponentChildren } from 'preact';
import type { Issue } from '../session.ts';
import { useRef, useState } from 'preact/hooks';
import { toProblem } from '../problem.ts';
import { roles } from '../facts.ts';
import { refresh } from '../query.ts';

interface Refused {
  status: number;
  message: string;
  issues: Issue[];
}
type Submitted = SubmitEvent & { currentTarget: HTMLFormElement };

export const roleWords: Record<string, string> = {
  OWNER: 'Owner: everything, and other owners',
  ADMIN: 'Admin: everything, also people and keys',
  READ_WRITE: 'Editor: changes everything but people and keys',
  READ_RUN: 'Runner: reads everything and runs monitors',
  READ_ONLY: 'Reader: reads everything',
};

export const roleName = (role: string) => roleWords[role]?.split(':', 1)[0] ?? role;

/** The roles that somebody with the role `held` may grant. */
export function grantable(held: string) {
  const from = roles.findIndex((role) => role === held);
  return from === -1 ? [] : roles.slice(from);
}

const sentence = (text: string) =>
  `${text.charAt(0).toUpperCase()}${text.slice(1).replace(/\.$/, '')}.`;

/** What a form says about a refusal that belongs to none of its fields. */
export function wordsOfRefusal({ status, message, issues }: Refused) {
  if (status === 0) return 'The control plane cannot be reached. Try again in a moment.';
  return issues.length > 0 ? '' : sentence(message);
}

interface FieldProps {
  label: string;
  name: string;
  issues: Issue[];
  help?: ComponentChildren;
  [attribute: string]: unknown;
}

/** A labelled input. What was typed stays in it when the server refuses it. */
export function Field({ label, name, issues, help, ...attributes }: FieldProps) {
  const issue = issues.find(({ path }) => path === name);
  const described = [issue && `${name}-issue`, help && `${name}-help`].filter(Boolean).join(' ');
  return (
    <div>
      <label class="field block">
        <span>{label}</span>
        <input
          name={name}
          spellcheck={false}
          aria-invalid={issue ? 'true' : undefined}
          aria-describedby={described === '' ? undefined : described}
          {...attributes}
        />
      </label>
      {issue && (
        <p class="issue" id={`${name}-issue`}>
          {sentence(`${label.toLowerCase()} ${issue.message}`)}
        </p>
      )}
      {help && (
        <p class="help" id={`${name}-help`}>
          {help}
        </p>
      )}
    </div>
  );
}

export const emailField = {
  ...{ label: 'E-mail', name: 'email', type: 'email' },
  ...{ autocomplete: 'username', autofocus: true },
};
export const codeField = {
  ...{ label: 'Code', name: 'code', inputmode: 'numeric', autocomplete: 'one-time-code' },
};

interface PasswordFieldProps {
  issues: Issue[];
  label?: string;
  name?: string;
  isNew?: boolean;
  help?: ComponentChildren;
  autofocus?: boolean;
}

/** The password that a person has, or that they choose. */
export function PasswordField({ isNew = false, ...props }: PasswordFieldProps) {
  return (
    <Field
      label={isNew ? 'New password' : 'Password'}
      name="password"
      type="password"
      autocomplete={isNew ? 'new-password' : 'current-password'}
      {...props}
    />
  );
}

/**
 * Sends a form and keeps its refusal. `work` gives null when it has succeeded; its `button` is the value of
 * the one that sent the form.
 */
export function useForm(
  work: (fields: Record<string, string>, button: string) => Promise<Refused | null>,
) {
  const [refusal, setRefusal] = useState<Refused | null>(null);
  const [isBusy, setBusy] = useState(false);
  const form = useRef<HTMLFormElement | null>(null);
  const onSubmit = async (event: Submitted) => {
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
    await refresh();
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
    notice: message !== '' && <Refusal text={message} />,
  };
}

/** Gives null, or the problem. */
export async function problemOf(work: () => Promise<unknown>) {
  try {
    await work();
    return null;
  } catch (error) {
    return toProblem(error);
  }
}

export function RecoveryCodes({ codes }: { codes: string[] }) {
  return (
    <div class="notice warning" role="status">
      <p>
        Store these recovery codes away from your devices. Each works once in place of a code or a
        passkey. They are shown only once.
      </p>
      <pre class="mono">{codes.join('\n')}</pre>
    </div>
  );
}

/** The mark above the forms of people who are not signed in. */
export function Mark() {
  return (
    <svg class="mark" viewBox="0 0 32 32" aria-hidden="true">
      <rect width="32" height="32" rx="8" />
      <path d="M5 17h5l3-8 5 15 3.500-9.500 1.500 2.500H27" />
    </svg>
  );
}

export function KeepSignedIn() {
  return (
    <label class="check-field">
      <input name="kept" type="checkbox" />
      <span>Keep me signed in on this machine</span>
    </label>
  );
}
