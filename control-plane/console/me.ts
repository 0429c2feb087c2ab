/** The signed-in user, for every view: forbidden actions are disabled before they are tried. */
import type { DataAt } from './contract.ts';
import { createContext } from 'preact';
import { useContext } from 'preact/hooks';
import { roles } from './facts.ts';

export const Me = createContext<DataAt<'v1/users/me'> | null>(null);

/** What the role of the user allows; all is forbidden until it is loaded. */
export function useMe() {
  const me = useContext(Me);
  const rank = me === null ? roles.length : roles.indexOf(me.role);
  return {
    mayAct: (role: DataAt<'v1/users/me'>['role']) => rank <= roles.indexOf(role),
    mayWrite: rank <= roles.indexOf('READ_WRITE'),
    mayRun: rank <= roles.indexOf('READ_RUN'),
  };
}
