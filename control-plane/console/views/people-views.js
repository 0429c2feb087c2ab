/** The places of people in the frame of the console: links, and the views behind them. */
/** @import { Query } from '../router.js' */
import { html, useContext } from '../dom.js';
import { Me, useMe } from '../me.js';
import { late } from '../parts/late.js';
import { link } from '../router.js';
import { roleName } from './people-form.js';

const PeopleView = late(() => import('./people.js').then((module) => module.PeopleView));
const AuditView = late(() => import('./audit.js').then((module) => module.AuditView));
const ProfileView = late(() => import('./profile.js').then((module) => module.ProfileView));

/**
 * The view of a place; null for the places of others.
 * @param {string} place
 * @param {Query} query
 */
export function peopleViewOf(place, query) {
  switch (place) {
    case 'people':
      return html`<${PeopleView} />`;
    case 'audit':
      return html`<${AuditView} query=${query} />`;
    case 'profile':
      return html`<${ProfileView} />`;
    default:
      return null;
  }
}

/** @param {{ current: string }} props */
export function PeopleLinks({ current }) {
  const { mayAct } = useMe();
  return (
    mayAct('ADMIN') &&
    html`<a href=${link('people')} aria-current=${current === 'people' ? 'page' : undefined}
      >People</a
    >`
  );
}

/** Who is signed in, and for which account. */
export function Whoami() {
  const me = useContext(Me);
  if (me === null) return null;
  const { email, name, role, accountName } = me;
  const title =
    email === null ? `Key “${name}”, role ${role}` : `${name}, ${email}: ${roleName(role)}`;
  return html`<a href=${link('profile')} title=${title}
    >${email === null ? accountName : `${name} · ${accountName}`}</a
  >`;
}
