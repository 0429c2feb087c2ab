/** `npm run guide:tables`: writes the tables of the guide that are read from the sources. */
import { writeFileSync } from 'node:fs';
import { pagesWithTables } from './tables.ts';

for (const [path, text] of await pagesWithTables()) {
  writeFileSync(path, text);
  console.log(path);
}
