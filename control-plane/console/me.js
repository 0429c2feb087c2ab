/** The signed-in user, for every view: forbidden actions are disabled before they are tried. */
import { createContext, useContext } from './dom.js';

export const Me = createContext(null);

const roles = ['OWNER', 'ADMIN', 'READ_WRITE', 'READ_RUN', 'READ_ONLY'];

/** `{ name, role, accountName, mayWrite, mayRun, problem? }`; all is forbidden until it is loaded. */
export function useMe() {
  const me = useContext(Me);
  const rank = me === null ? roles.length : roles.indexOf(me.role);
  return {
    ...me,
    mayWrite: rank <= roles.indexOf('READ_WRITE'),
    mayRun: rank <= roles.indexOf('READ_RUN'),
  };
}
