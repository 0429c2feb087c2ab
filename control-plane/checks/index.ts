/** What other modules may use. */
export { dropSubscription, dropSubscriptionsOf, writeSubscription } from './alert-subscriptions.ts';
export {
  type BaselineRow,
  deleteBaseline,
  digestOfImage,
  listBaselines,
  saveBaselines,
  type ApprovedImage,
} from './baselines.ts';
export { accountVariables, checkAssembly } from './assemble-check.ts';
export {
  type ChangedCheck,
  type CheckConsumer,
  isDeactivated,
  type SavedCheck,
} from './check-consumer.ts';
export { givePolicyToAll, noteHeld, usersOfPolicies, withKeptPolicy } from './check-references.ts';
export { checkGroupHandlers } from './check-groups/handlers.ts';
export { findGroup, groupFieldsOf, type GroupRow } from './check-groups/store.ts';
export { clientCertificateHandlers } from './client-certificates/handlers.ts';
export { agentCodeBundleHandlers, codeBundleHandlers } from './code-bundles/handlers.ts';
export { copyBundles } from './code-bundles/copy-bundles.ts';
export { type CodeBundleRow, CodeBundleStore } from './code-bundles/store.ts';
export { assembledWork, type WorkOf } from './decide/assembled-work.ts';
export { certificateTargetOf, domainOf } from './decide/certificate-target.ts';
export { applyGroup } from './decide/group-settings.ts';
export { hostOfCheck } from './decide/host-of-check.ts';
export { dropServiceReferences } from './drop-references.ts';
export {
  effectiveAmong,
  effectiveFields,
  groupAmong,
  groupOf,
  groupsOf,
} from './effective-check.ts';
export { checkHandlers, checkTypeBindings } from './handlers.ts';
export { saveLearnedScript } from './learned-scripts.ts';
export { lockChecks } from './lock-checks.ts';
export {
  createCheck,
  decryptedFields,
  deleteCheck,
  hideCheck,
  muteCheck,
  showCheck,
  type Trial,
  updateCheck,
} from './save-check.ts';
export { createGroup, deleteGroup, encryptedGroup, updateGroup } from './save-group.ts';
export { privateLocationName } from './private-location-name.ts';
export { pruneCodeBundles } from './prune-code-bundles.ts';
export { hasCheck, requireCheck } from './require-check.ts';
export { runtimeHandlers } from './runtimes/handlers.ts';
export { snippetHandlers, snippetsOf } from './snippets/handlers.ts';
export {
  type CheckFields,
  type CheckRow,
  checksOfGroup,
  descriptionsOf,
  fieldsOf,
  findCheck,
  locationsOf,
  runsOnAgents,
  type ScheduledFields,
} from './store.ts';
export { variablesOfCheck } from './variables-of-check.ts';
export { variableHandlers, variablesOf } from './variables/handlers.ts';
