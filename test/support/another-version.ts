/** A control plane of the next version: the same source with one more migration, in a folder of its own. */
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { basename, join, resolve } from 'node:path';

const withoutPackages = (source: string): boolean => basename(source) !== 'node_modules';

function copyControlPlane(folder: string): void {
  const packages = join(folder, 'node_modules');
  mkdirSync(join(packages, '@monitor'), { recursive: true });
  for (const name of readdirSync('node_modules')) {
    if (name !== '@monitor') symlinkSync(resolve('node_modules', name), join(packages, name));
  }
  for (const name of ['shared', 'control-plane']) {
    cpSync(name, join(folder, name), { recursive: true, filter: withoutPackages });
    symlinkSync(join(folder, name), join(packages, '@monitor', name));
  }
  // `serve --with-agent` looks for the agent as the proof does.
  cpSync('proof', join(folder, 'proof'), { recursive: true });
  // There when npm could not put all of its packages on top.
  const own = resolve('control-plane/node_modules');
  if (existsSync(own)) symlinkSync(own, join(folder, 'control-plane/node_modules'));
}

interface LaterMigration {
  /** Of the file, without its ending. */
  name: string;
  /** The newest migration of the oldest build that can live with it. */
  oldestBuild?: string;
  /** In SQL of both engines. */
  statement: string;
}

/**
 * Copies the control plane below a folder, where it has one more migration; gives its program. In a folder that has a
 * copy another version takes its place, and what was compiled once serves both.
 */
export function controlPlaneOfNextVersion(
  folder: string,
  { name, oldestBuild, statement }: LaterMigration,
): string {
  const program = join(folder, 'control-plane/control-plane.js');
  if (!existsSync(program)) copyControlPlane(folder);
  writeFileSync(
    join(folder, `control-plane/db/${name}.ts`),
    `import { sql, type Kysely } from 'kysely';
${oldestBuild === undefined ? '' : `export const oldestBuild = '${oldestBuild}';`}
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql.raw(${JSON.stringify(statement)}).execute(db);
}
`,
  );
  const file = join(folder, 'control-plane/db/migrate.ts');
  const text = readFileSync('control-plane/db/migrate.ts', 'utf8');
  const changed = text
    .replace(/^import /m, `import * as later from './${name}.ts';\nimport `)
    .replace(/^(const migrations = \{[^}]*)\}/m, `$1  '${name}': later,\n}`);
  if (!changed.includes(`'${name}': later`)) throw new Error(`${file} lists migrations otherwise`);
  writeFileSync(file, changed);
  return program;
}
