/** What other modules may use. */
export { compatibilityHandlers } from './handlers.ts';
export { deployProject, destroyProject, type DeployOptions } from './projects/deploy-project.ts';
export { Deployments, pruneDeployments } from './projects/deployments.ts';
export { projectImportHandlers } from './projects/import-handlers.ts';
export { projectHandlers } from './projects/handlers.ts';
export { clientStorageHandlers } from './storage-handlers.ts';
