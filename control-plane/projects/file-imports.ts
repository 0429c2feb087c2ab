/** Imports configuration files of other products. */
import { projectBody } from '@monitor/shared/contract/compatibility/projects.ts';
import type { fileImportRoutes } from '@monitor/shared/contract/file-import.ts';
import type { Services } from '../core/services.ts';
import { invalidField } from '../errors/api-error.ts';
import type { Handlers } from '../http/handlers.ts';
import type { SourceFile } from '../movers/index.ts';
import { deployProject } from './deploy-project.ts';

/** Loaded with the first import: they read many formats. */
const loadMovers = () => import('../movers/index.ts');

async function makePlan(files: readonly SourceFile[], locations: readonly string[]) {
  const { planImport, SourceError, splitLocations } = await loadMovers();
  try {
    return planImport(files, {
      ...{ from: null, project: null, prefersLonger: false, environment: {} },
      ...splitLocations(locations),
    });
  } catch (error) {
    throw error instanceof SourceError ? invalidField('files', error.message) : error;
  }
}

export function fileImportHandlers(services: Services): Handlers<typeof fileImportRoutes> {
  return {
    importFiles: async ({ query: { dryRun }, body }, { principal, address }) => {
      const files = body.files.map((file) => ({ ...file, tables: null }));
      const plan = await makePlan(files, body.locations);
      const { planToWire, projectBodyOf } = await loadMovers();
      const { missing } = plan;
      if (!dryRun && missing.length > 0) {
        throw invalidField('files', `cannot be imported: it needs ${missing.join('; ')}`);
      }
      const project = projectBody.parse(projectBodyOf(plan));
      const change =
        missing.length > 0
          ? null
          : await deployProject(services, principal, project, { dryRun, address });
      return { ...planToWire(plan), isApplied: !dryRun, changes: change?.diff ?? null };
    },
  };
}
