/** The modules of `/probe`: the common ones, or those of PROBE_CONFIG_FILE. */
import { readFileSync } from 'node:fs';
import { AgentError } from '../errors.ts';
import { commonModules } from './common-modules.ts';
import { parseModules, type ProbeModule, type UnusableModule } from './module-schema.ts';

export type Modules = ReadonlyMap<string, ProbeModule | UnusableModule>;

/** Throws CONFIG_INVALID with what is wrong with the file, and where. */
export async function readModules(path: string | undefined): Promise<Modules> {
  if (path === undefined) return parseModules(commonModules);
  try {
    const text = readFileSync(path, 'utf8');
    const { parseYaml } = await import('../read-yaml.ts');
    return parseModules(parseYaml(text));
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new AgentError(
      'CONFIG_INVALID',
      `PROBE_CONFIG_FILE ${path} cannot be used: ${reason}. Correct it, or leave it out for the common modules.`,
      { cause: error },
    );
  }
}
