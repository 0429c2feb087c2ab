/**
 * Writes the OpenAPI 3.1 description from the contract into `control-plane/openapi.json`; with
 * `--check` it only compares and fails when the file is stale.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { format } from 'prettier';
import { openApiDocument } from './openapi/document.ts';

const file = 'control-plane/openapi.json';
const fresh = await format(JSON.stringify(openApiDocument()), { parser: 'json', printWidth: 100 });

if (process.argv.includes('--check')) {
  const known = readFileSync(file, 'utf8');
  if (known !== fresh) {
    console.error(`${file} is stale; run "npm run openapi:write" and commit it`);
    process.exitCode = 1;
  } else {
    console.log('openapi: fresh');
  }
} else {
  writeFileSync(file, fresh);
  console.log(`openapi: ${file} written`);
}
