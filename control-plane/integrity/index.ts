/** What other modules may use. */
export { damageAdvice, refusalToOpen } from './decide-opening.ts';
export { findFiles } from './files.ts';
export { fits, openFittingKey, writeKeyCheck } from './key-check.ts';
export { nameOfDatabase } from './name-of-database.ts';
export { openStandby } from './open-standby.ts';
export { openServer, openWhole, refuseUnfinishedMove } from './open-whole.ts';
export { pingWatcher } from './ping-watcher.ts';
export { probeDisk } from './probe-disk.ts';
export { refuseOtherSessions } from './refuse-other-sessions.ts';
export { type Salvaged, salvageDatabase } from './salvage.ts';
export { holderInWords, isServed, lockForServing } from './serving-lock.ts';
export { reencryptStoredCredentials } from './stored-credentials.ts';
export { verifyDatabase } from './verify.ts';
export { serverDamageAdvice, verifyServer } from './verify-server.ts';
export { IntegrityWatch } from './watch.ts';
