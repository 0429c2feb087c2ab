/** What the fields of a form share. */
/** @import { Problem } from '../api.js' */
/** @import { CodeMark } from './code-marks.js' */
/** @import { Values } from './values.js' */
import { createContext, useContext } from '../dom.js';

/**
 * @typedef {{
 *   values: Values,
 *   change: (changes: Values) => void,
 *   issueAt: (path: string) => string | undefined,
 *   hasIssueBelow: (path: string) => boolean,
 *   refuse: (problem: Problem) => void,
 *   id: string | undefined,
 *   isNew: boolean,
 *   isLocked: boolean,
 *   marks: CodeMark[],
 *   mark: (marks: CodeMark[]) => void,
 * }} FormState
 * `refuse` marks the fields that a request other than saving has refused; `marks` are the lines of
 * scripts at which a run failed.
 */

export const FormContext = createContext(
  /** @type {FormState} */ ({
    values: {},
    change: () => {},
    issueAt: () => undefined,
    hasIssueBelow: () => false,
    refuse: () => {},
    id: undefined,
    isNew: true,
    isLocked: false,
    marks: [],
    mark: () => {},
  }),
);

export function useForm() {
  return useContext(FormContext);
}

/**
 * Path in the schema of a path of a value: `cards.0.name` is `cards.name`.
 * @param {string} path
 */
export function schemaPath(path) {
  return path.replaceAll(/\.\d+(?=\.|$)/g, '');
}

/**
 * The id of the input of a path.
 * @param {string} path
 */
export function idOf(path) {
  return `field-${path.replaceAll('.', '-')}`;
}
