/** Settings: a list of pages beside the chosen one. */
import { useMe } from '../me.ts';
import { EntriesView } from '../forms/settings.tsx';
import { Facts } from '../parts/layout.tsx';
import { Answer } from '../parts/notices.tsx';
import { Time } from '../parts/time.tsx';
import { useQuery } from '../query.ts';
import { link, type Query } from '../router.ts';
import { AuditView } from './audit.tsx';
import { Channels } from './channels.tsx';
import { alertSettingsInWords } from './check-settings.tsx';
import { EscalationPolicies, EscalationPolicy } from './escalation-policies.tsx';
import { PeopleView } from './people.tsx';
import { ProfileView } from './profile.tsx';
import { settingsPages } from './settings-pages.ts';

function AccountView() {
  const read = useQuery('v1/accounts/me');
  const { mayAct } = useMe();
  const policyId = read.data?.alertSettings.escalationPolicyId;
  const { data: policy } = useQuery(policyId ? `v1/escalation-policies/${policyId}` : null);
  return (
    <>
      <div class="title-line">
        <h1>Account</h1>
        {read.data !== undefined && mayAct('ADMIN') && (
          <a class="button" href={link('edit', 'account', read.data.id)}>
            Edit
          </a>
        )}
      </div>
      {Answer({
        read,
        what: 'Loading the account',
        isEmpty: () => false,
        children: ({ id, name, runtimeId, settings, alertSettings, created_at }) => (
          <Facts
            wide
            entries={[
              ['Name', name],
              ['Id', <code key="id">{id}</code>],
              ['Runtime of scripts', runtimeId ?? 'newest'],
              ['Alerts by default', alertSettingsInWords(alertSettings)],
              [
                'Escalation policy by default',
                policy && <a href={link('edit', 'policy', policy.id)}>{policy.name}</a>,
              ],
              ['Secret detection in results', settings.secretDetection ? 'on' : 'off'],
              ['Created', <Time key="at" at={created_at} />],
            ]}
          />
        ),
      })}
    </>
  );
}

/** The sections of channels and policies bring no title of the page. */
const untitled = <h1 class="sr-only">Settings</h1>;

function viewOf(name: string, id: string | undefined, query: Query) {
  switch (name) {
    case 'account':
      return <AccountView />;
    case 'profile':
      return <ProfileView />;
    case 'people':
      return <PeopleView />;
    case 'audit':
      return <AuditView query={query} />;
    case 'channel':
      return [untitled, <Channels key={name} />];
    case 'policy':
      if (id !== undefined) return <EscalationPolicy key={id} id={id} query={query} />;
      return [untitled, <EscalationPolicies key={name} />];
    default:
      return <EntriesView key={name} name={name} />;
  }
}

/** On a phone, the list without a name, the page with one. */
export function SettingsView({
  name,
  id,
  query,
}: {
  name: string | undefined;
  id: string | undefined;
  query: Query;
}) {
  const { mayAct } = useMe();
  const shown = name ?? 'account';
  return (
    <div class={`settings ${name === undefined ? 'index' : ''}`}>
      {name === undefined && <h1 class="narrow-only">Settings</h1>}
      <nav aria-label="Settings">
        {settingsPages.map(
          ([one, word, isOfAdmins]) =>
            (!isOfAdmins || mayAct('ADMIN')) && (
              <a
                key={one}
                href={link('settings', one)}
                aria-current={one === shown ? 'page' : undefined}
              >
                {word}
              </a>
            ),
        )}
      </nav>
      <div>
        <p class="crumbs narrow-only">
          <a href={link('settings')}>Settings</a>
        </p>
        {viewOf(shown, id, query)}
      </div>
    </div>
  );
}
