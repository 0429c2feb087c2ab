/**
 * What a run of a check works with: variables of account, group and check, scripts and snippets in the place of
 * their ids, the runtime, the server whose certificate is watched. Pure.
 */
import type {
  AssignedCheck,
  EnvironmentEntry,
  NamedScript,
} from '@monitor/shared/contract/agent-protocol.ts';
import type { CheckGroupFields } from '@monitor/shared/contract/check-group.ts';
import type { CheckTypeDefinition } from '@monitor/shared/contract/checks/check-type.ts';
import type { EnvironmentVariable } from '@monitor/shared/contract/primitives.ts';
import { isSecretVariable } from '@monitor/shared/domain/secret-variable.ts';
import { certificateTargetOf } from './certificate-target.ts';
import { mergeVariables } from './group-settings.ts';
import { mentionedSnippets } from './mentioned-snippets.ts';

type Fields = Readonly<Record<string, unknown>>;

export interface WorkOf {
  type: CheckTypeDefinition;
  /** With the settings of the group. */
  fields: Fields;
  group: CheckGroupFields | null;
}

/** What checks inherit from an account. */
export interface AccountWork {
  variables: readonly EnvironmentVariable[];
  runtimeId: string | null;
  snippets: ReadonlyMap<number, { name: string; script: string }>;
}

function scriptsOf(
  where: string,
  snippet: { name: string; script: string } | undefined,
  local: unknown,
): NamedScript[] {
  return [
    ...(snippet === undefined
      ? []
      : [{ name: `${where} (snippet "${snippet.name}")`, source: snippet.script }]),
    ...(typeof local === 'string' && local.trim() !== '' ? [{ name: where, source: local }] : []),
  ];
}

/** Setup scripts run from the outside in (group, check), teardown scripts from the inside out. */
function requestScripts(
  { type, fields, group }: WorkOf,
  { snippets }: AccountWork,
): Pick<AssignedCheck, 'setupScripts' | 'teardownScripts'> {
  if (type.runtime !== 'with-scripts') return { setupScripts: [], teardownScripts: [] };
  const outer: Fields = { ...group };
  const part = (
    where: string,
    holder: Fields,
    id: 'setupSnippetId' | 'tearDownSnippetId',
    local: 'localSetupScript' | 'localTearDownScript',
  ): NamedScript[] => scriptsOf(where, snippets.get(Number(holder[id])), holder[local]);
  return {
    setupScripts: [
      ...part('group setup script', outer, 'setupSnippetId', 'localSetupScript'),
      ...part('setup script', fields, 'setupSnippetId', 'localSetupScript'),
    ],
    teardownScripts: [
      ...part('teardown script', fields, 'tearDownSnippetId', 'localTearDownScript'),
      ...part('group teardown script', outer, 'tearDownSnippetId', 'localTearDownScript'),
    ],
  };
}

/** The texts of a check that may import snippets. */
function sourcesOf(fields: Fields, scripts: readonly NamedScript[]): string[] {
  const dependencies = (fields['dependencies'] ?? []) as { content: string }[];
  const script = fields['script'];
  return [
    ...scripts.map(({ source }) => source),
    ...(typeof script === 'string' ? [script] : []),
    ...dependencies.map(({ content }) => content),
  ];
}

function environmentOf(
  { type, fields, group }: WorkOf,
  { variables }: AccountWork,
  open: (variable: EnvironmentVariable) => string,
): EnvironmentEntry[] {
  const merged = mergeVariables(
    variables,
    group?.environmentVariables,
    fields['environmentVariables'] as EnvironmentVariable[] | null | undefined,
  );
  const entryOf = (variable: EnvironmentVariable): EnvironmentEntry => ({
    key: variable.key,
    value: open(variable),
    secret: isSecretVariable(variable),
  });
  if (type.variables === 'secrets') return merged.filter(isSecretVariable).map(entryOf);
  const baseUrl = group?.apiCheckDefaults?.url;
  const given = merged.map(entryOf);
  return baseUrl ? [{ key: 'GROUP_BASE_URL', value: baseUrl, secret: false }, ...given] : given;
}

/** `open` gives the value of a variable; that of a secret may be encrypted before. */
export function assembledWork(
  work: WorkOf,
  account: AccountWork,
  open: (variable: EnvironmentVariable) => string,
): Pick<
  AssignedCheck,
  | 'environment'
  | 'runtimeId'
  | 'setupScripts'
  | 'teardownScripts'
  | 'snippets'
  | 'certificateTarget'
> {
  const { type, fields } = work;
  const scripts = requestScripts(work, account);
  const all = [...scripts.setupScripts, ...scripts.teardownScripts];
  const runsCode = type.runtime === 'always' || all.length > 0;
  const snippets = [...account.snippets.values()].map(({ name, script }) => ({
    ...{ name, source: script },
  }));
  return {
    environment: environmentOf(work, account, open),
    runtimeId: runsCode ? ((fields['runtimeId'] ?? account.runtimeId) as string | null) : null,
    ...scripts,
    snippets: runsCode ? mentionedSnippets(sourcesOf(fields, all), snippets) : [],
    certificateTarget: certificateTargetOf(type, fields),
  };
}
