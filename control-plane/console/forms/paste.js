/** Many checks at once: a line for each. */
import { html, useMemo, useState } from '../dom.js';
import { toProblem } from '../api.js';
import { forms } from '../form-facts.js';
import { count, typeName } from '../format.js';
import { useMe } from '../me.js';
import { Table } from '../parts/layout.js';
import { wordsOf } from '../parts/notices.js';
import { useQuery } from '../query.js';
import { link } from '../router.js';
import { draftOf, dropDraft, keepDraft } from './drafts.js';
import { FormContext } from './context.js';
import { createLine, sharedByLines } from './create-line.js';
import { Field } from './field.js';
import { readLine } from './read-line.js';

const draftKey = 'new checks';

/** @typedef {Event & { currentTarget: HTMLTextAreaElement }} Typed */

export function PasteView() {
  const { mayWrite } = useMe();
  const places = useQuery('v1/private-locations');
  const channels = useQuery('v1/alert-channels', { query: { limit: 100 } });
  const form = forms['check-URL'];
  const [text, setText] = useState(String(draftOf(draftKey)?.values.text ?? ''));
  const [own, setOwn] = useState(/** @type {Record<string, unknown>} */ ({}));
  const [states, setStates] = useState(/** @type {Map<string, string>} */ (new Map()));
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
    change: (/** @type {Record<string, unknown>} */ changes) => setOwn({ ...own, ...changes }),
    issueAt: () => undefined,
    hasIssueBelow: () => false,
    refuse: () => {},
    isNew: true,
  };
  return html`<h1>New checks from a list</h1>
    <${FormContext.Provider} value=${context}>
      <section class="card">
        <label class="field block"
          ><span>A target a line, with a name before or after it</span
          ><textarea
            class="mono"
            rows="10"
            spellcheck="false"
            placeholder=${'Shop https://shop.example/health\ndb.example:5432 Database\nrouter.example'}
            value=${text}
            onInput=${(/** @type {Typed} */ { currentTarget: { value } }) => {
              setText(value);
              keepDraft(draftKey, { base: {}, values: { text: value } });
            }}
          ></textarea>
          <span class="help"
            >URLs become URL monitors, <code>host:port</code> TCP monitors, hosts ICMP monitors,${' '}
            <code>dns://host</code> DNS monitors.</span
          ></label
        >
        ${['frequency', 'privateLocations', 'tags'].map(
          (name) =>
            html`<${Field}
              key=${name}
              field=${form.fields[name]}
              path=${name}
              value=${shared[name]}
              onChange=${(/** @type {unknown} */ value) => setOwn({ ...own, [name]: value })}
            />`,
        )}
      </section>
    <//>
    ${
      lines.length > 0 &&
      html`<${Table} label="Checks" columns=${['Type', 'Name', 'Outcome']}>
        ${lines.map(
          ({ line, read }, index) =>
            html`<tr key=${index}>
              <td>${read === null ? '' : typeName(read.type)}</td>
              <th scope="row">${read?.name ?? line}</th>
              <td>
                ${
                  read === null
                    ? html`<span class="bad">No target found in this line</span>`
                    : (states.get(line) ?? '')
                }
              </td>
            </tr>`,
        )}
      <//>`
    }
    <div class="form-end">
      <button
        type="button"
        class="primary"
        disabled=${isBusy || good.length === 0 || !mayWrite}
        onClick=${create}
      >
        ${isBusy ? 'Creating …' : `Create ${count(good.length, 'check')}`}
      </button>
      <a class="button" href=${link('checks')}>Cancel</a>
    </div>`;
}
