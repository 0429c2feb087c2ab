/** The frame of every view: navigation and account. */
import { useEffect, useRef, useState } from 'preact/hooks';
import { Me } from '../me.ts';
import { useQuery } from '../query.ts';
import { link, useRoute, type Route } from '../router.ts';
import { ownDrafts } from '../forms/drafts.ts';
import { bindThis } from '../own-device.ts';
import { signOut } from '../session.ts';
import { ChecksView } from '../views/checks.tsx';
import { Deletions, useHeldDeletions } from '../held-deletions.ts';
import { late } from './late.tsx';
import { Empty, UnreachableNotice } from './notices.tsx';
import { Side } from './side.tsx';

const EditView = late(() => import('../forms/edit.tsx').then((all) => all.EditView));
const AlertsView = late(() => import('../views/alerts.tsx').then((all) => all.AlertsView));
const CheckView = late(() => import('../views/check.tsx').then((all) => all.CheckView));
const ResultView = late(() => import('../views/result.tsx').then((all) => all.ResultView));
const TestSessionsView = late(() =>
  import('../views/test-sessions.tsx').then((all) => all.TestSessionsView),
);
const TestSessionView = late(() =>
  import('../views/test-sessions.tsx').then((all) => all.TestSessionView),
);
const AgentsView = late(() => import('../views/agents.tsx').then((all) => all.AgentsView));
const IncidentsView = late(() => import('../views/incidents.tsx').then((all) => all.IncidentsView));
const MaintenanceView = late(() =>
  import('../views/incidents.tsx').then((all) => all.MaintenanceView),
);
const StatusPagesView = late(() =>
  import('../views/status-pages.tsx').then((all) => all.StatusPagesView),
);
const ConnectView = late(() => import('../views/connect.tsx').then((all) => all.ConnectView));
const ComponentsView = late(() =>
  import('../views/components.tsx').then((all) => all.ComponentsView),
);
const SettingsView = late(() => import('../views/settings.tsx').then((all) => all.SettingsView));
const LocationView = late(() => import('../forms/location.tsx').then((all) => all.LocationView));
const IncidentView = late(() => import('../forms/incident.tsx').then((all) => all.IncidentView));
const HeldNotices = late(() => import('./held.tsx').then((all) => all.HeldNotices));
const PasteView = late(() => import('../forms/paste.tsx').then((all) => all.PasteView));

function HeldDeletions() {
  return useHeldDeletions().length > 0 && <HeldNotices />;
}

const none: [] = [];

/** Addresses of earlier versions, which mails and bookmarks name. */
const moved: Partial<Record<string, string[]>> = {
  agents: ['locations'],
  people: ['settings', 'people'],
  audit: ['settings', 'audit'],
  profile: ['settings', 'profile'],
};

function viewOf({ parts, query }: Route) {
  const [place = 'checks', id, what, resultId] = parts;
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
    case 'incidents':
      if (id !== undefined) return <IncidentView key={id} id={id} />;
      return <IncidentsView />;
    case 'maintenance':
      return <MaintenanceView />;
    case 'status-pages':
      return <StatusPagesView />;
    case 'locations':
      return id === undefined ? <AgentsView /> : <LocationView key={id} id={id} />;
    case 'settings':
      return <SettingsView name={id} id={what} query={query} />;
    case 'components':
      return <ComponentsView />;
    case 'connect':
      return <ConnectView query={query} />;
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
            <a href={link('checks')}>All monitors</a>
          </Empty>
        </>
      );
  }
}

export function Shell() {
  const { parts, query } = useRoute();
  const [first = 'checks', ...rest] = parts;
  const route = { parts: [...(moved[first] ?? [first]), ...rest], query };
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

  // The next opening tries again.
  useEffect(() => void bindThis().catch(() => {}), []);
  useEffect(() => {
    const observer = new MutationObserver(() => {
      const title = main.current?.querySelector('h1')?.textContent;
      document.title = title ? `${title} · Console` : 'Console';
    });
    if (main.current === null) return undefined;
    observer.observe(main.current, { childList: true, subtree: true, characterData: true });
    return () => observer.disconnect();
  }, []);

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
      <Side parts={route.parts} onLeave={() => void leave()} />
      <div class="content">
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
      </div>
    </Me.Provider>
  );
}
