/** The places of people in the frame of the console: links, and the views behind them. */
import { useContext } from 'preact/hooks';
import { Me, useMe } from '../me.ts';
import { late } from '../parts/late.tsx';
import { link, type Query } from '../router.ts';
import { roleName } from './people-form.tsx';

const PeopleView = late(() => import('./people.tsx').then((module) => module.PeopleView));
const AuditView = late(() => import('./audit.tsx').then((module) => module.AuditView));
const ProfileView = late(() => import('./profile.tsx').then((module) => module.ProfileView));

/** The view of a place; null for the places of others. */
export function peopleViewOf(place: string, query: Query) {
  switch (place) {
    case 'people':
      return <PeopleView />;
    case 'audit':
      return <AuditView query={query} />;
    case 'profile':
      return <ProfileView />;
    default:
      return null;
  }
}

export function PeopleLinks({ current }: { current: string }) {
  const { mayAct } = useMe();
  return (
    mayAct('ADMIN') && (
      <a href={link('people')} aria-current={current === 'people' ? 'page' : undefined}>
        People
      </a>
    )
  );
}

/** Who is signed in, and for which account. */
export function Whoami() {
  const me = useContext(Me);
  if (me === null) return null;
  const { email, name, role, accountName } = me;
  const title =
    email === null ? `Key “${name}”, role ${role}` : `${name}, ${email}: ${roleName(role)}`;
  return (
    <a href={link('profile')} title={title}>
      {email === null ? accountName : `${name} · ${accountName}`}
    </a>
  );
}
