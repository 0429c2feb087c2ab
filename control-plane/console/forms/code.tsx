/** The field of a script. It is a plain one until the editor is there, and stays one where that cannot be loaded. */
import type { LineProblem, openEditor } from './code-editor.ts';
import { useEffect, useRef, useState } from 'preact/hooks';
import { count } from '../format.ts';
import { useQuery } from '../query.ts';
import { idOf, useForm } from './context.ts';
import { Labelled, useTies, type FieldProps } from './labelled.tsx';

type OpenEditor = typeof openEditor;

const kinds: Record<string, 'setup' | 'teardown'> = {
  localSetupScript: 'setup',
  localTearDownScript: 'teardown',
};

const keys =
  'Tab indents; press Escape, then Tab, to leave the field. Ctrl+Space completes, Ctrl+F finds.';
/** Listed below the field; the others are marked in it. */
const maxListed = 5;

let loading: Promise<OpenEditor> | undefined;

/** Opens the editor; null while it is loaded and where it cannot be. */
function useOpenEditor() {
  const [open, setOpen] = useState<{ openEditor: OpenEditor } | null>(null);
  useEffect(() => {
    let isGone = false;
    loading ??= import('./code-editor.ts').then(({ openEditor }) => openEditor);
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

function PlainCode({ field, path, value, onChange }: FieldProps) {
  return (
    <textarea
      class="mono"
      rows={14}
      spellcheck={false}
      autocomplete="off"
      wrap="off"
      {...useTies(path, field.help)}
      value={String(value ?? '')}
      onInput={({ currentTarget: { value: text } }) => onChange(text)}
    />
  );
}

function EditedCode({
  field,
  path,
  value,
  onChange,
  openEditor,
}: FieldProps & { openEditor: OpenEditor }) {
  const { values, marks, isLocked } = useForm();
  const variables = useQuery('v1/variables', { query: { limit: 100 } }).data;
  const snippets = useQuery('v1/snippets', { query: { limit: 100 } }).data;
  const place = useRef<HTMLDivElement | null>(null);
  const opened = useRef<ReturnType<OpenEditor> | null>(null);
  const [problems, setProblems] = useState<LineProblem[]>([]);
  const { 'aria-invalid': invalid, 'aria-describedby': described } = useTies(path, field.help);
  const attributes = {
    id: idOf(path),
    tabindex: '0',
    'aria-labelledby': `${idOf(path)}-label`,
    'aria-describedby': [described, `${idOf(path)}-problems`].filter(Boolean).join(' '),
    ...(invalid !== undefined && { 'aria-invalid': String(invalid) }),
  };
  const text = String(value ?? '');
  // What the editor calls later sees what is there then.
  const now = useRef({
    onChange,
    names: [] as string[],
    snippets: [] as string[],
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

  return (
    <>
      <div ref={place} />
      <div class="line-problems" id={`${idOf(path)}-problems`} role="status">
        {problems.slice(0, maxListed).map(({ line, message }) => (
          <p key={`${line} ${message}`}>
            <button type="button" class="plain-button" onClick={() => opened.current?.goTo(line)}>
              Line {line}
            </button>
            <span class="issue">{message}</span>
          </p>
        ))}
        {problems.length > maxListed && <p>and {count(problems.length - maxListed, 'more')}</p>}
      </div>
    </>
  );
}

export function Code(props: FieldProps) {
  const { field, path } = props;
  const openEditor = useOpenEditor();
  const onChange = (text: unknown) => props.onChange(text === '' && field.isNullable ? null : text);
  const shown =
    openEditor === null ? field : { ...field, help: [field.help, keys].filter(Boolean).join('. ') };
  return (
    <Labelled path={path} label={field.label} field={shown}>
      {openEditor === null ? (
        <PlainCode {...props} onChange={onChange} />
      ) : (
        <EditedCode {...props} field={shown} onChange={onChange} openEditor={openEditor} />
      )}
    </Labelled>
  );
}
