/** Notices in place of data, or above data that could not be refreshed. */
/** @import { ComponentChildren } from 'preact' */
/** @import { Problem } from '../api.js' */
/** @import { Read } from '../contract.ts' */
import { toProblem } from '../api.js';
import { html, useState } from '../dom.js';
import { timeOfDay } from '../format.js';
import { useUnreachableSince } from '../reachable.js';
import { Icon } from './icons.js';

/** @param {{ what?: string }} props */
export function Loading({ what = 'Loading' }) {
  return html`<p class="notice loading" role="status">
    <span class="spinner" aria-hidden="true"></span>${what} …
  </p>`;
}

/**
 * An empty state with advice.
 * @param {{ title: string, children?: ComponentChildren }} props
 */
export function Empty({ title, children }) {
  return html`<div class="notice empty">
    <p><strong>${title}</strong></p>
    ${children && html`<p>${children}</p>`}
  </div>`;
}

/** @param {Pick<Problem, 'status' | 'message'>} problem */
export function wordsOf(problem) {
  switch (problem.status) {
    case 0:
      return 'The control plane cannot be reached. Is it running, and are you online?';
    case 403:
      return `Not allowed with this key: ${problem.message}.`;
    case 404:
      return 'It does not exist, or not any more.';
    case 429:
      return 'Too many requests with this key at the moment. It goes on by itself.';
    default:
      return `${problem.message.charAt(0).toUpperCase()}${problem.message.slice(1)}.`;
  }
}

/** @param {{ problem: Problem, reload?: () => unknown }} props */
export function Failure({ problem, reload }) {
  return html`<div class="notice failure" role="alert">
    <p><${Icon} tone="bad" /> ${wordsOf(problem)}</p>
    ${reload && html`<button type="button" onClick=${reload}>Try again</button>`}
  </div>`;
}

/** Shown above everything while the control plane does not answer. */
export function UnreachableNotice() {
  const since = useUnreachableSince();
  return (
    since !== null &&
    html`<p class="notice failure unreachable" role="alert">
      <${Icon} tone="bad" /> The control plane does not answer. Shown is what was known at
      ${' '}${timeOfDay(since)}. This page goes on by itself when it is back.
    </p>`
  );
}

/**
 * Loading, error, empty or data.  When a refresh fails, the old data
 * stays below a notice. Called as a function, so that the types of `read` reach the others.
 * @template Data
 * @param {{
 *   read: Read<Data>,
 *   what: string,
 *   empty?: ComponentChildren,
 *   isEmpty: (data: Data) => boolean,
 *   children: (data: Data) => ComponentChildren,
 * }} props
 */
export function Answer({ read, what, empty, isEmpty, children }) {
  const { data, problem, isLoading, at, reload } = read;
  if (data === undefined) {
    if (problem !== null) return html`<${Failure} problem=${problem} reload=${reload} />`;
    return isLoading ? html`<${Loading} what=${what} />` : null;
  }
  return html`${
    problem !== null &&
    html`<p class="notice stale" role="status">
      ${wordsOf(problem)} Shown is what was known at ${timeOfDay(at ?? Date.now())}.${' '}
      <button type="button" class="plain-button" onClick=${reload}>Try again</button>
    </p>`
  }${isEmpty(data) ? empty : children(data)}`;
}

/**
 * Runs a call and shows what was refused.
 * @returns {[problem: ComponentChildren, attempt: (work: () => Promise<unknown>) => () => Promise<void>]}
 */
export function useAttempt() {
  const [problem, setProblem] = useState('');
  const attempt = (/** @type {() => Promise<unknown>} */ work) => async () => {
    setProblem('');
    try {
      await work();
    } catch (error) {
      setProblem(wordsOf(toProblem(error)));
    }
  };
  return [problem !== '' && html`<p class="notice failure" role="alert">${problem}</p>`, attempt];
}
