/** The command palette: any check or view by a few letters of its name. Loaded when it is first opened. */
import { useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import { useMe } from '../me.ts';
import { useQuery } from '../query.ts';
import { link } from '../router.ts';
import { savedViews } from '../saved-views.ts';

interface Command {
  word: string;
  kind: string;
  href: string;
  text: string;
}

const maxShown = 12;

const command = (word: string, kind: string, href: string): Command => ({
  word,
  kind,
  href,
  text: `${word} ${kind}`.toLowerCase(),
});

const views = [
  command('Checks', 'view', link('checks')),
  command('Failing checks', 'view', `${link('checks')}?state=FAILING`),
  command('Alerts', 'view', link('alerts')),
  command('Tests', 'view', link('test-sessions')),
  command('Agents', 'view', link('agents')),
  command('Incidents', 'view', link('incidents')),
  command('Settings', 'view', link('settings')),
];
const actions = [
  command('New check', 'action', link('new', 'check')),
  command('Checks from a list', 'action', link('new', 'checks')),
  command('New location', 'action', link('new', 'location')),
  command('New incident', 'action', link('new', 'incident')),
];

function found(options: Command[], typed: string): Command[] {
  const words = typed.toLowerCase().split(/\s+/).filter(Boolean);
  const isFound = ({ text }: Command) => words.every((word) => text.includes(word));
  const begins = ({ text }: Command) => Number(text.startsWith(typed.toLowerCase()));
  return options
    .filter(isFound)
    .sort((left, right) => begins(right) - begins(left))
    .slice(0, maxShown);
}

export function Palette({ onClose }: { onClose: () => void }) {
  const { mayWrite } = useMe();
  const { data: checks } = useQuery('v1/check-overview', { query: { runs: 0 } });
  const [typed, setTyped] = useState('');
  const [chosen, setChosen] = useState(0);
  const dialog = useRef<HTMLDialogElement | null>(null);
  useLayoutEffect(() => dialog.current?.showModal(), []);
  const options = useMemo(
    () => [
      ...views,
      ...(mayWrite ? actions : []),
      ...savedViews().map(({ name, search }) =>
        command(name, 'saved view', `${link('checks')}?${search}`),
      ),
      ...(checks ?? []).map(({ id, name }) => command(name, 'check', link('checks', id))),
    ],
    [checks, mayWrite],
  );
  const shown = found(options, typed.trim());
  const at = Math.min(chosen, shown.length - 1);
  const go = (one: Command | undefined) => {
    if (one === undefined) return;
    dialog.current?.close();
    location.hash = one.href;
  };
  const onKey = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step !== undefined) {
      event.preventDefault();
      setChosen(Math.max(0, Math.min(shown.length - 1, at + step)));
    } else if (event.key === 'Enter') {
      event.preventDefault();
      go(shown[at]);
    }
  };
  return (
    <dialog class="palette" ref={dialog} onClose={onClose} aria-label="Go to">
      <input
        type="text"
        role="combobox"
        aria-label="Check, view or action"
        aria-expanded="true"
        aria-controls="palette-options"
        aria-activedescendant={at >= 0 ? `palette-${at}` : undefined}
        aria-autocomplete="list"
        placeholder="Check, view or action"
        autocomplete="off"
        autofocus
        onKeyDown={onKey}
        onInput={(event) => {
          setTyped(event.currentTarget.value);
          setChosen(0);
        }}
      />
      <ul id="palette-options" role="listbox" aria-label="Found">
        {shown.map((one, index) => (
          <li
            key={one.href + one.word}
            id={`palette-${index}`}
            role="option"
            aria-selected={index === at}
            onClick={() => go(one)}
          >
            {one.word} <span>{one.kind}</span>
          </li>
        ))}
      </ul>
      <p class="palette-none" role="status">
        {shown.length === 0 ? 'Nothing has this name.' : ''}
      </p>
    </dialog>
  );
}

const keys: [keys: string, what: string][] = [
  ['Ctrl K', 'go to a check, a view or an action'],
  ['/', 'search the list of checks'],
  ['j, k', 'next and previous check'],
  ['Enter', 'open the check'],
  ['x', 'select the check; with the mouse, Shift selects a range'],
  ['?', 'these keys'],
];

export function Keys({ onClose }: { onClose: () => void }) {
  const dialog = useRef<HTMLDialogElement | null>(null);
  useLayoutEffect(() => dialog.current?.showModal(), []);
  return (
    <dialog class="ask" ref={dialog} onClose={onClose} aria-labelledby="keys-title">
      <h2 id="keys-title">Keys</h2>
      <dl class="facts wide">
        {keys.map(([key, what]) => (
          <div key={key}>
            <dt>
              <kbd>{key}</kbd>
            </dt>
            <dd>{what}</dd>
          </div>
        ))}
      </dl>
      <form method="dialog" class="form-end">
        <button autofocus>Close</button>
      </form>
    </dialog>
  );
}
