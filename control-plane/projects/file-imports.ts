/** Imports configuration files of other products. */
import { projectBody } from '@monitor/shared/contract/compatibility/projects.ts';
import type { fileImportRoutes } from '@monitor/shared/contract/file-import.ts';
import type { Services } from '../core/services.ts';
import { invalidField } from '../errors/api-error.ts';
import type { Handlers } from '../http/handlers.ts';
import {
  planImport,
  planToWire,
  projectBodyOf,
  SourceError,
  splitLocations,
  type Plan,
  type SourceFile,
} from '../movers/index.ts';
import { deployProject } from './deploy-project.ts';

function makePlan(files: readonly SourceFile[], locations: readonly string[]): Plan {
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
      const plan = makePlan(files, body.locations);
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
