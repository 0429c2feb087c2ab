/** The consent to an OAuth client; see `app/serve-oauth.ts`. */
import { useContext } from 'preact/hooks';
import { call } from '../api.ts';
import type { DataAt } from '../contract.ts';
import { Me } from '../me.ts';
import { Facts } from '../parts/layout.tsx';
import { Empty } from '../parts/notices.tsx';
import { toProblem } from '../problem.ts';
import type { Query } from '../router.ts';
import { grantable, roleName, roleWords, useForm } from './people-form.tsx';

type Role = DataAt<'v1/users/me'>['role'];

/** Of an address on this machine the port says nothing. */
function receiverOf(address: string) {
  if (!URL.canParse(address)) return null;
  const url = new URL(address);
  if (url.protocol === 'https:') return url.host;
  return url.protocol === 'http:' ? 'a program on this computer' : url.protocol;
}

export function ConnectView({ query }: { query: Query }) {
  const me = useContext(Me);
  const { clientId, redirectUri = '', codeChallenge, state, name = '' } = query;
  const receiver = receiverOf(redirectUri);
  const form = useForm(async ({ role }, button) => {
    try {
      const { data } = await call('v1/api-keys/authorizations', {
        method: 'POST',
        body: {
          ...{ clientId: clientId ?? '', name, redirectUri, codeChallenge: codeChallenge ?? '' },
          ...{ state: state ?? null, role: button === 'cancel' ? null : (role as Role) },
        },
      });
      location.assign(data.redirectTo);
      return null;
    } catch (error) {
      // The fields that it names are none of the form.
      const { status, message } = toProblem(error);
      return { status, message, issues: [] };
    }
  });
  if (clientId === undefined || receiver === null) {
    return (
      <>
        <h1>Connect a program</h1>
        <Empty title="No program asks">Connect it from the program itself.</Empty>
      </>
    );
  }
  if (me === null) return <h1>Connect a program</h1>;
  const roles = grantable(me.role);
  const facts: [string, string][] = [
    ['The key goes to', receiver],
    ['Account', me.accountName],
    ['Until', 'in 90 days, or until you revoke it under API keys'],
  ];
  return (
    <>
      <h1>
        Connect <bdi>{name}</bdi>
      </h1>
      <p class="muted">
        A program that calls itself “<bdi>{name}</bdi>” asks to act in your name. Allow it only if
        you have just connected it yourself.
      </p>
      {roles.includes('ADMIN') ? (
        <form class="form connect" onSubmit={(event) => void form.onSubmit(event)} novalidate>
          {form.notice}
          <div class="card">
            <Facts entries={facts} />
          </div>
          <label class="field block">
            <span>What it may do</span>
            <select name="role">
              {roles.map((role) => (
                <option key={role} value={role} selected={role === 'READ_ONLY'}>
                  {roleWords[role]}
                </option>
              ))}
            </select>
          </label>
          <div class="form-end">
            <button type="submit" class="primary" disabled={form.isBusy}>
              {form.isBusy ? 'Allowing …' : 'Allow'}
            </button>
            <button type="submit" value="cancel" disabled={form.isBusy}>
              Cancel
            </button>
          </div>
        </form>
      ) : (
        <p class="notice">
          Your role is {roleName(me.role).toLowerCase()}. Ask an admin of the account for a key.
        </p>
      )}
    </>
  );
}
