/** What other modules may use. */
export { ownersOf, withBindings } from './bindings.ts';
export { deployProject, destroyProject, type DeployOptions } from './deploy-project.ts';
export { Deployments, pruneDeployments } from './deployments.ts';
export { fileImportHandlers } from './file-imports.ts';
export { projectHandlers } from './handlers.ts';
export { projectImportHandlers } from './import-handlers.ts';
export { type CheckToSign, workToSign } from './work-to-sign.ts';
