/** What `monitor-agent run` was pointed at, as a check. */
import { readFileSync } from 'node:fs';
import type { AssignedCheck, NamedScript } from '@monitor/shared/contract/agent-protocol.ts';
import type { CheckTypeDefinition } from '@monitor/shared/contract/checks/check-type.ts';
import { checkTypes, findAgentType } from '@monitor/shared/contract/checks/index.ts';
import { effectiveRetryStrategy } from '@monitor/shared/domain/retry.ts';
import type { RetryStrategy } from '@monitor/shared/contract/check.ts';
import type { EnvironmentVariable } from '@monitor/shared/contract/primitives.ts';
import { fieldIssues, issueText } from '@monitor/shared/field-issues.ts';
import { isSecretVariable } from '@monitor/shared/domain/secret-variable.ts';
import { knownFields, unknownFields } from '@monitor/shared/known-fields.ts';
import { z } from 'zod';
import { AgentError } from '../errors.ts';
import { meantAddress } from './meant-address.ts';
import { readJson } from './read-json.ts';

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

function fromFile(file: string): Record<string, unknown> {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (cause) {
    const meant = meantAddress(file);
    const hint = meant === null ? '' : `, did you mean ${meant} ?`;
    throw new AgentError(
      'CONFIG_INVALID',
      `"${file}" is neither an address nor a file that can be read${hint}; ${forms}`,
      { cause },
    );
  }
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

/** A check from the command line. Throws CONFIG_INVALID that names what is wrong. */
export function checkFromArgument(argument: string, withRetries: boolean): AssignedCheck {
  const given = fromAddress(argument) ?? fromFile(argument);
  const type = String(given['checkType'] ?? given['type'] ?? '').toUpperCase();
  const definition = findAgentType(type);
  if (definition === undefined) {
    const types = agentTypes.map((known) => known.type).join(', ');
    throw bad(argument, `"checkType" must be one of ${types}`);
  }
  const schema = definition.create;
  const parsed = schema.safeParse({ name: argument, ...given }, { reportInput: true });
  if (!parsed.success) {
    const problems = fieldIssues(parsed.error.issues).map((issue) => issueText(issue, 'the check'));
    throw bad(argument, problems.join('; '));
  }
  // A check that was read from the API can be run as it is.
  const answered = knownFields(definition.response, z.object({ type: z.string() }));
  const unknown = unknownFields(knownFields(schema), given, answered);
  if (unknown.length > 0) {
    const problems = unknown.map(({ path, meant }) => {
      const hint = meant === null ? '' : `, did you mean "${meant}"?`;
      return `"${path}" is not a field of a check of type ${type}${hint}`;
    });
    throw new AgentError('CONFIG_INVALID', `"${argument}" cannot be run: ${problems.join('; ')}`);
  }
  const fields = parsed.data as Record<string, unknown>;
  return {
    ...codeOf(definition, fields),
    id: '00000000-0000-4000-8000-000000000000',
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
