import { readFile } from 'node:fs/promises';
import { parseEnv } from 'node:util';
import type { z } from 'zod';
import type { Command } from 'commander';
import type {
  DeploymentWire,
  DiffEntry,
  ProjectBody,
  projectChange,
} from '@monitor/shared/contract/compatibility/projects.ts';
import { bodyOf, FileProblem, readFolder, withSecrets } from '../../as-code/index.ts';
import { OperatorError, trying } from '../../errors/operator-error.ts';
import { openApi, type ApiClient, type ApiOptions, withApiOptions } from './api-client.ts';
import { note, printJson, printRows } from './output.ts';

interface ApplyOptions extends ApiOptions {
  yes?: boolean;
  dryRun?: boolean;
  keep?: boolean;
  adopt?: boolean;
  envFile?: string;
  json?: boolean;
}

type Change = z.output<typeof projectChange>;

const help = `
The folder is what "control-plane export" writes: a YAML file for each resource.
Resources that the folder of this project no longer holds are deleted; --keep
leaves them. All or nothing is applied, and applying twice changes nothing.
{ secret: NAME } takes a value from the environment, or from --env-file.

Examples:
  control-plane apply monitoring               what would change
  control-plane apply monitoring --yes
  control-plane apply monitoring --yes --adopt takes over what has the same name
                                               and belongs to no project
`;

/** Node itself reads a file of this option, too: it refuses one that is missing before this program runs. */
async function valuesOf(envFile: string | undefined): Promise<Record<string, string | undefined>> {
  if (envFile === undefined) return process.env;
  const text = await trying(`read the variables in ${envFile}`, () => readFile(envFile, 'utf8'));
  return { ...process.env, ...parseEnv(text) };
}

async function bodyIn(folder: string, envFile: string | undefined): Promise<ProjectBody> {
  const files = await readFolder(folder);
  let body: ProjectBody;
  try {
    body = bodyOf(files);
  } catch (error) {
    if (!(error instanceof FileProblem)) throw error;
    throw new OperatorError(`${folder} cannot be applied: ${error.message}`, { usage: true });
  }
  const { resources, missing } = withSecrets(body.resources, await valuesOf(envFile));
  if (missing.length === 0) return { ...body, resources };
  throw new OperatorError(
    `secrets are missing: ${missing.join(', ')}; set them in the environment, or give a file with them by --env-file`,
    { usage: true },
  );
}

/** What connects others is part of a file: it is shown with it. */
const isShown = ({ type }: DiffEntry): boolean => !type.endsWith('-assignment');

const signs: Record<DiffEntry['action'], string> = {
  ...{ CREATE: '+ create', UPDATE: '~ change', DELETE: '- delete', DETACHED: '  let go' },
};

function show({ diff }: Change, isJson: boolean): void {
  if (isJson) {
    printJson(diff);
    return;
  }
  const rows = diff
    .filter(isShown)
    .map(({ action, type, logicalId }) => [signs[action], type, logicalId]);
  if (rows.length > 0) printRows(['CHANGE', 'TYPE', 'NAME'], rows);
}

async function deploy(api: ApiClient, body: ProjectBody, query: string): Promise<Change> {
  const { logicalId } = body.project;
  const path = `/v1/projects/${encodeURIComponent(logicalId)}/deployments`;
  const begun = await api.call<DeploymentWire>('POST', `/v1/projects/deploy?${query}`, body);
  const ended = await api.call<DeploymentWire>('GET', `${path}/${begun.id}/completion`);
  if (ended.result !== null && ended.status === 'SUCCEEDED') return ended.result as Change;
  throw new OperatorError(ended.error?.message ?? `the deployment ended as ${ended.status}`);
}

async function apply(folder: string, options: ApplyOptions): Promise<void> {
  const body = await bodyIn(folder, options.envFile);
  const api = await openApi(options);
  const isJson = options.json === true;
  const flags = `preserveResources=${options.keep === true}&adopt=${options.adopt === true}`;
  if (options.yes === true && options.dryRun !== true) {
    const change = await deploy(api, body, `${flags}&dryRun=false`);
    show(change, isJson);
    if (!isJson) note(change.diff.length === 0 ? 'nothing changed' : 'applied');
    return;
  }
  const change = await api.call<Change>('POST', `/v1/projects/deploy?${flags}&dryRun=true`, body);
  show(change, isJson);
  if (!isJson)
    note(change.diff.length === 0 ? 'nothing would change' : 'this is a plan; --yes applies it');
}

/** `control-plane apply`: makes an account what the files of a folder say. */
export function registerApply(program: Command): void {
  withApiOptions(
    program
      .command('apply')
      .description('make the resources of an account what the files of a folder say')
      .argument('<folder>', 'as `export` writes it')
      .option('--yes', 'apply it; without this the plan is printed')
      .option('--dry-run', 'only print the plan, also with --yes')
      .option('--keep', 'leave what the folder no longer holds')
      .option('--adopt', 'take over resources of the same name that no project owns')
      .option('--env-file <file>', 'values of secrets, as lines NAME=value'),
  )
    .option('--json', 'print JSON')
    .addHelpText('after', help)
    .action(apply);
}
