/** The frame of every view: navigation and account. */
import { useEffect, useRef, useState } from 'preact/hooks';
import { Me } from '../me.ts';
import { useQuery } from '../query.ts';
import { link, useRoute, type Route } from '../router.ts';
import { ownDrafts } from '../forms/drafts.ts';
import { signOut } from '../session.ts';
import { PeopleLinks, peopleViewOf, Whoami } from '../views/people-views.tsx';
import { AgentsView } from '../views/agents.tsx';
import { AlertsView } from '../views/alerts.tsx';
import { CheckView } from '../views/check.tsx';
import { ChecksView } from '../views/checks.tsx';
import { IncidentsView } from '../views/incidents.tsx';
import { ResultView } from '../views/result.tsx';
import { TestSessionsView, TestSessionView } from '../views/test-sessions.tsx';
import { Deletions, useHeldDeletions } from '../held-deletions.ts';
import { late } from './late.tsx';
import { Empty, UnreachableNotice } from './notices.tsx';
import { Shortcuts } from './shortcuts.tsx';

const EditView = late(() => import('../forms/edit.tsx').then((module) => module.EditView));
const SettingsView = late(() =>
  import('../forms/settings.tsx').then((module) => module.SettingsView),
);
const LocationView = late(() =>
  import('../forms/location.tsx').then((module) => module.LocationView),
);
const IncidentView = late(() =>
  import('../forms/incident.tsx').then((module) => module.IncidentView),
);
const HeldNotices = late(() => import('./held.tsx').then((module) => module.HeldNotices));
const PasteView = late(() => import('../forms/paste.tsx').then((module) => module.PasteView));

function HeldDeletions() {
  return useHeldDeletions().length > 0 && <HeldNotices />;
}

const none: [] = [];

const places: [name: string, word: string][] = [
  ['checks', 'Checks'],
  ['alerts', 'Alerts'],
  ['test-sessions', 'Tests'],
  ['agents', 'Agents'],
  ['incidents', 'Incidents'],
  ['settings', 'Settings'],
];

function viewOf({ parts, query }: Route) {
  const [place = 'checks', id, what, resultId] = parts;
  const own = peopleViewOf(place, query);
  if (own !== null) return own;
  switch (place) {
    case 'checks':
      if (id === undefined) return <ChecksView query={query} />;
      if (what === 'results' && resultId !== undefined) {
        return <ResultView key={resultId} checkId={id} resultId={resultId} />;
      }
      return <CheckView key={id} checkId={id} query={query} />;
    case 'alerts':
      return <AlertsView query={query} />;
    case 'test-sessions':
      if (id !== undefined) return <TestSessionView key={id} id={id} />;
      return <TestSessionsView query={query} />;
    case 'agents':
      return <AgentsView />;
    case 'incidents':
      if (id !== undefined) return <IncidentView key={id} id={id} />;
      return <IncidentsView />;
    case 'locations':
      return <LocationView key={id} id={id ?? ''} />;
    case 'settings':
      return <SettingsView name={id} />;
    case 'new':
      if (id === 'checks') return <PasteView />;
      return <EditView key={`new ${id} ${query.from}`} name={id ?? 'check'} query={query} />;
    case 'edit':
      return <EditView key={`${id} ${what}`} name={id ?? ''} id={what} query={query} />;
    default:
      return (
        <>
          <h1>Nothing here</h1>
          <Empty title="There is no such page">
            <a href={link('checks')}>All checks</a>
          </Empty>
        </>
      );
  }
}

export function Shell() {
  const route = useRoute();
  const me = useQuery('v1/users/me');
  const held = useQuery('v1/deletions', { everyMs: 10_000, liveMs: 60_000 });
  const main = useRef<HTMLElement | null>(null);
  const place = route.parts.join('/');
  const isFirst = useRef(true);
  const [problem, setProblem] = useState<string | null>(null);

  // Screen readers and the keyboard start at the new view, not at the navigation.
  useEffect(() => {
    if (isFirst.current) {
      isFirst.current = false;
      return;
    }
    scrollTo(0, 0);
    main.current?.focus({ preventScroll: true });
  }, [place]);

  useEffect(() => {
    const observer = new MutationObserver(() => {
      const title = main.current?.querySelector('h1')?.textContent;
      document.title = title ? `${title} · Console` : 'Console';
    });
    if (main.current === null) return undefined;
    observer.observe(main.current, { childList: true, subtree: true, characterData: true });
    return () => observer.disconnect();
  }, []);

  const current = route.parts[0] ?? 'checks';
  const skip = (event: Event) => {
    event.preventDefault();
    main.current?.focus();
  };
  const leave = async () => {
    const isDone = await signOut();
    setProblem(isDone ? null : 'You are still signed in: the control plane cannot be reached.');
  };
  if (me.data !== undefined) ownDrafts(me.data);
  return (
    <Me.Provider value={me.data ?? null}>
      <a class="skip" href="#main" onClick={skip}>
        Skip to the content
      </a>
      <header class="top">
        <a class="brand" href={link('checks')} aria-label="Console, all checks">
          <svg viewBox="0 0 32 32" aria-hidden="true">
            <rect width="32" height="32" rx="8" />
            <path d="M5 17h5l3-8 5 15 3.500-9.500 1.500 2.500H27" />
          </svg>
          <span>Console</span>
        </a>
        <nav aria-label="Views">
          {places.map(([name, word]) => (
            <a key={name} href={link(name)} aria-current={name === current ? 'page' : undefined}>
              {word}
            </a>
          ))}
          <PeopleLinks current={current} />
        </nav>
        <div class="account">
          <Shortcuts />
          <a href="../guide/">Guide</a>
          <Whoami />
          <button type="button" class="plain-button" onClick={() => void leave()}>
            Sign out
          </button>
        </div>
      </header>
      <UnreachableNotice />
      {problem && (
        <p class="notice failure unreachable" role="alert">
          {problem}
        </p>
      )}
      <Deletions.Provider value={held.data ?? none}>
        <main id="main" ref={main} tabindex={-1}>
          {viewOf(route)}
        </main>
        <HeldDeletions />
      </Deletions.Provider>
    </Me.Provider>
  );
}
