/** The command palette: any view, entry or action by a few letters of its name. Loaded when it is first opened. */
import { useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import { useMe } from '../me.ts';
import { useList, useQuery } from '../query.ts';
import { link } from '../router.ts';
import { savedViews } from '../saved-views.ts';
import { chooseTheme, themes } from '../theme.ts';
import { settingsPages } from '../views/settings-pages.ts';

interface Command {
  word: string;
  kind: string;
  /** The address that it leads to, or what it does. */
  go: string | (() => void);
  text: string;
}

const maxShown = 12;
/** Groups stand among the monitors. */
const mostRead = 50;

/** `more` are words by which it is found as well. */
const command = (word: string, kind: string, go: Command['go'], more = ''): Command => ({
  word,
  kind,
  go,
  text: `${word} ${kind} ${more}`.toLowerCase(),
});

const views = [
  command('Monitors', 'view', link('checks'), 'checks'),
  command('Failing monitors', 'view', `${link('checks')}?state=FAILING`, 'checks'),
  command('Alerts', 'view', link('alerts')),
  command('Incidents', 'view', link('incidents')),
  command('Maintenance', 'view', link('maintenance')),
  command('Status pages', 'view', link('status-pages')),
  command('Locations and agents', 'view', link('locations')),
  command('Tests', 'view', link('test-sessions')),
  ...settingsPages.map(([name, word]) => command(word, 'settings', link('settings', name))),
];

const news = [
  ['check', 'New monitor', 'check'],
  ['checks', 'Import', 'new monitors checks list files'],
  ['incident', 'New incident'],
  ['window', 'New maintenance window'],
  ['page', 'New status page'],
  ['location', 'New location', 'agent'],
  ['channel', 'New channel'],
  ['policy', 'New escalation policy'],
  ['group', 'New group'],
  ['variable', 'New variable'],
  ['key', 'New API key'],
] as const;

const actions = [
  ...news.map(([name, word, more]) => command(word, 'action', link('new', name), more)),
  command('Invite people', 'action', link('settings', 'people')),
];

const themeCommands = themes.map((one) =>
  command(`Theme: ${one}`, 'action', () => chooseTheme(one)),
);

/** Entries by their names: kind, path of the list, and the address of one. */
const entities: [kind: string, path: string, at: (id: string) => string][] = [
  ['group', 'v1/check-groups', (id) => link('edit', 'group', id)],
  ['status page', 'v1/status-pages', (id) => link('edit', 'page', id)],
  ['location', 'v1/private-locations', (id) => link('locations', id)],
  ['channel', 'v1/alert-channels', (id) => link('edit', 'channel', id)],
  ['escalation policy', 'v1/escalation-policies', (id) => link('edit', 'policy', id)],
  ['maintenance window', 'v1/maintenance-windows', (id) => link('edit', 'window', id)],
  ['service', 'v1/status-pages/services', (id) => link('edit', 'service', id)],
];

/** The actions of the view below, found where they stand: each view offers its own. */
function actionsHere(): Command[] {
  const buttons = document.querySelectorAll<HTMLElement>(
    'main :is(.title-line .actions > *, .section-head > .button):not(:disabled)',
  );
  const title = document.querySelector('main h1')?.textContent ?? '';
  return [...buttons].map((button) =>
    command(button.innerText.trim(), title, () => button.click(), 'this check monitor'),
  );
}

/** Locations have no pages. */
const whole = { limit: 100 };

function useEntities(): Command[] {
  // The order of the table never changes, so neither does that of the hooks.
  const reads = entities.map(([kind, path]) => useList(path, kind === 'location' ? {} : whole));
  return entities.flatMap(([kind, , at], index) =>
    (reads[index]?.data ?? []).map(({ id, name }) =>
      command(String(name ?? id), kind, at(String(id))),
    ),
  );
}

/** What begins with the typed words comes first, then by the order of the list. */
function found(options: Command[], typed: string): Command[] {
  const words = typed.toLowerCase().split(/\s+/).filter(Boolean);
  const isFound = ({ text }: Command) => words.every((word) => text.includes(word));
  const begins = ({ text }: Command) => Number(text.startsWith(typed.toLowerCase()));
  return options
    .filter(isFound)
    .sort((left, right) => begins(right) - begins(left))
    .slice(0, maxShown);
}

/** What the name of a monitor is to have: the server knows no kinds. */
function nameIn(typed: string) {
  const words = typed.toLowerCase().split(/\s+/);
  return words.filter((word) => !'monitor'.includes(word)).join(' ');
}

export function Palette({ onClose }: { onClose: () => void }) {
  const { mayWrite } = useMe();
  const [typed, setTyped] = useState('');
  const { data: checks } = useQuery('v1/check-overview/list', {
    ...{ query: { name: nameIn(typed), sort: 'name', runs: 0, limit: mostRead }, keepsOld: true },
  });
  const [chosen, setChosen] = useState(0);
  const dialog = useRef<HTMLDialogElement | null>(null);
  useLayoutEffect(() => dialog.current?.showModal(), []);
  const here = useMemo(actionsHere, []);
  const monitors = useMemo(
    () =>
      (checks?.lines ?? []).flatMap(({ check }) =>
        check === null ? [] : command(check.name, 'monitor', link('checks', check.id)),
      ),
    [checks],
  );
  const others = useEntities();
  const options = [
    ...here,
    ...views,
    ...(mayWrite ? actions : []),
    ...themeCommands,
    ...savedViews().map(({ name, search }) =>
      command(name, 'saved view', `${link('checks')}?${search}`),
    ),
    ...monitors,
    ...others,
  ];
  const shown = found(options, typed.trim());
  const at = Math.min(chosen, shown.length - 1);
  const go = (one: Command | undefined) => {
    if (one === undefined) return;
    dialog.current?.close();
    if (typeof one.go === 'string') location.hash = one.go;
    else one.go();
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
        aria-label="Monitor, view or action"
        aria-expanded="true"
        aria-controls="palette-options"
        aria-activedescendant={at >= 0 ? `palette-${at}` : undefined}
        aria-autocomplete="list"
        placeholder="Monitor, view or action"
        maxlength={200}
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
            key={`${one.kind} ${one.word} ${index}`}
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
        {shown.length === 0 ? 'No matches' : ''}
      </p>
    </dialog>
  );
}

const keys: [keys: string, what: string][] = [
  ['Ctrl K', 'go to a monitor, a view or an action'],
  ['/', 'search monitors'],
  ['j, k', 'next and previous monitor'],
  ['Enter', 'open the monitor'],
  ['x', 'select the monitor; with the mouse, Shift selects a range'],
  ['?', 'show this list'],
];

export function Keys({ onClose }: { onClose: () => void }) {
  const dialog = useRef<HTMLDialogElement | null>(null);
  useLayoutEffect(() => dialog.current?.showModal(), []);
  return (
    <dialog class="ask" ref={dialog} onClose={onClose} aria-labelledby="keys-title">
      <h2 id="keys-title">Keyboard shortcuts</h2>
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
