/** The frame of every view: navigation and account. */
/** @import { Route } from '../router.js' */
import { html, useEffect, useRef, useState } from '../dom.js';
import { Me } from '../me.js';
import { useQuery } from '../query.js';
import { link, useRoute } from '../router.js';
import { ownDrafts } from '../forms/drafts.js';
import { signOut } from '../session.js';
import { PeopleLinks, peopleViewOf, Whoami } from '../views/people-views.js';
import { AgentsView } from '../views/agents.js';
import { AlertsView } from '../views/alerts.js';
import { CheckView } from '../views/check.js';
import { ChecksView } from '../views/checks.js';
import { IncidentsView } from '../views/incidents.js';
import { ResultView } from '../views/result.js';
import { TestSessionsView, TestSessionView } from '../views/test-sessions.js';
import { Deletions, useHeldDeletions } from '../held-deletions.js';
import { late } from './late.js';
import { Empty, UnreachableNotice } from './notices.js';
import { Shortcuts } from './shortcuts.js';

const EditView = late(() => import('../forms/edit.js').then((module) => module.EditView));
const SettingsView = late(() =>
  import('../forms/settings.js').then((module) => module.SettingsView),
);
const LocationView = late(() =>
  import('../forms/location.js').then((module) => module.LocationView),
);
const IncidentView = late(() =>
  import('../forms/incident.js').then((module) => module.IncidentView),
);
const HeldNotices = late(() => import('./held.js').then((module) => module.HeldNotices));
const PasteView = late(() => import('../forms/paste.js').then((module) => module.PasteView));

function HeldDeletions() {
  return useHeldDeletions().length > 0 && html`<${HeldNotices} />`;
}

/** @type {[]} */
const none = [];

/** @type {[name: string, word: string][]} */
const places = [
  ['checks', 'Checks'],
  ['alerts', 'Alerts'],
  ['test-sessions', 'Tests'],
  ['agents', 'Agents'],
  ['incidents', 'Incidents'],
  ['settings', 'Settings'],
];

/** @param {Route} route */
function viewOf({ parts, query }) {
  const [place = 'checks', id, what, resultId] = parts;
  const own = peopleViewOf(place, query);
  if (own !== null) return own;
  switch (place) {
    case 'checks':
      if (id === undefined) return html`<${ChecksView} query=${query} />`;
      if (what === 'results' && resultId !== undefined) {
        return html`<${ResultView} key=${resultId} checkId=${id} resultId=${resultId} />`;
      }
      return html`<${CheckView} key=${id} checkId=${id} query=${query} />`;
    case 'alerts':
      return html`<${AlertsView} query=${query} />`;
    case 'test-sessions':
      if (id !== undefined) return html`<${TestSessionView} key=${id} id=${id} />`;
      return html`<${TestSessionsView} query=${query} />`;
    case 'agents':
      return html`<${AgentsView} />`;
    case 'incidents':
      if (id !== undefined) return html`<${IncidentView} key=${id} id=${id} />`;
      return html`<${IncidentsView} />`;
    case 'locations':
      return html`<${LocationView} key=${id} id=${id ?? ''} />`;
    case 'settings':
      return html`<${SettingsView} name=${id} />`;
    case 'new':
      if (id === 'checks') return html`<${PasteView} />`;
      return html`<${EditView} key=${`new ${id} ${query.from}`} name=${id ?? 'check'} query=${query} />`;
    case 'edit':
      return html`<${EditView} key=${`${id} ${what}`} name=${id ?? ''} id=${what} query=${query} />`;
    default:
      return html`<h1>Nothing here</h1>
        <${Empty} title="There is no such page">
          <a href=${link('checks')}>All checks</a>
        <//>`;
  }
}

export function Shell() {
  const route = useRoute();
  const me = useQuery('v1/users/me');
  const held = useQuery('v1/deletions', { everyMs: 10_000, liveMs: 60_000 });
  const main = useRef(/** @type {HTMLElement | null} */ (null));
  const place = route.parts.join('/');
  const isFirst = useRef(true);
  const [problem, setProblem] = useState(/** @type {string | null} */ (null));

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
  const skip = (/** @type {Event} */ event) => {
    event.preventDefault();
    main.current?.focus();
  };
  const leave = async () => {
    const isDone = await signOut();
    setProblem(isDone ? null : 'You are still signed in: the control plane cannot be reached.');
  };
  if (me.data !== undefined) ownDrafts(me.data);
  return html`<${Me.Provider} value=${me.data ?? null}>
    <a class="skip" href="#main" onClick=${skip}>Skip to the content</a>
    <header class="top">
      <a class="brand" href=${link('checks')} aria-label="Console, all checks">
        <svg viewBox="0 0 32 32" aria-hidden="true">
          <rect width="32" height="32" rx="8" />
          <path d="M5 17h5l3-8 5 15 3.500-9.500 1.500 2.500H27" />
        </svg>
        <span>Console</span>
      </a>
      <nav aria-label="Views">
        ${places.map(
          ([name, word]) =>
            html`<a
              key=${name}
              href=${link(name)}
              aria-current=${name === current ? 'page' : undefined}
              >${word}</a
            >`,
        )}
        <${PeopleLinks} current=${current} />
      </nav>
      <div class="account">
        <${Shortcuts} />
        <a href="../guide/">Guide</a>
        <${Whoami} />
        <button type="button" class="plain-button" onClick=${leave}>Sign out</button>
      </div>
    </header>
    <${UnreachableNotice} />
    ${problem && html`<p class="notice failure unreachable" role="alert">${problem}</p>`}
    <${Deletions.Provider} value=${held.data ?? none}>
      <main id="main" ref=${main} tabindex="-1">${viewOf(route)}</main>
      <${HeldDeletions} />
    <//>
  <//>`;
}
