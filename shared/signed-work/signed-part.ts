/**
 * The part of a check that a signature covers: all that decides what an agent does. The author of a check and
 * the agent derive it in the same way, from what each of them has. A field that is added to the protocol
 * does not compile until it stands in one of the lists here.
 */
import type { AssignedCheck, Job } from '../contract/agent-protocol.ts';
import { definitionSchemaOf } from '../contract/checks/definition-schema.ts';
import { findAgentType } from '../contract/checks/index.ts';
import type { WorkSignature } from '../contract/work-signature.ts';
import { canonicalJson } from '../canonical-json.ts';
import { withoutDefaults } from '../without-defaults.ts';

type SignedField =
  | 'id'
  | 'accountId'
  | 'type'
  | 'name'
  | 'locations'
  | 'definition'
  | 'environment'
  | 'runtimeId'
  | 'setupScripts'
  | 'teardownScripts'
  | 'snippets'
  | 'certificateTarget';

export type SignedWork = Pick<AssignedCheck, SignedField>;

/** What no signature covers, and why it cannot change what runs. */
export const unsignedFields: Readonly<Record<Exclude<keyof AssignedCheck, SignedField>, string>> = {
  signature: 'it is the signature',
  revision: 'a number of the control plane, which results repeat',
  frequency: 'says when it runs',
  frequencyOffset: 'says when it runs',
  runParallel: 'says which of the signed locations run it',
  scheduleFrom: 'says when it runs',
  finishedSlot: 'says when it runs',
  pauses: 'says when it does not run',
  retryStrategy: 'says how often and when it is tried again',
  proxyUrl: 'the agent takes only a proxy that its policy names',
  clientCertificates: 'the agent takes only certificates that its policy names',
  learnedScript: 'the agent does not take it',
  baselines: 'images, which no test runs; a control plane can hide any result',
  detectSecrets: 'the agent always removes what looks like a secret',
};

/** The same of the definition. */
export const unsignedDefinitionFields: Readonly<Record<string, string>> = {
  quarantinedTests:
    'says which failed tests count; people change it in the console, and a control plane can hide any result',
};

/** The same of a job. */
export const unsignedJobFields: Readonly<Record<Exclude<keyof Job, 'check'>, string>> = {
  id: 'names the job',
  runId: 'names the run',
  source: 'one of a few words that say who asked for the run; suites can read it',
  scheduledFor: 'says when it runs',
  slotLocation: 'results repeat it; a run sees the location of its agent',
  attempt: 'counts the attempts',
  sequenceStartedAt: 'says when it runs',
  notBefore: 'says when it runs',
  leaseUntil: 'says when it runs',
  environmentUrl: 'the agent refuses a job with it',
  updatesSnapshots: 'says whether its images are made anew, for a client to store',
  shard: 'says which part of the signed suite runs',
  streamsLogs: 'says where the output of a run goes, without secrets',
};

const byKey = <T extends { key: string }>(entries: readonly T[]): T[] =>
  entries.toSorted((one, other) => (one.key < other.key ? -1 : Number(one.key > other.key)));

/** What a type without variables gets is only removed from its results. */
export function readsVariables(type: string): boolean {
  return findAgentType(type)?.variables === 'all';
}

/** The variables of a check, with the values of those that are not secret. */
function variablesOf({ type, environment }: SignedWork): unknown[] {
  if (!readsVariables(type)) return [];
  return byKey(environment).map(({ key, value, secret }) =>
    secret ? { key, secret } : { key, value },
  );
}

/**
 * The text that is signed, in canonical JSON. Null for a type that no agent of this version runs, and for a
 * definition that it cannot read. Fields with their defaults are left out, so that a signature outlives
 * a version that adds some.
 */
export function signedPartOf(
  work: SignedWork,
  { version }: Pick<WorkSignature, 'version'>,
): string | null {
  const type = findAgentType(work.type);
  if (type === undefined) return null;
  const schema = definitionSchemaOf(type);
  const definition = schema.safeParse(work.definition);
  if (!definition.success) return null;
  const signedFields = Object.entries(definition.data).filter(
    ([name]) => !Object.hasOwn(unsignedDefinitionFields, name),
  );
  const { host, port, servername } = work.certificateTarget ?? {};
  return canonicalJson({
    version,
    accountId: work.accountId,
    checkId: work.id,
    checkType: work.type,
    name: work.name,
    locations: [...new Set(work.locations)].sort(),
    definition: withoutDefaults(schema, Object.fromEntries(signedFields)),
    runtimeId: work.runtimeId,
    variables: variablesOf(work),
    setupScripts: work.setupScripts.map(({ name, source }) => ({ name, source })),
    teardownScripts: work.teardownScripts.map(({ name, source }) => ({ name, source })),
    snippets: byKey(work.snippets.map(({ name: key, source }) => ({ key, source }))),
    certificateTarget: work.certificateTarget && { host, port, servername },
  });
}
