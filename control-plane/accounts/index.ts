/** What other modules may use. */
export { apiKeyHandlers } from './api-keys/handlers.ts';
export type { Plan } from './decide/entitlements.ts';
export { accountHandlers } from './handlers.ts';
export {
  endConsoleSession,
  endPersonSessions,
  forgetConsoleSessions,
  keepPersonSession,
  listPersonSessions,
  moveSession,
  rotateConsoleSession,
  type SessionBrowser,
  startConsoleSession,
} from './keys/console-sessions.ts';
export {
  createApiKey,
  createLocationKey,
  revokeLocationKey,
  KeyStore,
  type ListedKey,
  listKeys,
  type NewKey,
  rememberKeysMs,
  revokeKey,
  revokeKeysMadeBy,
} from './keys/store.ts';
export { redirectProblem } from './decide/redirects.ts';
export { clientKeyMs, maxClientIdLength, OAuthClients } from './oauth/clients.ts';
export { type Maker, makerOf, requireGrant } from './require-role.ts';
export type { ApiKeys, LocationKeys } from './location-keys.ts';
export {
  accountSettingsOf,
  type AlertSettings,
  changeAccount,
  createAccount,
  findOrCreateAccount,
  hasEscalationPolicy,
  listAccounts,
  lockAccounts,
  raiseEnvironmentRevision,
  type StoredAccount,
} from './store.ts';
