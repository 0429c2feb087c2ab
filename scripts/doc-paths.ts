/** Fails when a document cites a path of the repository that is gone. */
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** Of code: named from the folder of the document, or from the root. */
const sourceFile = /^[\w./-]+\.(ts|cjs|pl)$/;
/** Files that stand in many folders, and are spoken of in general. */
const general = new Set(['index.ts', 'tables.ts', 'store.ts', 'handlers.ts']);
const roots = /^(agent|control-plane|shared|scripts|test|\.ci)\//;

const documents = execFileSync(
  'git',
  ['ls-files', '--cached', '--others', '--exclude-standard', '*.md'],
  {
    encoding: 'utf8',
  },
)
  .split('\n')
  .filter((file) => file !== '' && existsSync(file));

/** Paths in backticks that begin with a folder of the repository, and targets of relative links. */
function citedPaths(file: string): string[] {
  const text = readFileSync(file, 'utf8');
  const quoted = [...text.matchAll(/`([\w./-]+)`/g)]
    .map((match) => match[1] ?? '')
    .filter((path) => roots.test(path) || (sourceFile.test(path) && !general.has(path)))
    .map((path) => (roots.test(path) ? path : join(dirname(file), path)));
  const linked = [...text.matchAll(/\]\((?!https?:|#|mailto:)([^)#\s]+)/g)].map((match) =>
    join(dirname(file), match[1] ?? ''),
  );
  return [...quoted, ...linked];
}

const missing = documents.flatMap((file) =>
  citedPaths(file)
    .filter((path) => !existsSync(path))
    .map((path) => `${file}: ${path} does not exist`),
);
for (const problem of missing) console.error(problem);
console.log(`docs: ${documents.length} documents, ${missing.length} dead paths`);
if (missing.length > 0) process.exitCode = 1;
