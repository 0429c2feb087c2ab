/** Loads the test files named as arguments into this process, where node:test runs them one after another. */
import { pathToFileURL } from 'node:url';

for (const file of process.argv.slice(2)) await import(pathToFileURL(file).href);
