/** What the fields of a form share. */
import type { Problem } from '../problem.ts';
import type { CodeMark } from './code-marks.ts';
import type { Values } from './values.ts';
import { createContext } from 'preact';
import { useContext } from 'preact/hooks';

/**
 * `refuse` marks the fields that a request other than saving has refused; `marks` are the lines of
 * scripts at which a run failed.
 */
interface FormState {
  values: Values;
  change: (changes: Values) => void;
  issueAt: (path: string) => string | undefined;
  hasIssueBelow: (path: string) => boolean;
  refuse: (problem: Problem) => void;
  id: string | undefined;
  isNew: boolean;
  isLocked: boolean;
  marks: CodeMark[];
  mark: (marks: CodeMark[]) => void;
}

export const FormContext = createContext<FormState>({
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
});

export function useForm() {
  return useContext(FormContext);
}

/** Path in the schema of a path of a value: `cards.0.name` is `cards.name`. */
export function schemaPath(path: string) {
  return path.replaceAll(/\.\d+(?=\.|$)/g, '');
}

/** The id of the input of a path. */
export function idOf(path: string) {
  return `field-${path.replaceAll('.', '-')}`;
}
