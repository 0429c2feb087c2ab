/**
 * Writes the OpenAPI 3.1 description from the contract into `control-plane/openapi.json`; with
 * `--check` it only compares and fails when the file is stale.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { format } from 'prettier';
import { lintOpenApi } from './openapi/lint.ts';
import { openApiDocument } from './openapi/document.ts';

const file = 'control-plane/openapi.json';
const document = openApiDocument();
const fresh = await format(JSON.stringify(document), { parser: 'json', printWidth: 100 });

if (process.argv.includes('--check')) {
  const known = readFileSync(file, 'utf8');
  if (known !== fresh) {
    console.error(`${file} is stale; run "npm run openapi:write" and commit it`);
    process.exitCode = 1;
  } else {
    const problems = await lintOpenApi(document);
    for (const problem of problems) console.error(problem);
    if (problems.length > 0) process.exitCode = 1;
    else console.log('openapi: fresh, and the linter has nothing to say');
  }
} else {
  writeFileSync(file, fresh);
  console.log(`openapi: ${file} written`);
}
