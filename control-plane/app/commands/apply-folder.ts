/** What `control-plane apply` does. */
import { parseEnv } from 'node:util';
import type {
  DiffEntry,
  ProjectBody,
  ProjectChange,
} from '@monitor/shared/contract/compatibility/projects.ts';
import { readAtMost } from '@monitor/shared/read-at-most.ts';
import { bodyOf, FileProblem, readFolder, withSecrets } from '../../as-code/index.ts';
import { commandDoors } from '../../core/doors.ts';
import { OperatorError, trying, usageError } from '../../errors/operator-error.ts';
import { AccountApi, foreignEnvironment } from './account-api.ts';
import { note, printJson, printRows } from './output.ts';
import { Signer } from './sign-checks.ts';

interface ApplyOptions {
  url?: string;
  yes?: boolean;
  dryRun?: boolean;
  keep?: boolean;
  adopt?: boolean;
  envFile?: string;
  signWith?: string;
  json?: boolean;
}

/** The variables in a file of lines NAME=value. */
export async function variablesIn(envFile: string): Promise<Record<string, string | undefined>> {
  const text = await trying(`read the variables in ${envFile}`, () =>
    readAtMost(envFile, commandDoors.apply.reads.envBytes),
  );
  return parseEnv(text);
}

/** Node itself reads a file of this option, too: it refuses one that is missing before this program runs. */
async function valuesOf(envFile: string | undefined): Promise<Record<string, string | undefined>> {
  if (envFile === undefined) return foreignEnvironment();
  return { ...foreignEnvironment(), ...(await variablesIn(envFile)) };
}

async function bodyIn(folder: string, envFile: string | undefined): Promise<ProjectBody> {
  const files = await readFolder(folder);
  let body: ProjectBody;
  try {
    body = bodyOf(files);
  } catch (error) {
    if (!(error instanceof FileProblem)) throw error;
    throw new OperatorError(`could not apply ${folder}: ${error.message}; nothing was changed`, {
      usage: true,
    });
  }
  const { resources, missing } = withSecrets(body.resources, await valuesOf(envFile));
  if (missing.length === 0) return { ...body, resources };
  throw usageError(
    `could not apply ${folder}: it needs ${missing.join(', ')}; set them in the environment, or in a file for --env-file. Nothing was changed`,
  );
}

const signs: Record<DiffEntry['action'], string> = {
  CREATE: '+ create',
  UPDATE: '~ change',
  DELETE: '- delete',
  DETACHED: '  leave',
};

function show({ diff, warnings = [] }: ProjectChange): void {
  const rows = diff.map(({ action, type, logicalId }) => [signs[action], type, logicalId]);
  if (rows.length > 0) printRows(['CHANGE', 'TYPE', 'NAME'], rows);
  for (const warning of warnings) note(`warning: ${warning}`);
}

export async function apply(folder: string, options: ApplyOptions): Promise<void> {
  const body = await bodyIn(folder, options.envFile);
  const api = new AccountApi(options.url);
  const isApplied = options.yes === true && options.dryRun !== true;
  const what = `apply ${folder}`;
  const how = {
    ...{ preserveResources: options.keep === true, adopt: options.adopt === true },
    complete: true,
  };
  const deploy = (project: ProjectBody, dryRun: boolean, isSigned = false) =>
    // A new check is signed once it has an id, and should not run before.
    api.deploy(what, project, dryRun, { ...how, ...(isSigned && { scheduleOnDeploy: false }) });
  const signer =
    options.signWith === undefined || !isApplied
      ? null
      : await Signer.open(api, what, body, options.signWith);
  const asked = (await signer?.signKnown(body, (each) => deploy(each, true))) ?? body;
  const change = await deploy(asked, !isApplied, signer !== null);
  if (options.json !== true) {
    show(change);
    if (change.diff.length === 0) note(isApplied ? 'nothing changed' : 'nothing would change');
    else note(isApplied ? 'applied' : 'this is a plan: nothing was changed; --yes applies it');
  }
  const signed = await signer?.signNew(change);
  if (options.json === true) {
    const { warnings = [] } = change;
    printJson({
      ...{ isApplied, changes: change.diff, warnings },
      ...(signed && { signed: signed.count }),
    });
  } else if (signed !== undefined) note(`${signed.count} checks are signed`);
  if (signed?.problem != null) throw signed.problem;
}
