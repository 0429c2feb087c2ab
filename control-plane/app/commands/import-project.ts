/** What `control-plane import` and `destroy` do. */
import { privateLocationSlug } from '@monitor/shared/contract/primitives.ts';
import type { ProjectChange } from '@monitor/shared/contract/compatibility/projects.ts';
import { exitCodes } from '../../errors/exit-codes.ts';
import { OperatorError, usageError } from '../../errors/operator-error.ts';
import {
  planImport,
  planText,
  planToWire,
  projectBodyOf,
  projectId,
  SourceError,
  splitLocations,
  type Format,
  type Plan,
} from '../../movers/index.ts';
import { AccountApi, foreignEnvironment, hasKey, UnreachableError } from './account-api.ts';
import { planHtml } from './import-page.ts';
import { readSources, walNote } from './import-files.ts';
import { note, printJson, printLines } from './output.ts';

interface ImportOptions {
  from?: Format;
  name?: string;
  location: string[];
  longer?: boolean;
  url?: string;
  yes?: boolean;
  check?: boolean;
  json?: boolean;
  html?: boolean;
}

interface DestroyOptions {
  url?: string;
  yes?: boolean;
  json?: boolean;
}

/** Counts of a diff, which lists what changes only. */
function countsOf({ diff }: ProjectChange): Record<string, number> {
  const count = (action: string) => diff.filter((entry) => entry.action === action).length;
  return { created: count('CREATE'), updated: count('UPDATE'), deleted: count('DELETE') };
}

function inWords(change: ProjectChange): string {
  return Object.entries(countsOf(change))
    .map(([what, count]) => `${count} ${what}`)
    .join(', ');
}

export function usableName(given: string): string {
  const name = projectId(given);
  if (name === given) return name;
  throw usageError(
    `--name must be lower-case letters, digits and hyphens, such as ${name === '' ? 'import-shop' : name}`,
  );
}

async function makePlan(path: string, options: ImportOptions): Promise<Plan> {
  const { locations, privateLocations } = splitLocations(options.location);
  const wrong = privateLocations.find((name) => !privateLocationSlug.safeParse(name).success);
  if (wrong !== undefined) {
    throw usageError(
      `--location ${wrong} is neither a data-center location nor the slug of a private location`,
    );
  }
  const files = await readSources(path);
  try {
    return planImport(files, {
      from: options.from ?? null,
      project: options.name === undefined ? null : usableName(options.name),
      ...{ locations, privateLocations },
      prefersLonger: options.longer === true,
      environment: foreignEnvironment(),
    });
  } catch (error) {
    if (!(error instanceof SourceError)) throw error;
    throw new OperatorError(`could not import ${path}: ${error.message}; nothing was changed`, {
      cause: error,
    });
  }
}

interface Applied {
  plan: Plan;
  change: ProjectChange;
  api: AccountApi;
}

export type PlanOutput = Pick<ImportOptions, 'url' | 'yes' | 'check' | 'json' | 'html'>;

/** Shows a plan and applies it where a person says so. Gives what was applied; null for a plan alone. */
export async function showOrApply(
  plan: Plan,
  what: string,
  options: PlanOutput,
): Promise<Applied | null> {
  const isApplied = options.yes === true;
  if (isApplied && plan.missing.length > 0) {
    throw usageError(`could not ${what}: it needs ${plan.missing.join('; ')}. Nothing was changed`);
  }
  const isAsked = isApplied || (hasKey() && options.check !== true);
  const api = isAsked ? new AccountApi(options.url) : null;
  const canAsk = api !== null && plan.missing.length === 0;
  const change = !canAsk
    ? null
    : await api.deploy(what, projectBodyOf(plan), !isApplied).catch((error: unknown) => {
        // A plan needs no control plane: it is shown without what it would change there.
        if (isApplied || !(error instanceof UnreachableError)) throw error;
        note(`what would change is not known: ${error.message}`);
        return null;
      });
  const { findings } = plan;
  if (options.check === true && findings > 0) process.exitCode = exitCodes.failed;
  const applied = isApplied && change !== null && api !== null ? { plan, change, api } : null;
  if (options.json === true) {
    const changes = change === null ? null : { ...countsOf(change), resources: change.diff };
    printJson({ ...planToWire(plan), isApplied, changes });
    return applied;
  }
  const isPage = options.html === true;
  if (isPage) console.log(planHtml(plan));
  else printLines(planText(plan));
  const say = isPage ? note : (text: string): void => void console.log(text);
  for (const warning of change?.warnings ?? []) note(`warning: ${warning}`);
  if (isApplied && change !== null) {
    say(`\nimported: ${inWords(change)}. Undo it with \`control-plane destroy ${plan.project}\``);
    return applied;
  }
  if (change !== null) say(`\nwith --yes: ${inWords(change)}`);
  if (options.check === true)
    note(
      `${findings === 0 ? 'nothing' : findings} lost, switched off or missing; nothing was changed`,
    );
  else note('this is a plan: nothing was changed; --yes applies it');
  return null;
}

export async function importFiles(path: string, options: ImportOptions): Promise<void> {
  const plan = await makePlan(path, options);
  const hint = walNote(path);
  if (hint !== null) note(hint);
  await showOrApply(plan, `import ${path} as project ${plan.project}`, options);
}

export async function destroy(project: string, options: DestroyOptions): Promise<void> {
  const api = new AccountApi(options.url);
  const what = `destroy project ${project}`;
  const isApplied = options.yes === true;
  const change = await api.destroy(what, project, !isApplied);
  if (options.json === true) {
    printJson({ project, isApplied, deleted: change.diff });
    return;
  }
  if (change.project === null) {
    console.log(`there is no project ${project}: nothing to delete`);
    return;
  }
  const amount = `${change.diff.length} resources of project ${project}`;
  console.log(isApplied ? `deleted ${amount}` : `would delete ${amount}`);
  if (!isApplied) note('nothing was changed; --yes deletes them');
}
