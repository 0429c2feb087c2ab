/** What other modules may use. */
export { acceptLink, describeLink } from './accept-link.ts';
export { mailResetLink, makeResetLink } from './ask-for-reset.ts';
export type { PeopleDeps } from './deps.ts';
export { deviceHandlers } from './devices.ts';
export {
  invitationHandlers,
  nameOf,
  passkeyHandlers,
  personHandlers,
  profileHandlers,
} from './handlers.ts';
export { invite } from './invite.ts';
export { forgetLinks } from './links.ts';
export { Passwords } from './passwords.ts';
export {
  askForPasskey,
  badPasskey,
  challengeMs,
  checkPasskey,
  forgetChallenges,
  passkeyProblem,
} from './passkeys.ts';
export { hasSecondFactor, removeSecondFactors, takeCode } from './second-factor.ts';
export { makeSetupLink } from './set-up.ts';
export { type Identity, joinByIdentity } from './join-by-identity.ts';
export { accountOfPerson, checkCredentials, noteSignIn, requireSamePassword } from './sign-in.ts';
export { normalizeEmail } from './decide/email.ts';
export { accountOfAddress, findPerson, hasPeople, listMembers } from './store.ts';
