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
const fresh = JSON.stringify(document);

if (process.argv.includes('--check')) {
  // Laying it out anew takes as long as making it.
  if (JSON.stringify(JSON.parse(readFileSync(file, 'utf8'))) !== fresh) {
    console.error(`${file} is stale; run "npm run openapi:write" and commit it`);
    process.exitCode = 1;
  } else {
    const problems = await lintOpenApi(document);
    for (const problem of problems) console.error(problem);
    if (problems.length > 0) process.exitCode = 1;
    else console.log('openapi: fresh, and the linter has nothing to say');
  }
} else {
  writeFileSync(file, await format(fresh, { parser: 'json', printWidth: 100 }));
  console.log(`openapi: ${file} written`);
}
