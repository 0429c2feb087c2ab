/** Many checks at once: a line for each. */
import { useMemo, useState } from 'preact/hooks';
import { toProblem } from '../problem.ts';
import { forms } from '../form-facts.ts';
import { count, typeName } from '../format.ts';
import { useMe } from '../me.ts';
import { Table } from '../parts/layout.tsx';
import { wordsOf } from '../parts/notices.tsx';
import { useQuery } from '../query.ts';
import { link } from '../router.ts';
import { draftOf, dropDraft, keepDraft } from './drafts.ts';
import { FormContext } from './context.ts';
import { createLine, sharedByLines } from './create-line.ts';
import { Field } from './field.tsx';
import { ImportFiles } from './import-files.tsx';
import { readLine } from './read-line.ts';
import { textsOf } from './values.ts';

const draftKey = 'new checks';

export function PasteView() {
  const { mayWrite } = useMe();
  const places = useQuery('v1/private-locations');
  const channels = useQuery('v1/alert-channels', { query: { limit: 100 } });
  const form = forms['check-URL'];
  const [text, setText] = useState(String(draftOf(draftKey)?.values.text ?? ''));
  const [own, setOwn] = useState<Record<string, unknown>>({});
  const [states, setStates] = useState<Map<string, string>>(new Map());
  const [isBusy, setBusy] = useState(false);
  const lines = useMemo(
    () =>
      text
        .split('\n')
        .map((line) => line.trim())
        .filter((line) => line !== '')
        .map((line) => ({ line, read: readLine(line) })),
    [text],
  );
  if (form === undefined) return null;
  const shared = { ...sharedByLines(places.data ?? [], channels.data ?? []), ...own };
  const good = lines.filter(({ line, read }) => read !== null && states.get(line) !== 'created');

  const create = async () => {
    setBusy(true);
    const next = new Map(states);
    for (const { line, read } of good) {
      if (read === null) continue;
      try {
        await createLine(read, shared);
        next.set(line, 'created');
      } catch (error) {
        const problem = toProblem(error);
        next.set(line, wordsOf(problem));
        if (problem.status === 0 || problem.status === 401) break;
      }
      setStates(new Map(next));
    }
    setStates(next);
    setBusy(false);
    if (lines.every(({ line }) => next.get(line) === 'created')) {
      dropDraft(draftKey);
      location.hash = link('checks');
    }
  };
  const context = {
    values: shared,
    change: (changes: Record<string, unknown>) => setOwn({ ...own, ...changes }),
    issueAt: () => undefined,
    hasIssueBelow: () => false,
    refuse: () => {},
    ...{ id: undefined, isNew: true, isLocked: false, marks: [], mark: () => {} },
  };
  return (
    <>
      <h1>Import monitors</h1>
      <FormContext.Provider value={context}>
        <section class="card">
          <label class="field block">
            <span>One target per line, optionally with a name before or after it</span>
            <textarea
              class="mono"
              rows={10}
              spellcheck={false}
              placeholder={
                'Shop https://shop.example/health\ndb.example:5432 Database\nrouter.example'
              }
              value={text}
              onInput={({ currentTarget: { value } }) => {
                setText(value);
                keepDraft(draftKey, { base: {}, values: { text: value } });
              }}
            />
            <span class="help">
              URLs become URL monitors, <code>host:port</code> TCP monitors, hosts ICMP monitors,{' '}
              <code>dns://host</code> DNS monitors.
            </span>
          </label>
          {['frequency', 'privateLocations', 'tags'].map((name) => {
            const field = form.fields[name];
            return (
              field && (
                <Field
                  key={name}
                  field={field}
                  path={name}
                  value={shared[name]}
                  onChange={(value) => setOwn({ ...own, [name]: value })}
                />
              )
            );
          })}
        </section>
      </FormContext.Provider>
      {lines.length > 0 && (
        <Table label="Monitors" columns={['Type', 'Name', 'Target', 'Outcome']}>
          {lines.map(({ line, read }, index) => (
            <tr key={index}>
              <td>{read === null ? '' : typeName(read.type)}</td>
              <th scope="row">{read?.name ?? line}</th>
              <td class="breakable">{read !== null && line}</td>
              <td>
                {read === null ? (
                  <span class="bad">No target found in this line</span>
                ) : (
                  (states.get(line) ?? '')
                )}
              </td>
            </tr>
          ))}
        </Table>
      )}
      <div class="form-end">
        <button
          type="button"
          class="primary"
          disabled={isBusy || good.length === 0 || !mayWrite}
          onClick={() => void create()}
        >
          {isBusy ? 'Creating …' : `Create ${count(good.length, 'monitor')}`}
        </button>
        <a class="button" href={link('checks')}>
          Cancel
        </a>
      </div>
      {lines.length === 0 && <ImportFiles locations={textsOf(shared.privateLocations)} />}
    </>
  );
}
