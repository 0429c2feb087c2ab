/** The checks of a test session: as clients send them, or as they are stored. */
import type { z } from 'zod';
import type { EnvironmentVariable } from '@monitor/shared/contract/primitives.ts';
import {
  createCheckGroupBody,
  type CheckGroupFields,
} from '@monitor/shared/contract/check-group.ts';
import { fieldsOfAnyType } from '@monitor/shared/contract/check-routes.ts';
import type { CheckTypeDefinition } from '@monitor/shared/contract/checks/check-type.ts';
import { checkTypes, type CheckType } from '@monitor/shared/contract/checks/index.ts';
import type { TestJob } from '@monitor/shared/contract/test-session.ts';
import type { UnknownField } from '@monitor/shared/known-fields.ts';
import {
  type CheckRow,
  decryptedFields,
  encryptedGroup,
  groupAmong,
  groupFieldsOf,
  type GroupRow,
  runsOnAgents,
} from '../../checks/index.ts';
import type { Services } from '../../core/services.ts';
import { ApiError, invalidField } from '../../errors/api-error.ts';
import { bodyFields, refuseMisspelt } from '../../http/validate.ts';
import type { NewTestJob } from '../../sessions/index.ts';

export interface SharedFile {
  path: string;
  content: string;
}

/** Where it runs, how often it is repeated and who is notified is decided by the session. */
function sharedSettings(group: CheckGroupFields): CheckGroupFields {
  return {
    ...group,
    ...{ activated: true, locations: [], privateLocations: [], runParallel: false },
    ...{ retryStrategy: 'FALLBACK', alertChannelSubscriptions: [] },
  };
}

/** Parses a part of a job, or throws 400 with the name of the check and the place in it. */
function parsed<T>(
  schema: z.ZodType<T>,
  value: unknown,
  path: string,
  of: string,
  ignored: UnknownField[],
): T {
  const { data, error } = schema.safeParse(value);
  if (error === undefined) {
    ignored.push(...refuseMisspelt(bodyFields(schema, [fieldsOfAnyType]), value, path.split('.')));
    return data as T;
  }
  const issues = error.issues.map((issue) => ({
    path: [path, ...issue.path].join('.'),
    message: issue.message,
  }));
  const [first] = issues;
  throw new ApiError('VALIDATION', `${of}: "${first?.path}" ${first?.message}`, {
    source: 'payload',
    keys: issues.map((issue) => issue.path),
    issues,
  });
}

/** Dependencies may be indexes into the files that checks of the project share. */
function filesOf(dependencies: unknown, sharedFiles: readonly SharedFile[], path: string): unknown {
  if (!Array.isArray(dependencies)) return dependencies;
  return dependencies.map((one: unknown, index) => {
    if (typeof one !== 'number') return one;
    const file = sharedFiles[one];
    if (file === undefined) {
      throw invalidField(`${path}.dependencies.${index}`, `has no file ${one} in "sharedFiles"`);
    }
    return file;
  });
}

/** A job as a client sends it. Throws 400 with the place that is wrong. */
export function jobOfClient(
  services: Services,
  accountId: string,
  job: TestJob,
  given: { index: number; sharedFiles: readonly SharedFile[]; ignored: UnknownField[] },
): NewTestJob {
  const { index, sharedFiles, ignored } = given;
  const path = `checkRunJobs.${index}`;
  const of = `check "${job.logicalId}"`;
  const { checkType } = job;
  if (!runsOnAgents(checkType)) {
    throw invalidField(`${path}.checkType`, 'has no runs to test: it waits for pings');
  }
  const { group, sourceInfo, logicalId, testRetryStrategy, filePath: _path, ...ofCheck } = job;
  // The hash of these clients is one of lockfiles, not of the bundle.
  const {
    groupId,
    locations,
    privateLocations,
    cacheHash,
    checkType: _type,
    ...body
  } = ofCheck as Record<string, unknown>;
  const dependencies = filesOf(body['dependencies'], sharedFiles, path);
  const fields = parsed(
    (checkTypes[checkType] as CheckTypeDefinition).create,
    {
      ...body,
      ...(dependencies === undefined ? {} : { dependencies }),
      ...{ retryStrategy: testRetryStrategy, doubleCheck: false, alertChannelSubscriptions: [] },
    },
    path,
    of,
    ignored,
  );
  const ofGroup =
    group == null
      ? undefined
      : encryptedGroup(
          services,
          accountId,
          parsed(
            createCheckGroupBody,
            sharedSettings(group as unknown as CheckGroupFields),
            `${path}.group`,
            of,
            ignored,
          ),
        );
  return {
    checkType,
    fields,
    trial: { of: undefined, group: ofGroup },
    updatesSnapshots: sourceInfo.updateSnapshots ?? false,
    names: {
      ...{ check_id: null, logical_id: logicalId },
      check_run_id: sourceInfo.checkRunId ?? null,
    },
  };
}

export interface Overrides {
  variables: readonly (EnvironmentVariable & { value: string })[];
  /** Of the account: what replaces a secret is one. */
  secretKeys: ReadonlySet<string>;
  retryStrategy: unknown;
}

/** A copy of a stored check, with its group, and with the variables of the call. */
export function jobOfStored(
  services: Services,
  row: CheckRow,
  groups: ReadonlyMap<number, GroupRow>,
  { variables, secretKeys, retryStrategy }: Overrides,
): NewTestJob {
  const fields = decryptedFields(services, row);
  const own = (fields['environmentVariables'] ?? []) as EnvironmentVariable[];
  const replaced = new Set(variables.map(({ key }) => key));
  const group = groupAmong(row, groups);
  return {
    checkType: row.type as CheckType,
    fields: {
      ...fields,
      ...{ retryStrategy, doubleCheck: false },
      environmentVariables: [
        // Null keeps the stored value of a secret.
        ...own
          .filter(({ key }) => !replaced.has(key))
          .map((variable) => (variable.secret ? { ...variable, value: null } : variable)),
        ...variables.map((variable) => ({
          ...variable,
          secret: variable.secret || secretKeys.has(variable.key),
        })),
      ],
    },
    trial: {
      of: row,
      group: group === undefined ? undefined : sharedSettings(groupFieldsOf(group)),
    },
    names: { check_id: row.id, logical_id: null, check_run_id: null },
  };
}
