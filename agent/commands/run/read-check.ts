/** What `monitor-agent run` was pointed at, as checks. */
import { randomUUID } from 'node:crypto';
import { dirname, relative, resolve } from 'node:path';
import type { AssignedCheck, NamedScript } from '@monitor/shared/contract/agent-protocol.ts';
import type { CheckTypeDefinition } from '@monitor/shared/contract/checks/check-type.ts';
import { checkTypes, findAgentType } from '@monitor/shared/contract/checks/index.ts';
import { readAtMost } from '@monitor/shared/read-at-most.ts';
import { effectiveRetryStrategy } from '@monitor/shared/domain/retry.ts';
import type { RetryStrategy } from '@monitor/shared/contract/check.ts';
import type { EnvironmentVariable } from '@monitor/shared/contract/primitives.ts';
import { fieldIssues, issueText } from '@monitor/shared/field-issues.ts';
import { isSecretVariable } from '@monitor/shared/domain/secret-variable.ts';
import { knownFields, unknownFields } from '@monitor/shared/known-fields.ts';
import { readJson } from '@monitor/shared/read-json.ts';
import { z } from 'zod';
import { commandDoors } from '../../doors.ts';
import { AgentError } from '../../errors.ts';
import { checksOfModule } from './check-module.ts';
import type { Source } from './find-sources.ts';
import { meantAddress } from './meant-address.ts';
import type { ScriptSource } from './script-error.ts';
import { readScriptFiles, type ScriptFiles } from './script-files.ts';

const agentTypes = Object.values(checkTypes).flatMap((definition: CheckTypeDefinition) =>
  definition.runsOn === 'agents' ? [definition] : [],
);
const addresses = agentTypes.flatMap(({ address }) => (address === null ? [] : [address.form]));
const forms = `give a file with a check, or ${addresses.join(', ')}`;

function bad(argument: string, problem: string): AgentError {
  return new AgentError('CONFIG_INVALID', `"${argument}" cannot be run: ${problem}; ${forms}`);
}

function fromAddress(argument: string): Record<string, unknown> | null {
  for (const { type, address } of agentTypes) {
    const reading = address?.read(argument) ?? null;
    if (reading === null) continue;
    if ('problem' in reading) throw bad(argument, reading.problem);
    return { checkType: type, name: argument, request: reading.request };
  }
  return null;
}

function unreadable(argument: string, cause: unknown): AgentError {
  const meant = meantAddress(argument);
  const hint = meant === null ? '' : `, did you mean ${meant} ?`;
  return new AgentError(
    'CONFIG_INVALID',
    `"${argument}" is neither an address nor a file that can be read${hint}; ${forms}`,
    { cause },
  );
}

async function readText(name: string, file: string): Promise<string> {
  try {
    return await readAtMost(file, commandDoors.run.reads.checkBytes);
  } catch (cause) {
    if (cause instanceof RangeError) throw bad(name, cause.message);
    throw unreadable(name, cause);
  }
}

function fromJson(file: string, text: string): Record<string, unknown> {
  let parsed: unknown;
  try {
    parsed = readJson(text);
  } catch (error) {
    throw new AgentError(
      'CONFIG_INVALID',
      `"${file}" is not JSON: ${error instanceof Error ? error.message : String(error)}`,
    );
  }
  if (typeof parsed === 'object' && parsed !== null && !Array.isArray(parsed)) {
    return parsed as Record<string, unknown>;
  }
  throw bad(file, 'the file does not hold a JSON object');
}

function scriptOf(name: string, source: unknown): NamedScript[] {
  return typeof source === 'string' && source.trim() !== '' ? [{ name, source }] : [];
}

/** What the control plane would add: here a check has no account and no group. */
function codeOf(definition: CheckTypeDefinition, fields: Record<string, unknown>) {
  const variables = (fields['environmentVariables'] ?? []) as EnvironmentVariable[];
  const hasRequestScripts = definition.runtime === 'with-scripts';
  return {
    environment: variables.map(({ key, value, secret }) => ({
      key,
      value: value ?? '',
      secret: isSecretVariable({ key, secret }),
    })),
    runtimeId: (fields['runtimeId'] ?? null) as string | null,
    setupScripts: hasRequestScripts ? scriptOf('setup script', fields['localSetupScript']) : [],
    teardownScripts: hasRequestScripts
      ? scriptOf('teardown script', fields['localTearDownScript'])
      : [],
    snippets: [],
    clientCertificates: [],
    detectSecrets: true,
    learnedScript: null,
    certificateTarget: null,
  };
}

/** Values from files of variables; they win over those of the check. */
export type GivenVariables = Readonly<Record<string, string>>;

export interface ReadOptions {
  cwd: string;
  withRetries: boolean;
  variables: GivenVariables;
}

function withVariables(
  environment: AssignedCheck['environment'],
  variables: GivenVariables,
): AssignedCheck['environment'] {
  const given = Object.entries(variables).map(([key, value]) => ({
    ...{ key, value },
    secret: isSecretVariable({
      key,
      secret: environment.find((one) => one.key === key)?.secret === true,
    }),
  }));
  return [...environment.filter(({ key }) => !Object.hasOwn(variables, key)), ...given];
}

