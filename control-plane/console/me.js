/** The signed-in user, for every view: forbidden actions are disabled before they are tried. */
/** @import { DataAt } from './contract.ts' */
import { createContext, useContext } from './dom.js';
import { roles } from './facts.js';

export const Me = createContext(/** @type {DataAt<'v1/users/me'> | null} */ (null));

/** What the role of the user allows; all is forbidden until it is loaded. */
export function useMe() {
  const me = useContext(Me);
  const rank = me === null ? roles.length : roles.indexOf(me.role);
  return {
    /** @param {DataAt<'v1/users/me'>['role']} role */
    mayAct: (role) => rank <= roles.indexOf(role),
    mayWrite: rank <= roles.indexOf('READ_WRITE'),
    mayRun: rank <= roles.indexOf('READ_RUN'),
  };
}
