/** The field of a script. It is a plain one until the editor is there, and stays one where that cannot be loaded. */
/** @import { FieldProps, Typed } from './labelled.js' */
/** @import { LineProblem } from './code-editor.js' */
import { html, useEffect, useRef, useState } from '../dom.js';
import { count } from '../format.js';
import { useQuery } from '../query.js';
import { idOf, useForm } from './context.js';
import { Labelled, useTies } from './labelled.js';

/** @typedef {typeof import('./code-editor.js').openEditor} OpenEditor */

/** @type {Record<string, 'setup' | 'teardown'>} */
const kinds = { localSetupScript: 'setup', localTearDownScript: 'teardown' };

const keys =
  'Tab indents; press Escape, then Tab, to leave the field. Ctrl+Space completes, Ctrl+F finds.';
/** Listed below the field; the others are marked in it. */
const maxListed = 5;

/** @type {Promise<OpenEditor> | undefined} */
let loading;

/** Opens the editor; null while it is loaded and where it cannot be. */
function useOpenEditor() {
  const [open, setOpen] = useState(/** @type {{ openEditor: OpenEditor } | null} */ (null));
  useEffect(() => {
    let isGone = false;
    loading ??= import('./code-editor.js').then(({ openEditor }) => openEditor);
    loading.then(
      (openEditor) => {
        if (!isGone) setOpen({ openEditor });
      },
      () => {
        loading = undefined;
      },
    );
    return () => {
      isGone = true;
    };
  }, []);
  return open?.openEditor ?? null;
}

/** @param {FieldProps} props */
function PlainCode({ field, path, value, onChange }) {
  return html`<textarea
    class="mono"
    rows="14"
    spellcheck="false"
    autocomplete="off"
    wrap="off"
    ...${useTies(path, field.help)}
    value=${value ?? ''}
    onInput=${(/** @type {Typed} */ { currentTarget: { value: text } }) => onChange(text)}
  ></textarea>`;
}

/** @param {FieldProps & { openEditor: OpenEditor }} props */
function EditedCode({ field, path, value, onChange, openEditor }) {
  const { values, marks, isLocked } = useForm();
  const variables = useQuery('v1/variables', { query: { limit: 100 } }).data;
  const snippets = useQuery('v1/snippets', { query: { limit: 100 } }).data;
  const place = useRef(/** @type {HTMLElement | null} */ (null));
  const opened = useRef(/** @type {ReturnType<OpenEditor> | null} */ (null));
  const [problems, setProblems] = useState(/** @type {LineProblem[]} */ ([]));
  const { 'aria-invalid': invalid, 'aria-describedby': described } = useTies(path, field.help);
  const attributes = {
    id: idOf(path),
    tabindex: '0',
    'aria-labelledby': `${idOf(path)}-label`,
    'aria-describedby': [described, `${idOf(path)}-problems`].filter(Boolean).join(' '),
    ...(invalid !== undefined && { 'aria-invalid': invalid }),
  };
  const text = String(value ?? '');
  // What the editor calls later sees what is there then.
  const now = useRef({
    onChange,
    names: /** @type {string[]} */ ([]),
    snippets: /** @type {string[]} */ ([]),
  });
  const own = Array.isArray(values.environmentVariables) ? values.environmentVariables : [];
  now.current = {
    onChange,
    names: [...new Set([...own, ...(variables ?? [])].map(({ key }) => String(key)))],
    snippets: (snippets ?? []).map(({ name }) => name),
  };

  useEffect(() => {
    if (place.current === null) return undefined;
    const made = openEditor({
      parent: place.current,
      text,
      attributes,
      isReadOnly: isLocked,
      surroundings: {
        kind: kinds[path] ?? 'test',
        variables: () => now.current.names,
        snippets: () => now.current.snippets,
      },
      onChange: (typed) => now.current.onChange(typed),
      onProblems: setProblems,
    });
    opened.current = made;
    return () => made.close();
  }, []);
  useEffect(
    () => opened.current?.change({ attributes, isReadOnly: isLocked }),
    [JSON.stringify(attributes), isLocked],
  );
  useEffect(() => opened.current?.follow(text), [text]);
  useEffect(() => {
    const here = marks.filter((mark) => mark.path === path);
    opened.current?.mark(here);
  }, [marks]);

  return html`<div ref=${place}></div>
    <div class="line-problems" id=${`${idOf(path)}-problems`} role="status">
      ${problems.slice(0, maxListed).map(
        ({ line, message }) =>
          html`<p key=${`${line} ${message}`}>
            <button type="button" class="plain-button" onClick=${() => opened.current?.goTo(line)}>
              Line ${line}
            </button>
            <span class="issue">${message}</span>
          </p>`,
      )}
      ${problems.length > maxListed && html`<p>and ${count(problems.length - maxListed, 'more')}</p>`}
    </div>`;
}

/** @param {FieldProps} props */
export function Code(props) {
  const { field, path } = props;
  const openEditor = useOpenEditor();
  const onChange = (/** @type {unknown} */ text) =>
    props.onChange(text === '' && field.isNullable ? null : text);
  const shown =
    openEditor === null ? field : { ...field, help: [field.help, keys].filter(Boolean).join('. ') };
  return html`<${Labelled} path=${path} label=${field.label} field=${shown}>
    ${
      openEditor === null
        ? html`<${PlainCode} ...${props} onChange=${onChange} />`
        : html`<${EditedCode} ...${props} field=${shown} onChange=${onChange} openEditor=${openEditor} />`
    }
  <//>`;
}