/** Throws CONFIG_INVALID that names what is wrong. */
function toCheck(
  place: string,
  given: Record<string, unknown>,
  { withRetries, variables }: ReadOptions,
): AssignedCheck {
  const type = String(given['checkType'] ?? given['type'] ?? '').toUpperCase();
  const definition = findAgentType(type);
  if (definition === undefined) {
    const types = agentTypes.map((known) => known.type).join(', ');
    throw bad(place, `"checkType" must be one of ${types}`);
  }
  const schema = definition.create;
  const parsed = schema.safeParse({ name: place, ...given }, { reportInput: true });
  if (!parsed.success) {
    const problems = fieldIssues(parsed.error.issues).map((issue) => issueText(issue, 'the check'));
    throw bad(place, problems.join('; '));
  }
  // A check that was read from the API can be run as it is.
  const answered = knownFields(definition.response, z.object({ type: z.string() }));
  const unknown = unknownFields(knownFields(schema), given, answered).filter(
    ({ isTolerated }) => !isTolerated,
  );
  if (unknown.length > 0) {
    const problems = unknown.map(({ path, meant }) => {
      const hint = meant === null ? '' : `, did you mean "${meant}"?`;
      return `"${path}" is not a field of a check of type ${type}${hint}`;
    });
    throw new AgentError('CONFIG_INVALID', `"${place}" cannot be run: ${problems.join('; ')}`);
  }
  const fields = parsed.data as Record<string, unknown>;
  const code = codeOf(definition, fields);
  return {
    ...code,
    environment: withVariables(code.environment, variables),
    // Sessions of scripts are kept by check: two of them share none.
    id: randomUUID(),
    accountId: '',
    revision: 1,
    type: definition.type,
    name: String(fields['name']),
    frequency: 0,
    frequencyOffset: 10,
    runParallel: false,
    locations: ['here'],
    scheduleFrom: 0,
    retryStrategy: withRetries
      ? effectiveRetryStrategy({
          retryStrategy: fields['retryStrategy'] as RetryStrategy | null,
          doubleCheck: fields['doubleCheck'] === true && given['doubleCheck'] !== undefined,
        })
      : null,
    definition: Object.fromEntries(definition.definitionKeys.map((key) => [key, fields[key]])),
    proxyUrl: null,
    pauses: [],
  };
}

/** A check with what people need to find it again. */
export interface ReadCheck {
  check: AssignedCheck;
  /** Its file as it was named, or its address. */
  place: string;
  /** Its script and what that imports, for the lines of errors. */
  scripts: ScriptSource[];
  /** The folder that paths of `scripts` begin in. */
  root: string;
  /** All files that it was read from, with whole paths. */
  files: string[];
}

/** A script that a check names instead of holding it stands beside its file. */
async function readNamedScript(
  file: string,
  fields: Record<string, unknown>,
  cwd: string,
): Promise<ScriptFiles | null> {
  const { script, scriptPath } = fields;
  if (typeof scriptPath !== 'string' || (script !== undefined && script !== null)) return null;
  const path = resolve(dirname(file), scriptPath);
  await readText(scriptPath, path);
  return readScriptFiles(path, cwd);
}

async function readFields(
  { file, name }: Extract<Source, { kind: 'file' }>,
  fields: Record<string, unknown>,
  options: ReadOptions,
): Promise<ReadCheck> {
  const found = await readNamedScript(file, fields, options.cwd);
  const { script, scriptPath, dependencies } = found ?? {};
  const own = found === null ? {} : { script, scriptPath, dependencies };
  const check = toCheck(name, { ...fields, ...own }, options);
  return {
    ...{ check, place: name, scripts: scriptsOf(check) },
    root: found?.root ?? dirname(file),
    files: [...new Set([file, ...(found?.files ?? [])])],
  };
}

/** The texts of a check in which errors may stand. */
function scriptsOf({ definition }: AssignedCheck): ScriptSource[] {
  const { script, scriptPath, dependencies } = definition;
  const own = { path: typeof scriptPath === 'string' ? scriptPath : null, text: String(script) };
  const others = (dependencies ?? []) as { path: string; content: string }[];
  return [
    ...(typeof script === 'string' ? [own] : []),
    ...others.map(({ path, content }) => ({ path, text: content })),
  ];
}

const spec = /\.spec\.[cm]?[jt]s$/;
const module = /\.check\.[cm]?[jt]s$/;

/** The checks of a source. Throws CONFIG_INVALID that names what is wrong. */
export async function readChecks(source: Source, options: ReadOptions): Promise<ReadCheck[]> {
  if (source.kind === 'address') {
    const { argument } = source;
    const fields = fromAddress(argument);
    if (fields === null) throw unreadable(argument, undefined);
    const check = toCheck(argument, fields, options);
    return [{ check, place: argument, scripts: [], root: options.cwd, files: [] }];
  }
  const { file, name } = source;
  const text = await readText(name, file);
  if (spec.test(file)) {
    const scriptPath = relative(dirname(file), file);
    return [await readFields(source, { checkType: 'BROWSER', scriptPath }, options)];
  }
  if (!module.test(file)) return [await readFields(source, fromJson(name, text), options)];
  const exported = await checksOfModule({ path: file, text });
  return Promise.all(
    exported.map(({ name: exportName, fields }) =>
      readFields(
        source,
        { name: exportName === 'default' ? name : exportName, ...fields },
        options,
      ),
    ),
  );
}
