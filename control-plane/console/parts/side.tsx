/** Navigation: a sidebar that folds, and on a phone a bar at the bottom that opens. */
import { useContext, useEffect, useState } from 'preact/hooks';
import { listOf } from '../forms/after.ts';
import { inNumbers } from '../format.ts';
import { Me } from '../me.ts';
import { useQuery } from '../query.ts';
import { link } from '../router.ts';
import { keepJson, readJson } from '../saved-views.ts';
import { chooseTheme, theme, themes } from '../theme.ts';
import { roleName } from '../views/people-form.tsx';
import { Picture, type Glyph } from './icons.tsx';
import { Shortcuts } from './shortcuts.tsx';

/** `isRare` stands behind “More” on a phone. */
const places: { name: string; word: string; glyph: Glyph; isRare?: boolean }[] = [
  { name: 'checks', word: 'Monitors', glyph: 'monitors' },
  { name: 'alerts', word: 'Alerts', glyph: 'alerts' },
  { name: 'incidents', word: 'Incidents', glyph: 'incidents' },
  { name: 'status-pages', word: 'Status pages', glyph: 'status-pages', isRare: true },
  { name: 'locations', word: 'Locations', glyph: 'locations' },
  { name: 'test-sessions', word: 'Tests', glyph: 'tests', isRare: true },
  { name: 'settings', word: 'Settings', glyph: 'settings', isRare: true },
];

const foldedKey = 'console.sidebar';

function OpenAlertCount() {
  const { total } = useQuery('v1/check-alerts', {
    query: { limit: 1, open: true },
    everyMs: 60_000,
  });
  return (
    total !== null &&
    total > 0 && (
      <span class="count">
        {inNumbers(total)} <span class="wide-only">open</span>
      </span>
    )
  );
}

function ThemeButton() {
  const [chosen, setChosen] = useState(theme);
  useEffect(() => {
    const look = () => setChosen(theme());
    addEventListener('themechange', look);
    return () => removeEventListener('themechange', look);
  }, []);
  const next = themes[(themes.indexOf(chosen) + 1) % themes.length] ?? 'system';
  return (
    <button type="button" class="rare" onClick={() => chooseTheme(next)}>
      <Picture name="theme" />
      <span>Theme: {chosen}</span>
    </button>
  );
}

/** Who is signed in, and for which account. */
function Whoami() {
  const me = useContext(Me);
  if (me === null) return null;
  const { email, name, role, accountName } = me;
  const title =
    email === null ? `Key “${name}”, role ${role}` : `${name}, ${email}: ${roleName(role)}`;
  return (
    <a class="rare" href={link('settings', 'profile')} title={title}>
      <Picture name="person" />
      <span>{email === null ? accountName : `${name} · ${accountName}`}</span>
    </a>
  );
}

export function Side({ parts, onLeave }: { parts: string[]; onLeave: () => void }) {
  const [isFolded, setFolded] = useState(() => readJson(foldedKey).length > 0);
  const [isOpen, setOpen] = useState(false);
  useEffect(() => setOpen(false), [parts.join('/')]);
  const [place = '', form = ''] = parts;
  const isForm = place === 'new' || place === 'edit';
  const listed = isForm ? listOf(form).split('/')[1] : place;
  const current = listed === 'maintenance' ? 'incidents' : listed;
  const fold = () => {
    setFolded(!isFolded);
    keepJson(foldedKey, isFolded ? [] : ['folded']);
  };
  return (
    <header class={`side ${isFolded ? 'folded' : ''} ${isOpen ? 'open' : ''}`}>
      <a class="brand" href={link('checks')} aria-label="Console, all monitors">
        <svg viewBox="0 0 32 32" aria-hidden="true">
          <rect width="32" height="32" rx="8" />
          <path d="M5 17h5l3-8 5 15 3.500-9.500 1.500 2.500H27" />
        </svg>
        <span>Console</span>
      </a>
      <Shortcuts />
      <nav aria-label="Views">
        {places.map(({ name, word, glyph, isRare }) => (
          <a
            key={name}
            class={isRare ? 'rare' : ''}
            href={link(name)}
            title={isFolded ? word : undefined}
            aria-current={name === current ? 'page' : undefined}
          >
            <Picture name={glyph} />
            <span>{word}</span>
            {name === 'alerts' && <OpenAlertCount />}
          </a>
        ))}
      </nav>
      <div class="foot">
        <a class="rare" href="../guide/">
          <Picture name="guide" />
          <span>Guide</span>
        </a>
        <ThemeButton />
        <Whoami />
        <button type="button" class="rare" onClick={onLeave}>
          <Picture name="leave" />
          <span>Sign out</span>
        </button>
        <button type="button" class="fold" aria-expanded={!isFolded} onClick={fold}>
          <Picture name="fold" />
          <span>Sidebar</span>
        </button>
        <button
          type="button"
          class="unfold"
          aria-expanded={isOpen}
          onClick={() => setOpen(!isOpen)}
        >
          <Picture name="list" />
          <span>More</span>
        </button>
      </div>
    </header>
  );
}
