/** Plans of imports for tests. */
import assert from 'node:assert/strict';
import { fileURLToPath } from 'node:url';
import {
  planImport,
  planText,
  type ImportRequest,
  type Plan,
  type SourceFile,
} from '../../control-plane/movers/index.ts';

export function planOf(files: readonly SourceFile[], request: Partial<ImportRequest> = {}): Plan {
  return planImport(files, {
    ...{ from: null, project: null, locations: ['eu-central-1'], privateLocations: [] },
    ...{ prefersLonger: false, environment: {} },
    ...request,
  });
}

export const textOf = (plan: Plan) => planText(plan).join('\n');

export function payloadOf(plan: Plan, logicalId: string): Record<string, unknown> {
  const resource = plan.resources.find((one) => one.logicalId === logicalId);
  assert.ok(
    resource,
    `${logicalId} is not in the plan: ${plan.resources.map((one) => one.logicalId).join(', ')}`,
  );
  return resource.payload;
}

/** The path of a sample file. */
export const fixture = (name: string) =>
  fileURLToPath(new URL(`../fixtures/movers/${name}`, import.meta.url));
